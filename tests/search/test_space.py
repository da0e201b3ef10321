# SPDX-License-Identifier: GPL-2.0-or-later
"""The space of a record: what its dimensions hold, what its points give, and what is refused with which reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import bits, finding, flexible, held, hot, lock, meeting, offsets, scalar, struct, table

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry import line_of
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    ConflictPair,
    Finding,
    Layout,
    LineObject,
    MoveKind,
    Outcome,
    Point,
    Searching,
)
from linesmith.tuner.candidates import propose
from linesmith.tuner.space.narrowing import MOST_POINTS
from linesmith.tuner.space.proposals import Proposals, proposals


def table_of_routes() -> Layout:
    """Lookups read table and mask, writers take the lock and leave their name in holder."""
    return struct(
        "routes",
        scalar("table"),
        scalar("mask"),
        scalar("lock", 4),
        scalar("holder", 4),
        *(scalar(f"cold{number}") for number in range(9)),
        align=64,
    )


def contended_routes(layout: Layout) -> Finding:
    seen = [hot(name, offsets(layout)[name], 8, 1000) for name in ("table", "mask")]
    seen += [hot(name, offsets(layout)[name], 4, 0, 1000) for name in ("lock", "holder")]
    pairs = [ConflictPair(read, written, written, 500) for read in ("table", "mask") for written in ("lock", "holder")]
    return finding(layout, seen, pairs)


def searched(layout: Layout, *findings: Finding, growth: int = 0, type_: str = "") -> Proposals:
    return proposals(findings, table(layout), Searching(type=type_, growth=growth))


def routes(growth: int = 0) -> Proposals:
    layout = table_of_routes()
    return searched(layout, contended_routes(layout), growth=growth)


def legal(proposed: Proposals) -> list[Point]:
    return list(proposed.legality.options)


def choices(proposed: Proposals, name: str) -> tuple[str, ...]:
    return next(one.choices for one in proposed.space.dimensions if one.name == name)


def test_members_that_do_not_disturb_each_other_are_moved_together() -> None:
    names = [dimension.name for dimension in routes().space.dimensions]
    assert names[:2] == ["place of lock, holder", "place of table, mask"]


def test_the_first_choice_is_always_what_is_now() -> None:
    assert all(dimension.choices[0] == "as it is" for dimension in routes(64).space.dimensions)


def test_the_best_estimate_parts_all_who_disturb_each_other() -> None:
    proposed = routes()
    best = min(legal(proposed), key=proposed.estimate)
    (candidate,) = proposed.candidates(best)
    lines = {name: line_of(offset, CACHE_LINE_BYTES) for name, offset in offsets(candidate.after).items()}
    assert lines["table"] == lines["mask"] != lines["lock"] == lines["holder"]
    assert proposed.estimate(best) < 0.2


def test_the_candidates_of_suggest_are_the_priors() -> None:
    layout = struct("s", scalar("lock"), scalar("read"), *(scalar(f"cold{number}") for number in range(14)), align=64)
    line = meeting(layout, "lock", "read")
    proposed = searched(layout, line)
    suggested = [
        one
        for one in propose(line, table(layout))
        if one.moves[0].kind is not MoveKind.SWAP and one.after.size <= layout.size
    ]
    priors = [proposed.candidates(prior)[0] for prior in proposed.space.priors]
    assert [one.after for one in priors] == [one.after for one in suggested]
    assert priors


def test_no_layout_belongs_to_two_points() -> None:
    proposed = routes(64)
    keys = [proposed.key(point) for point in legal(proposed)]
    assert len(set(keys)) == len(keys)


def test_a_point_that_repeats_another_says_which() -> None:
    proposed = routes(64)
    reasons = [reason for point, reason in proposed.legality.refused.items() if any(point)]
    assert any(reason.startswith("the layout is the same as with place of ") for reason in reasons)


def test_the_layout_as_it_is_is_refused() -> None:
    proposed = routes()
    with pytest.raises(NothingToSuggest, match="the layout stays as it is"):
        proposed.candidates(proposed.space.start)


@pytest.mark.parametrize("growth", [0, 64, 128])
def test_no_point_is_larger_than_allowed(growth: int) -> None:
    proposed = routes(growth)
    sizes = [candidate.after.size for point in legal(proposed) for candidate in proposed.candidates(point)]
    assert max(sizes) <= table_of_routes().size + growth


def test_a_point_beyond_the_budget_tells_both_sizes() -> None:
    layout = struct("s", scalar("lock"), scalar("read"), *(scalar(f"cold{number}") for number in range(14)), align=64)
    proposed = searched(layout, meeting(layout, "lock", "read"), growth=64)
    assert "struct s would grow from 128 to 256 bytes, but may grow by 64 bytes" in proposed.legality.refused.values()


def test_no_point_breaks_a_rule_of_the_record() -> None:
    layout = table_of_routes()
    around = struct("packed", scalar("tag", 1), held("routes", layout))
    packed = replace(around, members=(around.members[0], replace(around.members[1], offset=1)), size=1 + layout.size)
    by_itself = proposals([contended_routes(layout)], table(layout), Searching(growth=64))
    inside = proposals([contended_routes(layout)], table(layout, packed), Searching(growth=64))
    assert {candidate.after.size for one in legal(by_itself) for candidate in by_itself.candidates(one)} == {128, 192}
    assert {candidate.after.size for one in legal(inside) for candidate in inside.candidates(one)} == {128}


def test_alone_on_its_line_means_that_the_next_member_is_aligned_too() -> None:
    layout = struct("s", scalar("read"), scalar("lock"), *(scalar(f"cold{number}") for number in range(6)), align=64)
    proposed = searched(layout, meeting(layout, "lock", "read"), growth=128)
    place = next(at for at, one in enumerate(proposed.space.dimensions) if one.name == "alignment of lock")
    choice = choices(proposed, "alignment of lock").index("64 bytes, alone there")
    point = tuple(choice if at == place else 0 for at in range(len(proposed.space.dimensions)))
    assert proposed.describe(point) == ("align lock to 64 bytes", "align cold0 to 64 bytes")
    (candidate,) = proposed.candidates(point)
    assert (offsets(candidate.after)["lock"], offsets(candidate.after)["cold0"]) == (64, 128)


def test_a_member_on_two_lines_is_put_on_one_although_suggest_knows_no_pair() -> None:
    message = struct("message", *(scalar(name) for name in ("turn", "kind", "amount", "sum")))
    cold = [scalar(f"cold{number}") for number in range(6)]
    layout = struct("mailbox", *cold, held("message", message), *(scalar(f"more{number}") for number in range(3)))
    aligned = replace(layout, alignment=64, size=128)
    lines = [
        finding(aligned, [hot("message.turn", 48, 8, 900, 900), hot("message.kind", 56, 8, 900, 900)], rank=1),
        finding(aligned, [hot("message.amount", 64, 8, 900, 900), hot("message.sum", 72, 8, 900, 900)], rank=2),
    ]
    proposed = proposals(lines, table(aligned, message), Searching())
    assert "32 bytes" in choices(proposed, "alignment of message")
    best = min(legal(proposed), key=proposed.estimate)
    (candidate,) = proposed.candidates(best)
    start = offsets(candidate.after)["message"]
    assert line_of(start, CACHE_LINE_BYTES) == line_of(start + 31, CACHE_LINE_BYTES)


def test_neighbours_in_an_array_are_parted() -> None:
    layout = struct("tally", scalar("done"), *(scalar(f"cold{number}") for number in range(10)), scalar("bytes"))
    seen = [hot("bytes", 88, 8, 500, 500), hot("done", 0, 8, 500, 500)]
    line = finding(layout, seen[:1], [ConflictPair("bytes", "done", "bytes", 500)])
    first = replace(line.objects[0], start=-64, phase=0)
    following = replace(line.objects[0], start=32, phase=32)
    members = (replace(seen[0], offset=24), replace(seen[1], offset=32))
    line = replace(line, objects=(first, following), members=members, contended=500)
    proposed = searched(layout, line, growth=32)
    (candidate,) = proposed.candidates(min(legal(proposed), key=proposed.estimate))
    places, size = offsets(candidate.after), candidate.after.size
    for element in range(4):
        end = element * size + places["bytes"]
        assert line_of(end, CACHE_LINE_BYTES) != line_of((element + 1) * size + places["done"], CACHE_LINE_BYTES)


def test_what_is_searched_is_the_type_asked_for() -> None:
    hotter, colder = (
        struct(name, scalar("lock"), scalar("read"), *(scalar(f"cold{number}") for number in range(14)), align=64)
        for name in ("hotter", "colder")
    )
    lines = [meeting(hotter, "lock", "read"), meeting(colder, "lock", "read")]
    layouts = table(hotter, colder)
    assert proposals(lines, layouts, Searching()).record.subject.type == "hotter"
    assert proposals(lines, layouts, Searching(type="struct colder")).record.subject.type == "colder"


def test_a_type_that_no_line_holds_is_told() -> None:
    layout = table_of_routes()
    with pytest.raises(NothingToSuggest, match="no line of the profile holds inode; see `linesmith hot`"):
        searched(layout, contended_routes(layout), type_="inode")


def test_a_line_of_an_unknown_object_gives_way_to_the_next() -> None:
    layout = table_of_routes()
    unknown = replace(contended_routes(layout), objects=(LineObject("", None, 0, 0, 0.0, Outcome.NO_TYPE),))
    assert searched(layout, unknown, contended_routes(layout)).record.subject.type == "routes"


def test_a_lock_by_itself_is_refused_with_what_to_do_instead() -> None:
    _, semaphore = lock("sem", 40)
    seen = [hot("word1", 8, 8, 900, 900)]
    with pytest.raises(NothingToSuggest, match="rw_semaphore, a lock itself"):
        proposals([finding(semaphore, seen)], table(semaphore), Searching())


def test_where_nothing_may_move_more_growth_is_the_advice() -> None:
    layout = struct("pair", scalar("one"))
    with pytest.raises(NothingToSuggest, match="allow more bytes with growth in \\[search\\]"):
        searched(layout, finding(layout, [hot("one", 0, 8, 10, 10)]))


def test_constraints_are_kept() -> None:
    layout = struct(
        "packet", scalar("lock"), scalar("read"), bits("a", 3), bits("b", 5), *(scalar(f"c{n}") for n in range(8)),
        flexible("data"),
    )  # fmt: skip
    proposed = searched(layout, meeting(layout, "lock", "read"))
    points = legal(proposed)
    assert len(points) > 1
    for point in points:
        (candidate,) = proposed.candidates(point)
        names = [member.name for member in candidate.after.members]
        assert names[-1] == "data"
        assert names.index("b") == names.index("a") + 1


def test_a_record_with_hundreds_of_members_has_no_more_points_than_can_be_looked_at() -> None:
    layout = struct("giant", *(scalar(f"m{number}") for number in range(300)), align=64)
    by_name = offsets(layout)
    seen = [hot(f"m{number}", by_name[f"m{number}"], 8, 100, 100) for number in range(8)]
    pairs = [ConflictPair(f"m{number}", f"m{number + 1}", f"m{number}", 100) for number in range(7)]
    proposed = searched(layout, finding(layout, seen, pairs), growth=512)
    assert 20 < proposed.space.size <= MOST_POINTS


def test_an_unknown_point_is_refused() -> None:
    with pytest.raises(NothingToSuggest, match="there is no such point"):
        routes().estimate((9, 9, 9, 9))
