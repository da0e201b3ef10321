# SPDX-License-Identifier: GPL-2.0-or-later
"""Layout fixes of the kernel's history: tried on a real kernel, and the parts of the study that its results rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixes.execution import Event, Source, Spot, interleaved, node_of, sources
from fixes.judgement import steps
from fixes.kernel import RealKernel, real_kernel
from fixes.run import main, verdict
from fixes.scenario import Answer, Role, Scenario, Touch, cases
from fixes.trial import course, tried
from hand_made import scalar, struct
from hand_made import table as layouts_of
from keeping import Keeper, product_digest
from replay.traces import write_trace

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.tuner.replay.plan import unchanged
from linesmith.tuner.replay.replayer import open_trace
from linesmith.tuner.replay.scene import scene

pytestmark = pytest.mark.xdist_group("fixes")
START = 0xFFFF_8881_0400_0000


@pytest.fixture(scope="module")
def indexed(vmlinux: Path, kept: Keeper) -> Iterator[Path]:
    """The kernel, with the index of its layouts and accesses from an earlier run: making one takes a minute."""

    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LINESMITH_CACHE_DIR", str(folder))
            real_kernel(vmlinux)

    folder = kept("fixes-index", f"{product_digest()} {vmlinux.name} {vmlinux.stat().st_size}", make)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINESMITH_CACHE_DIR", str(folder))
        yield vmlinux


@pytest.mark.real
@pytest.mark.study
def test_what_people_did_or_as_good_is_among_the_candidates(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(indexed), "--case", "dentry_d_lockref", "--details"])
    row = next(row for row in capsys.readouterr().out.splitlines() if row.startswith("| dentry_d_lockref |"))
    assert row.split(" | ")[-2] == "1 of 1"


@pytest.fixture(scope="module")
def kernel(indexed: Path) -> RealKernel:
    return real_kernel(indexed)


@pytest.mark.real
@pytest.mark.study
@pytest.mark.parametrize("name", ["cgroup_bstat", "root_domain_overload"])
def test_the_same_of_other_fixes(kernel: RealKernel, name: str, tmp_path: Path) -> None:
    (scenario,) = (one for one in cases() if (one.release, one.name) == (kernel.release, name))
    trial = tried(scenario, kernel, tmp_path)
    assert verdict(trial).found, trial


@pytest.mark.real
@pytest.mark.study
def test_scenarios_are_about_code_that_the_kernel_has(kernel: RealKernel) -> None:
    codes = {one.name: course(one, kernel, 100).code.code for one in cases() if one.release == kernel.release}
    assert codes
    assert {name: [key for key, address in code.items() if not address] for name, code in codes.items()} == {
        name: [] for name in codes
    }


def test_every_scenario_can_be_read() -> None:
    found = cases()
    assert "dentry_d_lockref" in [one.name for one in found]
    assert all(one.human for one in found if one.answer is Answer.LAYOUT)


READING = Role("reading", (Touch("look_up", load="key"), Touch("look_up", load="name", often=0.25)), 3)
WRITING = Role("writing", (Touch("count_up", atomic="users"), Touch("count_up", store="last")), 1)
SPOTS = {name: Spot(name, offset, 8) for name, offset in {"key": 0, "name": 8, "users": 16, "last": 72}.items()}


def run(*roles: Role) -> list[Event]:
    made = Scenario("run", "", "", "6.1", "thing", "", roles)
    return interleaved(made, SPOTS, 8000)


def test_the_replayer_counts_the_modified_lines_that_the_study_counts(tmp_path: Path) -> None:
    record = struct("thing", *(scalar(f"w{number}") for number in range(12)))
    events = run(READING, WRITING, Role("more", (*WRITING.does, *READING.does), 2))
    trace = write_trace(tmp_path / "trace", steps(events, [START]), [node_of(cpu) for cpu in range(6)])
    area = ObjectArea(ObjectKind.SLAB, "thing", START, 96, 96, 42, ("thing",))
    replay = open_trace(trace, (scene(record, (area,), layouts_of(record)),))
    misses = replay.run(0, unchanged(replay.scenes[0])).misses
    found = Counter(source for _, _, source in sources(events, [START]))
    assert found[Source.MODIFIED_NEAR] == misses.hitm_local + misses.taken_local > 0
    assert found[Source.MODIFIED_FAR] == misses.hitm_remote + misses.taken_remote > 0
