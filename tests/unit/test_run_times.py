# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of times behind a test run."""

from __future__ import annotations

from typing import Literal

import pytest
from run_times import table


def report(name: str, when: Literal["setup", "call", "teardown"], seconds: float) -> pytest.TestReport:
    return pytest.TestReport(name, (name, None, name), {}, "passed", None, when, duration=seconds)


def test_folders_come_first_and_a_test_takes_what_its_set_up_takes_too() -> None:
    reports = [
        report("tests/patches/test_move.py::test_a", "setup", 79.5),
        report("tests/patches/test_move.py::test_a", "call", 2.5),
        report("tests/slab/test_page.py::test_b[1]", "call", 1.5),
        report("tests/slab/test_page.py::test_c", "call", 0.25),
        report("tests/test_parity.py::test_d", "call", 0.25),
    ]
    assert list(table(reports)) == [
        "    82.0 s  tests/patches  over its 80 s",
        "     1.8 s  tests/slab",
        "the 2 slowest tests:",
        "    82.0 s  tests/patches/test_move.py::test_a",
        "     1.5 s  tests/slab/test_page.py::test_b[1]",
    ]


def test_a_short_run_says_nothing() -> None:
    assert list(table([report("tests/slab/test_page.py::test_c", "call", 0.25)])) == []
