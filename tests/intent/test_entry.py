# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile says of a record, as an intent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hand_made import finding, held, hot, meeting, scalar, struct, table

from linesmith.analyzer.intent.entry import Grounds, budget, separated_between, separated_by, usage, written
from linesmith.analyzer.intent.reading import intent_in
from linesmith.analyzer.model import ConflictPair, Finding, Isolation, Layout, LineMember, SizeBudget
from linesmith.analyzer.slab.allocation import Kernel, own_cache
from linesmith.tuner.propose.candidates import answers

NAME = scalar("name", 64, dimensions=(64,))
PIPE = struct("pipe", scalar("head"), scalar("tail"), scalar("ops"), NAME)
AFTER = struct("pipe", scalar("head"), NAME, scalar("tail"), scalar("ops"))
LAYOUTS = table(PIPE)


@pytest.mark.parametrize(
    ("members", "hot_ones", "write_hot", "read_mostly"),
    [
        (
            [hot("head", 0, 8, 950, 50), hot("tail", 8, 8, 3000, 10), hot("ops", 16, 8, 97, 3)],
            ("tail", "head", "ops"),
            ("head",),
            ("tail",),
        ),
        # One that must be written is write-hot though no store was sampled.
        ([replace(hot("head", 0, 8, 100), write_inferred="lock")], ("head",), ("head",), ()),
        # Less than a hundredth of the samples is not hot.
        ([hot("head", 0, 8, 1000), hot("tail", 8, 8, 9)], ("head",), (), ("head",)),
    ],
)
def test_members_are_told_by_what_was_sampled_on_them(
    members: list[LineMember], hot_ones: tuple[str, ...], write_hot: tuple[str, ...], read_mostly: tuple[str, ...]
) -> None:
    found = usage([finding(PIPE, members)], PIPE, LAYOUTS)
    assert (found.hot, found.write_hot, found.read_mostly) == (hot_ones, write_hot, read_mostly)
    assert found.samples == sum(one.reads + one.writes for one in members)


def test_members_of_another_object_on_the_line_are_left_out() -> None:
    line = finding(PIPE, [hot("head", 0, 8, 100)])
    other = replace(hot("ops", 0, 8, 100), offset=32, object_offset=0)
    assert usage([replace(line, members=(*line.members, other))], PIPE, LAYOUTS).hot == ("head",)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("lock.count", "lock"),
        ("big.count.low", "big.count"),
        ("big.rows[3].x", "big.rows"),
        ("name[7]", "name"),
        ("gone", ""),
    ],
)
def test_a_member_that_fits_a_line_stands_for_its_parts(path: str, told: str) -> None:
    count = struct("count", scalar("low", 4), scalar("high", 4))
    lock, row = struct("lock", held("count", count)), struct("row", scalar("x"))
    big = struct("big", held("count", count), replace(held("rows", row), size=128, dimensions=(16,)))
    outer = struct("outer", held("lock", lock), held("big", big), scalar("name", 16, dimensions=(16,)))
    found = usage([finding(outer, [hot(path, 0, 4, 100)])], outer, table(count, lock, row, big, outer))
    assert found.hot == ((told,) if told else ())


def test_the_recommended_candidate_says_what_stays_apart() -> None:
    line = meeting(PIPE, "head", "ops", samples=200)
    (answer,) = answers([line], LAYOUTS)
    (parted,) = separated_by(answer.candidates[0], line.triage.pairs, 64)
    assert (parted.first, parted.second, parted.after < 1) == ("head", "ops", True)


PAIRS = ConflictPair("tail", "head", "head", 5), ConflictPair("tail", "ops", "ops", 5)
# Of two builds only what meets less in the second is parted.
(APART,) = separated_between((PIPE, LAYOUTS), (AFTER, table(AFTER)), PAIRS, 64)


def grounds(layout: Layout = PIPE, *lines: Finding, **given: Any) -> Grounds:
    """What an intent of the record rests on: a line with ``head`` and ``ops``, which a change has kept apart."""
    line = replace(meeting(layout, "head", "ops", samples=150), contended=200)
    usual = {"profile": "c2c.txt", "separated": (replace(APART, second="ops"),), "change": "separated by: care"}
    return Grounds(layout, LAYOUTS, lines or (line,), **{**usual, **given})


def test_isolations_are_told_for_each_written_member_and_share_of_what_code_can_name() -> None:
    assert (APART.first, APART.second, APART.line_bytes, APART.after) == ("head", "tail", 64, 0.0)
    parted = (
        *(APART, replace(APART, second="ops"), replace(APART, second="name", after=0.121)),
        replace(APART, second="ops", line_bytes=128, after=0.5),
        # The other way round, in every phase, and with what code cannot name.
        replace(APART, first="tail", second="head"),
        replace(APART, first="ops", second="tail", after=1.0),
        replace(APART, second="ops of line 7"),
    )
    assert grounds(separated=parted).entry().isolations == (
        Isolation(("head",), ("tail", "ops")),
        Isolation(("head",), ("name",), 64, 0.13),
        Isolation(("head",), ("ops",), 128, 0.5),
    )


@pytest.mark.parametrize(("size", "room"), [(8, 64), (64, 128), (120, 128), (192, 256), (960, 1024), (1024, 1088)])
def test_a_budget_leaves_a_sixteenth_in_whole_lines(size: int, room: int) -> None:
    assert budget(struct("s", scalar("all", size, dimensions=(size,))), None) == SizeBudget(room)


def test_a_budget_is_for_the_larger_record_that_a_change_makes() -> None:
    assert budget(PIPE, None, 250) == SizeBudget(320)


def test_objects_per_slab_are_counted_where_the_cache_is_known() -> None:
    bare = struct("inode", scalar("all", 600, dimensions=(75,)))
    assert budget(bare, Kernel()).objects_per_slab == 8 * 4096 // 608
    assert budget(replace(bare, name="nobody_knows"), Kernel()).objects_per_slab is None


def test_both_limits_of_a_budget_end_at_one_size() -> None:
    """A sixteenth more than 432 bytes would be 512 in whole lines, of which a slab holds fewer."""
    bare = struct("task_group", scalar("all", 432, dimensions=(54,)))
    found = budget(bare, Kernel())
    assert found.bytes is not None
    for size, fits in ((found.bytes, True), (found.bytes + 8, False)):
        cache = own_cache(replace(bare, size=size), Kernel())
        assert cache is not None
        assert (cache.geometry.objects == found.objects_per_slab) is fits


(LINE,) = grounds().lines
# Neither what code cannot name nor what hardly waits is a reason.
NAMELESS = ConflictPair("head", "0x28", "head", 90), ConflictPair("head", "tail", "tail", 1)


def doubted(doubt: str) -> Finding:
    return replace(LINE, objects=(replace(LINE.objects[0], doubt=doubt),))


@pytest.mark.parametrize(
    ("told", "weight", "more"),
    [
        (grounds(), ", with 200 contended loads", ""),
        (grounds(nominal=True), "", ""),  # shares alone give no number of accesses
        (
            grounds(PIPE, replace(LINE, triage=replace(LINE.triage, pairs=(*LINE.triage.pairs, *NAMELESS)))),
            ", with 200 contended loads",
            "",
        ),
        (grounds(PIPE, doubted("0x8 is odd")), ", with 200 contended loads", "; uncertain: 0x8 is odd"),
    ],
    ids=["plain", "of shares alone", "beside what is no reason", "in doubt"],
)
def test_the_reason_has_the_figures(told: Grounds, weight: str, more: str) -> None:
    assert told.entry().reason == (
        f"c2c.txt: 1 line holds a struct pipe{weight}; head is written beside ops (in 75% of its contention){more}; "
        "separated by: care"
    )


def test_doubts_of_several_lines_are_told_once() -> None:
    """Of a recording each object has a line of its own, and each its numbers."""
    said = grounds(PIPE, *(doubted(f"{number} of 9 fit it") for number in (7, 8, 7))).entry().reason
    assert "; uncertain: 7 of 9 fit it (and more of 2 other lines, as `linesmith hot` tells); separated" in said
    assert said.count("fit it") == 1


def test_a_hostile_name_of_a_profile_can_be_read_again() -> None:
    made = grounds(profile='a"\n[[type]]\x1b[2J\udc80\\').entry()
    (read,) = intent_in(written(made)).types
    assert replace(read, place="") == made


def test_members_in_doubt_are_no_part_of_what_is_wanted() -> None:
    """Perhaps another member of the profiled build stands there."""
    sure = grounds().entry()
    assert ("ops" in sure.read_mostly, bool(sure.isolations)) == (True, True)
    doubtful = tuple(replace(one, doubted=one.path == "ops") for one in LINE.members)
    given = grounds(PIPE, replace(LINE, members=doubtful)).entry()
    assert ("ops" in given.hot, given.read_mostly, given.isolations) == (False, (), ())
