# SPDX-License-Identifier: GPL-2.0-or-later
"""Layout fixes of the kernel's history, tried on a real kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixes.kernel import RealKernel, real_kernel
from fixes.memory import Memory, memory
from fixes.scenario import Objects, Scenario, ScenarioError, cases
from fixes.trial import course, tried
from fixes.verdict import verdict

# Three of different kinds; all of them: PYTHONPATH=tests python -m fixes.run VMLINUX...
QUICK = ("dentry_d_lockref", "cgroup_bstat", "root_domain_overload")

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def kernel(vmlinux: Path) -> RealKernel:
    return real_kernel(vmlinux)


def place(kernel: RealKernel, type_: str, objects: Objects) -> Memory:
    """Where the objects of a scenario about ``type_`` lie."""
    scenario = Scenario("place", "", "", kernel.release, type_, "", (), (), objects=objects)
    return memory(scenario, kernel.layout(type_), kernel.containment, kernel.slabs, kernel.symbols)


def test_objects_lie_in_the_slots_of_their_cache_in_every_phase(kernel: RealKernel) -> None:
    dentries = place(kernel, "dentry", Objects(3))
    assert [start - dentries.starts[0] for start in dentries.starts[:3]] == [0, 192, 384]
    assert dentries.choices() == (dentries.starts[:3],)
    mappings = place(kernel, "address_space", Objects(1, "ext4_inode_cache"))
    assert [starts[0] % 64 for starts in mappings.choices()] == sorted({start % 64 for start in mappings.starts})
    assert len(mappings.choices()) > 1


def test_every_cpu_has_its_copy_of_a_variable(kernel: RealKernel) -> None:
    queues = place(kernel, "rq", Objects(4, variable="runqueues"))
    assert [area.cpu for area in queues.areas] == [0, 1, 2, 3]
    assert {start % 64 for start in queues.starts} == {0}


@pytest.mark.parametrize(
    ("type_", "objects", "sentence"),
    [
        ("dentry", Objects(1, "no_cache"), "no cache no_cache is known to hold a struct dentry; there are dentry"),
        ("timekeeper", Objects(1, variable="no_clock"), "there is no variable no_clock"),
        ("no_record", Objects(), "there is no record no_record in vmlinux"),
    ],
)
def test_objects_that_are_nowhere_are_refused(kernel: RealKernel, type_: str, objects: Objects, sentence: str) -> None:
    with pytest.raises(ScenarioError, match=sentence):
        place(kernel, type_, objects)


def of_release(kernel: RealKernel) -> list[Scenario]:
    return [one for one in cases() if one.release == kernel.release]


def test_scenarios_are_about_code_that_the_kernel_has(kernel: RealKernel) -> None:
    scenarios = of_release(kernel)
    assert scenarios
    for scenario in scenarios:
        missing = [key for key, address in course(scenario, kernel, 100).code.code.items() if not address]
        assert (scenario.name, missing) == (scenario.name, [])


@pytest.mark.parametrize("name", QUICK)
def test_what_people_did_or_as_good_is_among_the_candidates(kernel: RealKernel, name: str, tmp_path: Path) -> None:
    (scenario,) = (one for one in of_release(kernel) if one.name == name)
    trial = tried(scenario, kernel, tmp_path)
    assert verdict(trial).found, trial
