# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles compared: lines are the same by what lies on them, and chance is told apart from change."""

from __future__ import annotations

from dataclasses import replace

from hand_made import finding, hot, scalar, struct

from linesmith.analyzer.comparison.compare import Explained, compare
from linesmith.analyzer.model import (
    Access,
    Change,
    Fate,
    Finding,
    LineMember,
    LineObject,
    MemberFunction,
    Outcome,
    Profile,
    ProfileChange,
    Recording,
    SharedLine,
    Triage,
    TriageKind,
)
from linesmith.analyzer.report.chosen import Chosen
from linesmith.analyzer.report.compare import render_text

TREE = struct("mapping", scalar("tree"), scalar("lock"), scalar("flags"))
MOVED = struct("mapping", scalar("tree"), scalar("flags"), scalar("lock"))


def explained(*found: Finding, records: int | None = 100_000) -> Explained:
    each = records and records // len(found)
    lines = tuple(SharedLine(one.rank, None, (), hitm_local=one.contended, records=each) for one in found)
    return Explained(Profile("test", "", "hitm", lines), found)


def changes(found: ProfileChange, line: int = 0) -> dict[str, tuple[int, int, Fate]]:
    return {one.member: _told(one.change) for one in found.lines[line].members}


def _told(change: Change) -> tuple[int, int, Fate]:
    return change.before, change.after, change.fate


def unknown(functions: dict[str, int], rank: int = 0) -> Finding:
    """A line of which only functions are known."""
    members = tuple(
        LineMember(f"{at:#x}", at, None, None, count, 0, (MemberFunction(name, count, 0),))
        for at, (name, count) in enumerate(functions.items())
    )
    nothing = LineObject("", None, 0, 0, 0.0, Outcome.CANNOT_TELL)
    total = sum(functions.values())
    return Finding(rank, None, 1.0, total, 0, (nothing,), members, Triage((TriageKind.UNKNOWN,), (), ""))


def test_a_member_that_left_the_line_has_vanished_and_the_others_stayed() -> None:
    before = explained(finding(TREE, [hot("tree", 0, 8, 700), hot("lock", 8, 8, 5000)]))
    after = explained(finding(MOVED, [hot("flags", 8, 8, 90), hot("lock", 16, 8, 5000)]))
    found = compare(before, after)
    assert changes(found) == {
        "lock": (5000, 5000, Fate.STAYED),
        "tree": (700, 0, Fate.VANISHED),
        "flags": (0, 90, Fate.NEW),
    }
    assert found.lines[0].matched_by == "members"


def test_counts_are_compared_by_samples() -> None:
    before = explained(finding(TREE, [hot("lock", 8, 8, 5000)]), records=100_000)
    after = explained(finding(TREE, [hot("lock", 8, 8, 5000)]), records=200_000)
    found = compare(before, after)
    assert (found.exposure.unit, found.lines[0].change.fate) == ("samples on shared lines", Fate.FELL)
    assert found.lines[0].change.ratio.least < 0.5 < found.lines[0].change.ratio.most


def test_a_difference_that_chance_explains_is_none() -> None:
    before = explained(finding(TREE, [hot("tree", 0, 8, 100), hot("lock", 8, 8, 3)]))
    after = explained(finding(TREE, [hot("tree", 0, 8, 120)]))
    assert changes(compare(before, after)) == {"tree": (100, 120, Fate.STAYED), "lock": (3, 0, Fate.UNCLEAR)}


def test_lines_at_one_place_of_many_objects_are_one() -> None:
    line = finding(TREE, [hot("lock", 8, 8, 40)])
    before = explained(*(replace(line, rank=rank) for rank in range(5)))
    after = explained(replace(line, rank=3))
    found = compare(before, after)
    assert [(one.before_ranks, one.after_ranks) for one in found.lines] == [((0, 1, 2, 3, 4), (3,))]
    assert changes(found) == {"lock": (200, 40, Fate.FELL)}


def test_a_member_that_went_to_another_hot_line_is_told_with_it() -> None:
    apart = struct("mapping", scalar("lock"), *(scalar(f"pad{at}") for at in range(8)), scalar("tree"))
    before = explained(finding(TREE, [hot("tree", 0, 8, 700), hot("lock", 8, 8, 5000)]))
    after = explained(finding(apart, [hot("lock", 0, 8, 5000)]), finding(apart, [hot("tree", 72, 8, 600)], rank=7))
    found = compare(before, after)
    assert {one.member: one.elsewhere for one in found.lines[0].members} == {"lock": (), "tree": (7,)}
    assert {one.member: one.change.fate for one in found.members} == {"lock": Fate.STAYED, "tree": Fate.FELL}


def test_a_side_that_does_not_know_the_object_is_compared_by_functions() -> None:
    known = finding(TREE, [hot("tree", 0, 8, 700), hot("lock", 8, 8, 5000)])
    members = [
        replace(member, functions=(MemberFunction(name, member.reads, 0),))
        for member, name in zip(known.members, ("walk", "wait"), strict=True)
    ]
    before, after = explained(replace(known, members=tuple(members))), explained(unknown({"wait": 4900}))
    found = compare(before, after)
    assert (found.lines[0].matched_by, found.lines[0].type) == ("functions", "mapping")
    assert changes(found) == {"lock": (5000, 4900, Fate.STAYED), "tree": (700, 0, Fate.VANISHED)}
    over_all = {one.member: one.change.fate for one in found.members}
    assert over_all["lock"] is Fate.UNSEEN  # it may be what `wait` waits for


def test_lines_of_other_functions_are_not_the_same() -> None:
    found = compare(explained(unknown({"walk": 100})), explained(unknown({"wait": 100})))
    assert [(one.matched_by, one.change.fate) for one in found.lines] == [("", Fate.VANISHED), ("", Fate.NEW)]


def test_of_a_line_without_rows_nobody_can_tell_what_became_of_it() -> None:
    bare = replace(unknown({}), contended=500)
    assert compare(explained(bare), explained(unknown({"wait": 100}))).lines[0].change.fate is Fate.UNSEEN


def test_a_sentence_says_what_the_counts_cannot() -> None:
    one, other = (explained(unknown({"wait": 100}), records=None) for _ in range(2))
    assert any("neither report says how many samples" in caution for caution in compare(one, other).cautions)
    peer = replace(other, profile=replace(other.profile, display="peer"))
    assert any("cannot be compared" in caution for caution in compare(one, peer).cautions)
    below = replace(other, left_out=(SharedLine(9, None, (), hitm_local=7), SharedLine(10, None, (), hitm_local=3)))
    assert "after: 2 lines were not looked at, with 10 contended accesses together" in "; ".join(
        compare(one, below).cautions
    )


def test_recordings_of_one_command_are_compared_run_by_run() -> None:
    one = explained(unknown({"wait": 100}))
    run = replace(one, profile=replace(one.profile, recording=Recording("qemu", ("./storm", "8"), (0, 0), "m")))
    found = compare(run, run)
    assert (found.exposure.unit, found.exposure.before) == ("runs of the same command", 1)
    assert any("two runs of one system differ by more" in caution for caution in found.cautions)


def test_a_line_that_may_be_among_those_not_looked_at_has_not_vanished_for_sure() -> None:
    before = explained(finding(TREE, [hot("tree", 0, 8, 700)]), unknown({"wait": 9000}, rank=1))
    after = explained(unknown({"wait": 9000}, rank=1))
    assert compare(before, after).lines[1].change.fate is Fate.VANISHED
    below = replace(after, left_out=(SharedLine(9, None, (), hitm_local=800),))
    found = compare(before, below)
    assert (found.lines[1].change.fate, found.members[1].change.fate) == (Fate.UNSEEN, Fate.UNSEEN)


def test_nothing_vanishes_into_a_report_without_names() -> None:
    before = explained(finding(TREE, [hot("tree", 0, 8, 700)]))
    found = compare(before, explained(unknown({"[unknown]": 900})))
    assert [(one.type, one.change.fate) for one in found.lines] == [("", Fate.UNSEEN), ("mapping", Fate.UNSEEN)]
    assert {one.change.fate for one in (*found.members, *found.lines[1].members)} == {Fate.UNSEEN}
    assert any("after: of 900 contended accesses neither object nor function is known" in one for one in found.cautions)


def test_functions_without_a_name_are_not_the_same() -> None:
    nameless = explained(unknown({"[unknown]": 900}))
    assert {one.matched_by for one in compare(nameless, nameless).lines} == {""}


def test_a_line_not_looked_at_hides_what_its_functions_wait_for_and_nothing_else() -> None:
    left_out = (SharedLine(9, None, (Access(0, "wait", hitm_local=800),), hitm_local=800),)
    fates = []
    for function in ("wait", "walk"):
        before = explained(unknown({function: 700}), unknown({"stay": 9000}, rank=1))
        after = replace(explained(unknown({"stay": 9000}, rank=1)), left_out=left_out)
        fates.append(compare(before, after).lines[1].change.fate)
    assert fates == [Fate.UNSEEN, Fate.VANISHED]


def test_counts_stand_in_one_column_below_long_names() -> None:
    names = ("i_mmap_writable_and_how_often", "lock")
    long = struct("mapping", *(scalar(name) for name in names))
    side = explained(finding(long, [hot(name, 8 * at, 8, 700) for at, name in enumerate(names)]))
    chosen = Chosen(side.profile, 1, 1)
    rows = render_text(compare(side, side), chosen, chosen).splitlines()
    found = [row.index("700 -> 700") for row in rows if "700 -> 700" in row]
    assert found == [found[0]] * 2
