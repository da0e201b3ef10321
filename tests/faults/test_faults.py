# SPDX-License-Identifier: GPL-2.0-or-later
"""Every fault of ``faults.toml`` still has its one place in the sources; ``planted.py`` tells which are caught."""

from __future__ import annotations

import pytest
from faults.fault import Fault, all_faults
from faults.mutants import mutants
from faults.planted import ROOT, source, sources

FAULTS = all_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted(fault: Fault) -> None:
    text = source(fault.file).read_text("utf-8")
    changed = fault.planted(text)
    assert changed != text
    compile(changed, fault.file, "exec")


def test_each_fault_has_tests_that_are_there() -> None:
    assert all(fault.tests for fault in FAULTS)
    assert [name for fault in FAULTS for name in fault.tests if not (ROOT / name).exists()] == []


def test_no_name_is_given_twice() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_mutants_of_one_seed_are_the_same_and_can_be_planted() -> None:
    drawn = mutants(list(sources()), ROOT / "tests", 20, 1)
    assert drawn == mutants(list(sources()), ROOT / "tests", 20, 1)
    for mutant in drawn:
        compile(mutant.planted(source(mutant.file).read_text("utf-8")), mutant.file, "exec")
        assert mutant.tests
