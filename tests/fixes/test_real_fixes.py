# SPDX-License-Identifier: GPL-2.0-or-later
"""Layout fixes of the kernel's history, tried on a real kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixes.kernel import RealKernel, real_kernel
from fixes.scenario import Scenario, cases
from fixes.trial import course, tried
from fixes.verdict import verdict

# Three of different kinds; all of them: PYTHONPATH=tests python -m fixes.run VMLINUX...
QUICK = ("dentry_d_lockref",)

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def kernel(vmlinux: Path) -> RealKernel:
    return real_kernel(vmlinux)


def of_release(kernel: RealKernel) -> list[Scenario]:
    return [one for one in cases() if one.release == kernel.release]


def test_scenarios_are_about_code_that_the_kernel_has(kernel: RealKernel) -> None:
    for scenario in of_release(kernel):
        missing = [key for key, address in course(scenario, kernel, 100).code.code.items() if not address]
        assert (scenario.name, missing) == (scenario.name, [])


@pytest.mark.parametrize("name", QUICK)
def test_what_people_did_or_as_good_is_among_the_candidates(kernel: RealKernel, name: str, tmp_path: Path) -> None:
    (scenario,) = (one for one in of_release(kernel) if one.name == name)
    trial = tried(scenario, kernel, tmp_path)
    assert verdict(trial).found, trial
