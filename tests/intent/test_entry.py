# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile says of a record, as an intent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, held, hot, meeting, scalar, struct, table

from linesmith.analyzer.intent import intent_in, written_type
from linesmith.analyzer.intent.entry import Grounds, budget, entry
from linesmith.analyzer.intent.parting import Parted, isolations, parted_between, parted_by
from linesmith.analyzer.intent.usage import usage
from linesmith.analyzer.model import ConflictPair, Isolation, Layout, SizeBudget
from linesmith.analyzer.slab import Kernel, own_cache
from linesmith.tuner.suggestions import suggestions

PIPE = struct("pipe", scalar("head"), scalar("tail"), scalar("ops"), scalar("name", 64, dimensions=(64,)))
LAYOUTS = table(PIPE)


def test_members_are_told_by_what_was_sampled_on_them() -> None:
    line = finding(PIPE, [hot("head", 0, 8, 950, 50), hot("tail", 8, 8, 3000, 10), hot("ops", 16, 8, 97, 3)])
    found = usage([line], PIPE, LAYOUTS)
    assert (found.hot, found.write_hot, found.read_mostly) == (("tail", "head", "ops"), ("head",), ("tail",))
    assert found.samples == 4110


def test_a_member_that_must_be_written_is_write_hot_though_no_store_was_sampled() -> None:
    line = finding(PIPE, [replace(hot("head", 0, 8, 100), write_inferred="lock"), hot("tail", 8, 8, 100)])
    assert usage([line], PIPE, LAYOUTS).write_hot == ("head",)


def test_what_has_less_than_a_hundredth_of_the_samples_is_not_hot() -> None:
    line = finding(PIPE, [hot("head", 0, 8, 1000), hot("tail", 8, 8, 9)])
    assert usage([line], PIPE, LAYOUTS).hot == ("head",)


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
    lock = struct("lock", held("count", count))
    row = struct("row", scalar("x"))
    rows = replace(held("rows", row), size=128, dimensions=(16,))
    big = struct("big", held("count", count), rows)
    outer = struct("outer", held("lock", lock), held("big", big), scalar("name", 16, dimensions=(16,)))
    size = outer.size
    line = finding(outer, [hot(path, 0, 4, 100)])
    found = usage([line], outer, table(count, lock, row, big, outer))
    assert (found.hot, size) == ((told,) if told else (), 160)


def test_the_recommended_candidate_says_what_stays_apart() -> None:
    line = meeting(PIPE, "head", "ops", samples=200)
    (answer,) = suggestions([line], LAYOUTS)
    parted = parted_by(answer.candidates[0], line.triage.pairs, 64)
    assert [(one.first, one.second) for one in parted] == [("head", "ops")]
    assert parted[0].after < 1


def test_of_two_builds_what_meets_less_is_parted() -> None:
    after = struct("pipe", scalar("head"), scalar("name", 64, dimensions=(64,)), scalar("tail"), scalar("ops"))
    pairs = (ConflictPair("tail", "head", "head", 5), ConflictPair("tail", "ops", "ops", 5))
    parted = parted_between((PIPE, LAYOUTS), (after, table(after)), pairs, 64)
    assert parted == (Parted("head", "tail", 64, 0.0),)


def test_isolations_are_told_for_each_written_member_and_share() -> None:
    parted = (
        Parted("head", "ops", 64, 0.0),
        Parted("head", "tail", 64, 0.0),
        Parted("head", "name", 64, 0.121),
        Parted("head", "ops", 128, 0.5),
        Parted("tail", "head", 64, 0.0),
        Parted("ops", "tail", 64, 1.0),
    )
    assert isolations(parted) == (
        Isolation(("head",), ("ops", "tail")),
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


def grounds(layout: Layout, profile: str) -> Grounds:
    line = replace(meeting(layout, "head", "ops", samples=150), contended=200)
    return Grounds(layout, LAYOUTS, (line,), profile, (Parted("head", "ops", 64, 0.0),), change="kept apart by: care")


def test_the_reason_has_the_figures() -> None:
    assert entry(grounds(PIPE, "c2c.txt")).reason == (
        "c2c.txt: 1 line holds a struct pipe, with 200 contended accesses; "
        "head is written beside ops (in 75% of its contention); kept apart by: care"
    )


def test_the_reason_keeps_the_doubt_whose_line_it_is() -> None:
    told = grounds(PIPE, "c2c.txt")
    (line,) = told.lines
    doubted = replace(line, objects=(replace(line.objects[0], doubt="what is touched at 0x8 hardly fits it"),))
    assert (
        "; in doubt: what is touched at 0x8 hardly fits it; kept apart" in entry(replace(told, lines=(doubted,))).reason
    )


def test_doubts_of_several_lines_are_told_once() -> None:
    """Of a recording each object has a line of its own, and each its numbers."""
    told = grounds(PIPE, "c2c.txt")
    (line,) = told.lines
    lines = [replace(line, objects=(replace(line.objects[0], doubt=f"{n} of 9 fit it"),)) for n in (7, 8, 7)]
    said = entry(replace(told, lines=lines)).reason
    assert "; in doubt: 7 of 9 fit it (and more of 2 other lines, as `linesmith hot` tells); kept apart" in said
    assert said.count("fit it") == 1


def test_what_code_cannot_name_and_what_hardly_waits_is_no_reason() -> None:
    line = meeting(PIPE, "head", "ops", samples=150)
    pairs = (ConflictPair("head", "0x28", "head", 90), ConflictPair("head", "tail", "tail", 1))
    found = replace(line, contended=200, triage=replace(line.triage, pairs=(*line.triage.pairs, *pairs)))
    assert entry(Grounds(PIPE, LAYOUTS, (found,), "c2c.txt")).reason == (
        "c2c.txt: 1 line holds a struct pipe, with 200 contended accesses; "
        "head is written beside ops (in 75% of its contention)"
    )


def test_shares_alone_give_no_number_of_accesses() -> None:
    reason = entry(replace(grounds(PIPE, "c2c.txt"), nominal=True)).reason
    assert reason.startswith("c2c.txt: 1 line holds a struct pipe; head is written beside ops (in 75% of")


def test_a_hostile_name_of_a_profile_can_be_read_again() -> None:
    made = entry(grounds(PIPE, 'a"\n[[type]]\x1b[2J\udc80\\'))
    (read,) = intent_in(written_type(made)).types
    assert replace(read, place="") == made


def test_members_that_code_cannot_name_are_not_isolated() -> None:
    parted = (Parted("head", "ops of line 7", 64, 0.0),)
    assert entry(replace(grounds(PIPE, "c2c.txt"), parted=parted)).isolations == ()


def test_members_in_doubt_are_no_part_of_what_is_wanted() -> None:
    """Perhaps another member of the profiled build stands there."""
    told = grounds(PIPE, "c2c.txt")
    assert ("ops" in entry(told).read_mostly, bool(entry(told).isolations)) == (True, True)
    (line,) = told.lines
    doubtful = tuple(replace(one, doubted=one.path == "ops") for one in line.members)
    given = entry(replace(told, lines=(replace(line, members=doubtful),)))
    assert ("ops" in given.hot, given.read_mostly, given.isolations) == (False, (), ())
