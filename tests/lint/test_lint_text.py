# SPDX-License-Identifier: GPL-2.0-or-later
"""The text of a lint: places in front, as editors and people know them."""

from __future__ import annotations

from hypothesis import given
from violations_by_hand import hostile_reports, report, violation

from linesmith.analyzer.model import Accepted, LintReport, Severity
from linesmith.analyzer.report.lint_text import render_text


def test_a_violation_has_its_place_in_front_and_its_rule_behind() -> None:
    text = render_text(report(violation(member="lock", message="shares a line with map", advice="move it")))
    assert text.splitlines()[:2] == [
        "include/a.h:7: WARNING: struct a: lock shares a line with map [alignment-lost]",
        "    move it",
    ]


def test_one_advice_for_several_is_said_once() -> None:
    found = (
        violation(member=name, advice=advice) for name, advice in (("a", "move it"), ("b", "move it"), ("c", "no"))
    )
    said = [line for line in render_text(report(*found)).splitlines() if line.startswith("    ")]
    assert said == ["    move it", "    no"]


def test_what_has_no_place_begins_with_the_build() -> None:
    text = render_text(report(violation(file=None, line=None)))
    assert text.startswith("new: WARNING: struct a: was aligned")


def test_the_last_line_counts_by_severity() -> None:
    found = [violation(severity=one) for one in (Severity.NOTE, Severity.ERROR, Severity.NOTE)]
    accepted = (Accepted(violation(), "known", "baseline"),)
    last = render_text(report(*found, accepted=accepted)).splitlines()[-1]
    assert last == "1 error, 2 notes in 12 records, 3 changed, 2 watched; 1 accepted"


def test_a_single_build_has_nothing_that_changed() -> None:
    assert render_text(report(base="", compared=1)) == "no violations in 1 record, 2 watched\n"


def test_what_could_not_be_judged_is_said() -> None:
    assert "note: struct b is not in NEW\n" in render_text(report(remarks=("struct b is not in NEW",)))


@given(hostile_reports)
def test_names_break_no_line(found: LintReport) -> None:
    lines = render_text(found).split("\n")[:-1]
    advice = {one.advice for one in found.violations} - {""}
    assert len(lines) == len(found.violations) + len(advice) + len(found.remarks) + 1
