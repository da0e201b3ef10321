# SPDX-License-Identifier: GPL-2.0-or-later
"""Writers that nobody blames: a profile names the first store of a worker, the others take its place when it leaves."""

from __future__ import annotations

from dataclasses import replace

from hand_made import finding, hot, offsets, scalar, struct, table

from linesmith.analyzer.geometry import line_of
from linesmith.analyzer.model import CACHE_LINE_BYTES, ConflictPair, Layout, LineMember, MemberFunction, Searching
from linesmith.tuner.space.proposals import Proposals, proposals


def record(*names: str) -> Layout:
    return struct("shared", *(scalar(one) for one in names), *(scalar(f"cold{n}") for n in range(12)), align=64)


def used_by(function: str, member: LineMember) -> LineMember:
    return replace(member, functions=(MemberFunction(function, member.reads, member.writes),))


def searched(layout: Layout, seen: list[LineMember], pairs: list[ConflictPair]) -> Proposals:
    return proposals([finding(layout, seen, pairs)], table(layout), Searching())


def counted(*, writer_of_newest: str = "count", stores: int = 1000) -> Proposals:
    """A reader of ``limit``; ``accepted`` and then ``newest`` are written, and ``accepted`` is blamed for all."""
    layout = record("limit", "accepted", "newest")
    at = offsets(layout)
    seen = [
        used_by("look", hot("limit", at["limit"], 8, 1000)),
        used_by("count", hot("accepted", at["accepted"], 8, 0, 1000)),
        used_by(writer_of_newest, hot("newest", at["newest"], 8, 0, stores)),
    ]
    return searched(layout, seen, [ConflictPair("limit", "accepted", "accepted", 1000)])


def best_alone(proposed: Proposals, gone: str, left: str = "newest") -> float:
    """What the best layout is predicted to cost with ``left`` on the line of ``limit`` and ``gone`` off it."""
    return min(proposed.estimate(point) for point in proposed.legality.options if _alone(proposed, point, gone, left))


def _alone(proposed: Proposals, point: tuple[int, ...], gone: str, left: str) -> bool:
    places = offsets(proposed.candidates(point)[0].after)
    lines = {name: line_of(offset, CACHE_LINE_BYTES) for name, offset in places.items()}
    return lines["limit"] == lines[left] != lines[gone]


def test_who_is_written_by_the_same_function_moves_along() -> None:
    names = [dimension.name for dimension in counted().space.dimensions]
    assert "place of accepted, newest" in names


def test_moving_the_blamed_writer_alone_gains_nothing() -> None:
    assert best_alone(counted(), "accepted") > 0.95


def test_moving_it_alone_helps_where_another_function_writes_the_rest() -> None:
    assert best_alone(counted(writer_of_newest="resize"), "accepted") < 0.3


def test_who_is_written_seldom_disturbs_seldom() -> None:
    assert best_alone(counted(stores=100), "accepted") < 0.3


def test_what_both_sides_read_goes_with_neither() -> None:
    layout = record("in", "out", "more_in", "more_out", "limit")
    at = offsets(layout)
    sides = {"in": "receive", "more_in": "receive", "out": "send", "more_out": "send"}
    seen = [used_by(function, hot(name, at[name], 8, 1000, 1000)) for name, function in sides.items()]
    limit = replace(
        hot("limit", at["limit"], 8, 2000),
        functions=(MemberFunction("receive", 1000, 0), MemberFunction("send", 1000, 0)),
    )
    pairs = [ConflictPair("in", "out", "out", 2000)]
    pairs += [ConflictPair("in", one, "in", 1000) for one in ("more_out", "limit")]
    pairs += [ConflictPair("out", one, "out", 1000) for one in ("more_in", "limit")]
    names = [dimension.name for dimension in searched(layout, [*seen, limit], pairs).space.dimensions]
    assert names[:3] == ["place of in, more_in", "place of out, more_out", "place of limit"]


def test_no_writer_stands_in_for_one_that_it_disturbs() -> None:
    layout = record("limit", "lock", "owner")
    at = offsets(layout)
    seen = [
        used_by("look", hot("limit", at["limit"], 8, 1000)),
        *(used_by("lock", hot(name, at[name], 8, 500, 1000)) for name in ("lock", "owner")),
    ]
    pairs = [ConflictPair("limit", "lock", "lock", 1000), ConflictPair("lock", "owner", "lock", 500)]
    assert best_alone(searched(layout, seen, pairs), "lock", "owner") < 0.5
