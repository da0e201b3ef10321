# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles compared: lines are the same by what lies on them, and chance is told apart from change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, hot, scalar, struct

from linesmith.analyzer.comparison.compare import ProfileFindings, compare
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    Fate,
    Finding,
    LineMember,
    LineObject,
    MemberFunction,
    Outcome,
    Profile,
    ProfileChange,
    Recording,
    Triage,
    TriageKind,
)

TREE = struct("mapping", scalar("tree"), scalar("lock"), scalar("flags"))
MOVED = struct("mapping", scalar("tree"), scalar("flags"), scalar("lock"))


def explained(*found: Finding, records: int | None = 100_000) -> ProfileFindings:
    each = records and records // len(found)
    lines = tuple(CacheLine(one.rank, None, (), hitm_local=one.contended, records=each) for one in found)
    return ProfileFindings(Profile("test", "", "hitm", lines), found)


def mapping(tree: int = 0, lock: int = 0) -> Finding:
    """A line of a mapping with so many contended loads of its members."""
    members = [hot("tree", 0, 8, tree), hot("lock", 8, 8, lock)]
    return finding(TREE, [one for one in members if one.reads])


def unknown(functions: dict[str, int], rank: int = 0) -> Finding:
    """A line of which only functions are known."""
    members = tuple(
        LineMember(f"{at:#x}", at, None, None, count, 0, (MemberFunction(name, count, 0),))
        for at, (name, count) in enumerate(functions.items())
    )
    nothing = LineObject("", None, 0, 0, 0.0, Outcome.CANNOT_TELL)
    total = sum(functions.values())
    return Finding(rank, None, 1.0, total, 0, (nothing,), members, Triage((TriageKind.UNKNOWN,), (), ""))


def left_out(*counts: int, functions: tuple[Access, ...] = ()) -> tuple[CacheLine, ...]:
    return tuple(CacheLine(9 + at, None, functions, hitm_local=count) for at, count in enumerate(counts))


def members(found: ProfileChange) -> str:
    """What became of the members of the first line."""
    changes = {one.member: one.change for one in found.lines[0].members}
    return ", ".join(f"{name} {one.before} -> {one.after} {one.fate.name}" for name, one in sorted(changes.items()))


def fates(found: ProfileChange) -> list[tuple[str, Fate]]:
    return [(one.matched_by or one.type, one.change.fate) for one in found.lines]


def test_a_member_that_left_the_line_has_vanished_and_the_others_stayed() -> None:
    after = finding(MOVED, [hot("flags", 8, 8, 90), hot("lock", 16, 8, 5000)])
    found = compare(explained(mapping(700, 5000)), explained(after))
    assert members(found) == "flags 0 -> 90 NEW, lock 5000 -> 5000 STAYED, tree 700 -> 0 VANISHED"
    assert found.lines[0].matched_by == "members"


def test_counts_are_compared_by_samples() -> None:
    found = compare(explained(mapping(0, 5000)), explained(mapping(0, 5000), records=200_000))
    assert (found.exposure.unit, found.lines[0].change.fate) == ("samples on shared lines", Fate.FELL)
    assert found.lines[0].change.ratio.least < 0.5 < found.lines[0].change.ratio.most


def test_a_difference_that_chance_explains_is_none() -> None:
    found = compare(explained(mapping(100, 3)), explained(mapping(120)))
    assert members(found) == "lock 3 -> 0 UNCLEAR, tree 100 -> 120 STAYED"


def test_lines_at_one_place_of_many_objects_are_one() -> None:
    line = mapping(0, 40)
    found = compare(explained(*(replace(line, rank=rank) for rank in range(5))), explained(replace(line, rank=3)))
    assert [(one.before_ranks, one.after_ranks) for one in found.lines] == [((0, 1, 2, 3, 4), (3,))]
    assert members(found) == "lock 200 -> 40 FELL"


def test_a_member_that_went_to_another_hot_line_is_told_with_it() -> None:
    apart = struct("mapping", scalar("lock"), *(scalar(f"pad{at}") for at in range(8)), scalar("tree"))
    after = explained(finding(apart, [hot("lock", 0, 8, 5000)]), finding(apart, [hot("tree", 72, 8, 600)], rank=7))
    found = compare(explained(mapping(700, 5000)), after)
    assert {one.member: one.elsewhere for one in found.lines[0].members} == {"lock": (), "tree": (7,)}
    assert {one.member: one.change.fate for one in found.members} == {"lock": Fate.STAYED, "tree": Fate.FELL}


def test_a_side_that_does_not_know_the_object_is_compared_by_functions() -> None:
    known = mapping(700, 5000)
    by_function = [
        replace(member, functions=(MemberFunction(name, member.reads, 0),))
        for member, name in zip(known.members, ("walk", "wait"), strict=True)
    ]
    before = explained(replace(known, members=tuple(by_function)))
    found = compare(before, explained(unknown({"wait": 4900})))
    assert (found.lines[0].matched_by, found.lines[0].type) == ("functions", "mapping")
    assert members(found) == "lock 5000 -> 4900 STAYED, tree 700 -> 0 VANISHED"
    over_all = {one.member: one.change.fate for one in found.members}
    assert over_all["lock"] is Fate.UNSEEN  # it may be what `wait` waits for


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(unknown({"walk": 100}), unknown({"wait": 100}), [("", Fate.VANISHED), ("", Fate.NEW)],
            id="lines of other functions are not the same"),
        pytest.param(unknown({"[unknown]": 900}), unknown({"[unknown]": 900}), [("", Fate.UNSEEN), ("", Fate.UNSEEN)],
            id="functions without a name are not the same"),
        pytest.param(replace(unknown({}), contended=500), unknown({"wait": 100}),
            [("", Fate.UNSEEN), ("", Fate.UNSEEN)], id="of a line without rows nobody can tell"),
        pytest.param(mapping(700), unknown({"[unknown]": 900}), [("", Fate.UNSEEN), ("mapping", Fate.UNSEEN)],
            id="nothing vanishes into a report without names"),
    ],
)  # fmt: skip
def test_lines_that_are_not_the_same(before: Finding, after: Finding, expected: list[tuple[str, Fate]]) -> None:
    found = compare(explained(before), explained(after))
    assert fates(found) == expected
    if before.objects[0].type:
        assert {one.change.fate for one in (*found.members, *found.lines[1].members)} == {Fate.UNSEEN}
        nothing = "after: of 900 contended accesses neither object nor function is known"
        assert any(nothing in one for one in found.cautions)


def test_a_sentence_says_what_the_counts_cannot() -> None:
    one, other = (explained(unknown({"wait": 100}), records=None) for _ in range(2))
    assert any("neither report says how many samples" in caution for caution in compare(one, other).cautions)
    peer = replace(other, profile=replace(other.profile, display="peer"))
    assert any("cannot be compared" in caution for caution in compare(one, peer).cautions)
    below = compare(one, replace(other, left_out=left_out(7, 3))).cautions
    assert "after: 2 lines were not looked at, with 10 contended accesses together" in "; ".join(below)


def test_recordings_of_one_command_are_compared_run_by_run() -> None:
    one = explained(unknown({"wait": 100}))
    run = replace(one, profile=replace(one.profile, recording=Recording("qemu", ("./storm", "8"), (0, 0), "m")))
    found = compare(run, run)
    assert (found.exposure.unit, found.exposure.before) == ("runs of the same command", 1)
    assert any("two runs of one system differ by more" in caution for caution in found.cautions)


def test_a_line_that_may_be_among_those_not_looked_at_has_not_vanished_for_sure() -> None:
    before, after = explained(mapping(700), unknown({"wait": 9000}, rank=1)), explained(unknown({"wait": 9000}, rank=1))
    assert compare(before, after).lines[1].change.fate is Fate.VANISHED
    found = compare(before, replace(after, left_out=left_out(800)))
    assert (found.lines[1].change.fate, found.members[1].change.fate) == (Fate.UNSEEN, Fate.UNSEEN)


@pytest.mark.parametrize(("function", "fate"), [("wait", Fate.UNSEEN), ("walk", Fate.VANISHED)])
def test_a_line_not_looked_at_hides_what_its_functions_wait_for_and_nothing_else(function: str, fate: Fate) -> None:
    before = explained(unknown({function: 700}), unknown({"stay": 9000}, rank=1))
    hidden = left_out(800, functions=(Access(0, "wait", hitm_local=800),))
    after = replace(explained(unknown({"stay": 9000}, rank=1)), left_out=hidden)
    assert compare(before, after).lines[1].change.fate is fate
