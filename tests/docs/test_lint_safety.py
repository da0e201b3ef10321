# SPDX-License-Identifier: GPL-2.0-or-later
"""Each promise of docs/lint-safety.md has its test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_promise_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "lint-safety.md").read_text()
    tests = {
        name
        for file in (ROOT / "tests" / "hostile").glob("test_*.py")
        for name in re.findall(r"def (test_\w+)", file.read_text())
    }
    named = set(re.findall(r"`(test_\w+)`", page))
    assert named
    assert named <= tests


def test_every_promise_has_a_test() -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \|$", (ROOT / "docs" / "lint-safety.md").read_text(), re.MULTILINE)
    assert [promise for promise, test in rows if promise not in ("promise",) and "test" not in test] == []
