# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records of two builds are worth a look, and what is taken out of a report of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from c_source import compiled
from hand_made import scalar, struct, table
from hypothesis import given, settings
from hypothesis import strategies as st
from violations_by_hand import hostile_reports, report, violation

from linesmith.analyzer.base.errors import BaselineError, TypeNotFound
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.lint.accepted import Acceptance, Baseline, apply_acceptance, read_baseline, written_baseline
from linesmith.analyzer.lint.pairs import of_one, of_two
from linesmith.analyzer.model import Layout, LintReport, Suppression

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


KEPT = Baseline("b.json", {violation().key: "", ("alignment-lost", "struct a", "gone", ""): ""})


def with_baseline(found: LintReport, baseline: Baseline = KEPT, *, judged: bool = True) -> LintReport:
    return apply_acceptance(found, Acceptance((), TODAY, baseline, lambda _: judged))


def test_an_entry_of_the_baseline_goes_with_a_member_that_got_another_name() -> None:
    known = violation(member="guard")
    found = with_baseline(report(violation(member="lock", was="guard")), Baseline("b.json", {known.key: "cold"}))
    assert found.violations == ()
    assert [one.reason for one in found.accepted] == ["cold"]


# Which records of two builds are worth a look

BOTH = "struct same { int a; long b; } s; struct other { char c; } o;"
INNER = "struct in { int a; int b; }; struct out { struct in in; } s;"
NAMED = "typedef struct { int a; long b; } named; named n;"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))


def builds(folder: Path, old: str, new: str) -> tuple[Layouts, Layouts]:
    before, after = compiled(folder, old, name="old"), compiled(folder, new, name="new")
    return read_layouts(before).layouts, read_layouts(after).layouts


def names(pairs: Iterable[tuple[Layout | None, Layout | None]]) -> list[str]:
    """The records of the newer build that are looked at."""
    return [after.name for _, after in pairs if after]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (BOTH, BOTH, []),
        (BOTH, "\n\n\n" + BOTH.replace("struct other", "\nstruct other"), []),
        (BOTH, BOTH.replace("int a; long b;", "long b; int a;"), ["same"]),
        ("struct s { struct { int a; int b; }; } s;", "struct s { struct { int b; int a; }; } s;", ["s"]),
        (INNER, INNER.replace("int a; int b;", "int b; int a;"), ["in"]),
        (NAMED, NAMED.replace("int a; long b;", "long b; int a;"), ["named"]),
    ],
    ids=["equal", "other lines", "moved", "in a part without a name", "in a named record", "of a typedef alone"],
)
def test_records_that_changed_are_looked_at(tmp_path: Path, old: str, new: str, changed: list[str]) -> None:
    before, after = builds(tmp_path, old, new)
    assert [layout.name for pair in of_two(before, after, ()).pairs for layout in pair[1:] if layout] == changed
    assert of_one(after, ()).compared == of_two(before, after, ()).compared, "both count the same records"


def test_a_new_record_has_no_partner(tmp_path: Path) -> None:
    found = of_two(*builds(tmp_path, BOTH, BOTH + "struct fresh { int a; } f;"), ())
    assert [(before, after.name) for before, after in found.pairs if after] == [(None, "fresh")]
    assert (found.compared, found.changed) == (3, 0)


def test_types_that_are_asked_for_are_looked_at_and_no_others(tmp_path: Path) -> None:
    old, new = builds(tmp_path, BOTH, "struct same { long b; } s; struct other { long c; } o;")
    assert sorted(names(of_one(old, ()).pairs)) == ["other", "same"]
    found = of_two(old, old, (), asked_for=("other",))
    assert [(before.name, after.name) for before, after in found.pairs if before and after] == [("other", "other")]
    assert names(of_two(old, new, ("other",)).pairs) == ["other"]
    with pytest.raises(TypeNotFound, match="othr"):
        of_two(old, new, ("othr",))


MEMBERS = st.lists(st.sampled_from(("char", "int", "long", "short")), min_size=1, max_size=6)


def of_c(layout: Layout) -> Layout:
    return replace(layout, file="counter.h", line=1)


COUNTER = of_c(struct("counter", scalar("hits"), scalar("misses")))


def test_what_rust_restates_of_a_record_of_c_is_judged_once() -> None:
    grown = of_c(struct("counter", *COUNTER.members, scalar("lost")))
    old, new = (table(one, struct("bindings::raw::counter", *one.members)) for one in (COUNTER, grown))
    assert names(of_two(old, new, ()).pairs) == names(of_one(new, ()).pairs) == ["counter"]
    assert of_one(new, ("bindings::raw::counter",)).pairs != ()


@pytest.mark.parametrize(
    ("beside", "judged"),
    [
        # A part without a name is restated with its record.
        (struct("bindings::counter__bindgen_ty_1", scalar("hits")), False),
        # C does not know this one of Rust.
        (struct("queue::counter", scalar("hits")), True),
        # A class in a namespace has a file.
        (of_c(struct("queue::counter", *COUNTER.members)), True),
    ],
)
def test_a_record_beside_one_of_its_name_is_judged_unless_rust_restates_it(beside: Layout, judged: bool) -> None:
    assert names(of_one(table(COUNTER, beside), ()).pairs) == ["counter", *([beside.name] if judged else [])]
