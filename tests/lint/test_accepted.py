# SPDX-License-Identifier: GPL-2.0-or-later
"""What is taken out of a report: suppressed until a day, or known since a baseline."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from violations_by_hand import hostile_reports, report, violation

from linesmith.analyzer.errors import BaselineError
from linesmith.analyzer.lint.accepted import Acceptance, settled
from linesmith.analyzer.lint.baseline import Baseline, read_baseline, written_baseline
from linesmith.analyzer.model import LintReport, Severity, Suppression

TODAY = date(2026, 11, 22)
RULES = ("alignment-lost", "suppression-expired", "suppression-unused")


def suppression(**fields: Any) -> Suppression:
    usual = {"rule": "alignment-lost", "record": "a", "reason": "being moved", "place": "linesmith.toml:12"}
    return Suppression(**{**usual, **fields})


def settle(found: LintReport, *suppressions: Suppression, judged: bool = True) -> LintReport:
    return settled(found, Acceptance(suppressions, TODAY, judged=lambda _: judged))


def test_what_a_suppression_meets_is_accepted_for_its_reason() -> None:
    found = settle(report(violation()), suppression())
    assert found.violations == ()
    (accepted,) = found.accepted
    assert (accepted.violation, accepted.reason, accepted.by) == (violation(), "being moved", "linesmith.toml:12")


@pytest.mark.parametrize(
    "fields",
    [{"rule": "slab-growth"}, {"record": "b"}, {"member": "x"}, {"record": "struct b"}, {"rule": "alignment"}],
    ids=str,
)
def test_a_suppression_of_something_else_accepts_nothing(fields: dict[str, str]) -> None:
    assert settle(report(violation()), suppression(**fields)).violations == (violation(),)


@pytest.mark.parametrize(
    "fields", [{"rule": "alignment-*"}, {"record": "?"}, {"record": "struct a"}, {"rule": "*"}], ids=str
)
def test_rule_and_record_may_be_patterns(fields: dict[str, str]) -> None:
    assert settle(report(violation()), suppression(**fields)).violations == ()


def test_a_suppression_holds_on_its_last_day() -> None:
    assert settle(report(violation()), suppression(expires=TODAY)).violations == ()


def test_an_expired_suppression_accepts_nothing_and_is_told_at_its_line() -> None:
    found = settle(report(violation(), rules=RULES), suppression(expires=date(2026, 11, 21)))
    first, expired = found.violations
    assert first == violation()
    assert (expired.rule, expired.severity) == ("suppression-expired", Severity.WARNING)
    assert (expired.file, expired.line, expired.type) == ("linesmith.toml", 12, "a")
    assert expired.message == "the suppression of alignment-lost expired on 2026-11-21; its reason was: being moved"


def test_the_member_of_an_expired_suppression_is_told_with_its_rule() -> None:
    """In front of the sentence it would read as what expired."""
    found = settle(report(rules=RULES), suppression(member="tail", expires=date(2026, 11, 21)))
    (expired,) = found.violations
    assert expired.message.startswith("the suppression of alignment-lost for tail expired on 2026-11-21;")
    assert (expired.member, expired.subject) == ("", "alignment-lost for tail")


def test_a_suppression_of_no_rule_is_told_whatever_was_judged() -> None:
    (unused,) = settle(report(rules=RULES), suppression(rule="alignment-los"), judged=False).violations
    assert unused.rule == "suppression-unused"
    assert unused.message.endswith("accepts nothing: no rule is called alignment-los; did you mean alignment-lost?")


def test_a_suppression_that_met_nothing_is_a_note() -> None:
    (unused,) = settle(report(rules=RULES), suppression()).violations
    assert (unused.rule, unused.severity) == ("suppression-unused", Severity.NOTE)
    assert unused.message == "the suppression of alignment-lost meets no violation; its reason is: being moved"


def test_a_suppression_that_could_not_meet_anything_is_not_called_unused() -> None:
    assert settle(report(rules=RULES), suppression(), judged=False).violations == ()


def test_nothing_is_told_of_suppressions_when_those_rules_are_off() -> None:
    found = settle(report(), suppression(), suppression(expires=date(2000, 1, 1)))
    assert found.violations == ()


def test_the_first_suppression_that_meets_a_violation_is_named_and_the_second_is_unused() -> None:
    second = suppression(place="linesmith.toml:20")
    found = settle(report(violation(), rules=RULES), suppression(), second)
    assert [one.by for one in found.accepted] == ["linesmith.toml:12"]
    assert [one.line for one in found.violations] == [20]


def test_what_a_baseline_names_is_known_whatever_its_figures_and_line() -> None:
    baseline = read_baseline(written_baseline([violation()], Baseline()).encode(), "lint.json")
    later = violation(line=99, message="was aligned to 128 bytes and is not any more")
    found = settled(report(later, violation(member="x")), Acceptance((), TODAY, baseline))
    assert found.violations == (violation(member="x"),)
    assert [(one.reason, one.by) for one in found.accepted] == [("known since the baseline", "lint.json")]


def test_a_reason_written_into_a_baseline_is_told_and_stays() -> None:
    text = written_baseline([violation()], Baseline()).replace('"struct a"', '"struct a","reason":"frozen ABI"')
    baseline = read_baseline(text.encode(), "lint.json")
    assert settled(report(violation()), Acceptance((), TODAY, baseline)).accepted[0].reason == "frozen ABI"
    assert "frozen ABI" in written_baseline([violation()], baseline)


def test_a_baseline_of_nothing_has_no_empty_line() -> None:
    text = written_baseline([], Baseline())
    assert text.splitlines() == ["{", '  "linesmith_baseline": 1,', '  "accepted": []', "}"]
    assert read_baseline(text.encode(), "lint.json").reasons == {}


def test_a_baseline_is_one_sorted_line_a_violation() -> None:
    text = written_baseline([violation(type="struct b"), violation(member="x"), violation(line=1)], Baseline())
    assert text.splitlines() == [
        "{",
        '  "linesmith_baseline": 1,',
        '  "accepted": [',
        '    {"rule":"alignment-lost","type":"struct a"},',
        '    {"rule":"alignment-lost","type":"struct a","member":"x"},',
        '    {"rule":"alignment-lost","type":"struct b"}',
        "  ]",
        "}",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "lint.json is no baseline: "),
        (b"[" * 100_000, "lint.json is no baseline: "),
        (b"\xff\xfe", "lint.json is no baseline: "),
        (b'{"linesmith_baseline": 1, "accepted": [], "run": "rm"}', "unknown field `run`"),
        (b'{"linesmith_baseline": 1, "accepted": [{"rule": "x"}]}', "missing required field `type`"),
        (b'{"linesmith_baseline": 2, "accepted": []}', "a baseline of version 2, and 1 is what can be read"),
        (b" " * ((1 << 24) + 1), "larger than 16 MiB"),
    ],
    ids=["empty", "deep", "no text", "another field", "a field missing", "another version", "large"],
)
def test_what_is_no_baseline_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(BaselineError, match=said):
        read_baseline(content, "lint.json")


@given(hostile_reports)
def test_a_baseline_of_a_report_accepts_all_of_it(found: LintReport) -> None:
    text = written_baseline(found.violations, Baseline()).encode()
    known = read_baseline(text, "lint.json")
    after = settled(replace(found, accepted=()), Acceptance((), TODAY, known))
    assert after.violations == ()
    assert sorted(one.violation.key for one in after.accepted) == sorted(one.key for one in found.violations)


@given(
    hostile_reports, st.lists(st.builds(suppression, rule=st.sampled_from(["*", "a*", "x"]), record=st.text("a*?b")))
)
def test_nothing_is_lost(found: LintReport, suppressions: list[Suppression]) -> None:
    before = replace(found, accepted=())
    after = settled(before, Acceptance(tuple(suppressions), TODAY))
    both = [*after.violations, *(one.violation for one in after.accepted)]
    assert sorted(both, key=lambda one: one.order) == sorted(before.violations, key=lambda one: one.order)


KEPT = Baseline("b.json", {violation().key: "", ("alignment-lost", "struct a", "gone", ""): ""})


def with_baseline(found: LintReport, baseline: Baseline = KEPT, *, judged: bool = True) -> LintReport:
    return settled(found, Acceptance((), TODAY, baseline, lambda _: judged))


def test_entries_of_a_baseline_that_nothing_meets_are_told_of_one_build() -> None:
    (told,) = with_baseline(replace(report(violation()), base="")).remarks
    assert told == (
        "b.json has an entry that nothing meets (alignment-lost of struct a): --write-baseline leaves them out"
    )


def test_what_was_not_judged_or_is_of_a_change_says_nothing_of_entries() -> None:
    assert with_baseline(replace(report(violation()), base=""), judged=False).remarks == ()
    assert with_baseline(replace(report(violation()), base="old")).remarks == ()


def test_an_entry_of_no_rule_is_told_whatever_was_judged() -> None:
    baseline = Baseline("b.json", {("alignment-los", "struct a", "", ""): ""})
    (told,) = with_baseline(replace(report(), base="old"), baseline, judged=False).remarks
    assert told.startswith("b.json has an entry that nothing meets (alignment-los of struct a)")


def test_an_entry_of_the_baseline_goes_with_a_member_that_got_another_name() -> None:
    known = replace(violation(), member="guard")
    found = with_baseline(report(replace(known, member="lock", was="guard")), Baseline("b.json", {known.key: "cold"}))
    assert found.violations == ()
    assert [one.reason for one in found.accepted] == ["cold"]


def test_an_entry_whose_violation_a_suppression_accepts_as_well_is_met() -> None:
    baseline = Baseline("b.json", {violation().key: ""})
    found = replace(report(violation()), base="")
    assert settled(found, Acceptance((suppression(),), TODAY, baseline, lambda _: True)).remarks == ()
