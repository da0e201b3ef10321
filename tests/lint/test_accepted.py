# SPDX-License-Identifier: GPL-2.0-or-later
"""What is taken out of a report: suppressed until a day, or known since a baseline."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from violations_by_hand import hostile_reports, report, violation

from linesmith.analyzer.base.errors import BaselineError
from linesmith.analyzer.lint.accepted import Acceptance, Baseline, apply_acceptance, read_baseline, written_baseline
from linesmith.analyzer.model import LintReport, Suppression

TODAY, EXPIRED = date(2026, 11, 22), date(2026, 11, 21)
RULES = ("alignment-lost", "suppression-expired", "suppression-unused")


def suppression(**fields: Any) -> Suppression:
    usual = {"rule": "alignment-lost", "record": "a", "reason": "being moved", "place": "linesmith.toml:12"}
    return Suppression(**{**usual, **fields})


def settle(found: LintReport, *suppressions: Suppression, judged: bool = True) -> LintReport:
    return apply_acceptance(found, Acceptance(suppressions, TODAY, judged=lambda _: judged))


@pytest.mark.parametrize(
    ("fields", "meets"),
    [
        ({}, True),
        ({"rule": "alignment-*"}, True),
        ({"record": "?"}, True),
        ({"record": "struct a"}, True),
        ({"rule": "*"}, True),
        ({"expires": TODAY}, True),  # it holds on its last day
        ({"rule": "slab-growth"}, False),
        ({"rule": "alignment"}, False),
        ({"record": "b"}, False),
        ({"record": "struct b"}, False),
        ({"member": "x"}, False),
        ({"expires": EXPIRED}, False),
    ],
    ids=str,
)
def test_what_a_suppression_meets_is_accepted_for_its_reason(fields: dict[str, Any], meets: bool) -> None:
    found = settle(report(violation()), suppression(**fields))
    assert found.violations == (() if meets else (violation(),))
    accepted = [(one.violation, one.reason, one.by) for one in found.accepted]
    assert accepted == ([(violation(), "being moved", "linesmith.toml:12")] if meets else [])


UNKNOWN = "matches nothing: no rule alignment-los; did you mean alignment-lost?"


@pytest.mark.parametrize(
    ("fields", "judged", "severity", "subject", "said"),
    [
        ({"expires": EXPIRED}, True, "warning", "alignment-lost", "expired on 2026-11-21; its reason was: being moved"),
        (
            # In front of the sentence the member would read as what expired.
            {"member": "tail", "expires": EXPIRED},
            True,
            "warning",
            "alignment-lost for tail",
            "expired on 2026-11-21; its reason was: being moved",
        ),
        ({"rule": "alignment-los"}, False, "note", "alignment-los", UNKNOWN),  # whatever was judged
        ({}, True, "note", "alignment-lost", "matches no violation; its reason is: being moved"),
    ],
)
def test_what_is_wrong_with_a_suppression_is_told_at_its_line(
    fields: dict[str, Any], judged: bool, severity: str, subject: str, said: str
) -> None:
    (found,) = settle(report(rules=RULES), suppression(**fields), judged=judged).violations
    assert (found.severity, found.subject, found.member) == (severity, subject, "")
    assert (found.file, found.line, found.type) == ("linesmith.toml", 12, "a")
    assert found.message == f"the suppression of {subject} {said}"


def test_nothing_is_told_of_what_could_meet_nothing_or_where_the_rules_are_off() -> None:
    assert settle(report(rules=RULES), suppression(), judged=False).violations == ()
    assert settle(report(), suppression(), suppression(expires=EXPIRED)).violations == ()


def test_the_first_suppression_that_meets_a_violation_is_named_and_the_second_is_unused() -> None:
    second = suppression(place="linesmith.toml:20")
    found = settle(report(violation(), rules=RULES), suppression(), second)
    assert [one.by for one in found.accepted] == ["linesmith.toml:12"]
    assert [one.line for one in found.violations] == [20]


def test_what_a_baseline_names_is_known_whatever_its_figures_and_line() -> None:
    baseline = read_baseline(written_baseline([violation()], Baseline()).encode(), "lint.json")
    later = violation(line=99, message="was aligned to 128 bytes and is no longer")
    found = apply_acceptance(report(later, violation(member="x")), Acceptance((), TODAY, baseline))
    assert found.violations == (violation(member="x"),)
    assert [(one.reason, one.by) for one in found.accepted] == [("known since the baseline", "lint.json")]


def test_a_reason_written_into_a_baseline_is_told_and_stays() -> None:
    text = written_baseline([violation()], Baseline()).replace('"struct a"', '"struct a","reason":"frozen ABI"')
    baseline = read_baseline(text.encode(), "lint.json")
    assert with_baseline(report(violation()), baseline).accepted[0].reason == "frozen ABI"
    assert "frozen ABI" in written_baseline([violation()], baseline)


def test_a_baseline_is_one_sorted_line_a_violation() -> None:
    text = written_baseline([violation(type="struct b"), violation(member="x"), violation(line=1)], Baseline())
    assert text == (
        '{\n  "linesmith_baseline": 1,\n  "accepted": [\n'
        '    {"rule":"alignment-lost","type":"struct a"},\n'
        '    {"rule":"alignment-lost","type":"struct a","member":"x"},\n'
        '    {"rule":"alignment-lost","type":"struct b"}\n'
        "  ]\n}\n"
    )
    assert written_baseline([], Baseline()) == '{\n  "linesmith_baseline": 1,\n  "accepted": []\n}\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "lint.json is not a baseline: "),
        (b"[" * 100_000, "lint.json is not a baseline: "),
        (b"\xff\xfe", "lint.json is not a baseline: "),
        (b'{"linesmith_baseline": 1, "accepted": [], "run": "rm"}', "unknown field `run`"),
        (b'{"linesmith_baseline": 1, "accepted": [{"rule": "x"}]}', "missing required field `type`"),
        (b'{"linesmith_baseline": 2, "accepted": []}', "a baseline of version 2, but this linesmith reads version 1"),
        (b" " * ((1 << 24) + 1), "larger than 16 MiB"),
    ],
    ids=["empty", "deep", "no text", "another field", "a field missing", "another version", "large"],
)
def test_what_is_no_baseline_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(BaselineError, match=said):
        read_baseline(content, "lint.json")


@settings(max_examples=40)
@given(hostile_reports)
def test_a_baseline_of_a_report_accepts_all_of_it(found: LintReport) -> None:
    known = read_baseline(written_baseline(found.violations, Baseline()).encode(), "lint.json")
    after = apply_acceptance(replace(found, accepted=()), Acceptance((), TODAY, known))
    assert after.violations == ()
    assert sorted(one.violation.key for one in after.accepted) == sorted(one.key for one in found.violations)


@settings(max_examples=40)
@given(
    hostile_reports, st.lists(st.builds(suppression, rule=st.sampled_from(["*", "a*", "x"]), record=st.text("a*?b")))
)
def test_nothing_is_lost(found: LintReport, suppressions: list[Suppression]) -> None:
    before = replace(found, accepted=())
    after = apply_acceptance(before, Acceptance(tuple(suppressions), TODAY))
    both = [*after.violations, *(one.violation for one in after.accepted)]
    assert sorted(both, key=lambda one: one.order) == sorted(before.violations, key=lambda one: one.order)


KEPT = Baseline("b.json", {violation().key: "", ("alignment-lost", "struct a", "gone", ""): ""})


def with_baseline(found: LintReport, baseline: Baseline = KEPT, *, judged: bool = True) -> LintReport:
    return apply_acceptance(found, Acceptance((), TODAY, baseline, lambda _: judged))


def test_an_entry_of_the_baseline_goes_with_a_member_that_got_another_name() -> None:
    known = violation(member="guard")
    found = with_baseline(report(violation(member="lock", was="guard")), Baseline("b.json", {known.key: "cold"}))
    assert found.violations == ()
    assert [one.reason for one in found.accepted] == ["cold"]
