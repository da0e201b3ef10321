# SPDX-License-Identifier: GPL-2.0-or-later
"""What each rule says of changes of a struct in C: the tables in the folder ``tables``, one for each rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_tables import Case, cases, violations

TABLES = sorted(Path(__file__).with_name("tables").glob("*.txt"))


@pytest.mark.parametrize(("rule", "case"), [case for table in TABLES for case in cases(table)])
def test_a_rule_says_what_its_table_has(tmp_path: Path, rule: str, case: Case) -> None:
    assert violations(rule, case, tmp_path) == case.told
