# SPDX-License-Identifier: GPL-2.0-or-later
"""What functions fetch in turn: members that one turn uses cost less together, and readers nothing without stores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, hot, lock, scalar, struct, table

from linesmith.analyzer.model import (
    AccessCounts,
    ConflictPair,
    Finding,
    FunctionCounts,
    Layout,
    LineMember,
    MemberAccesses,
    MemberFunction,
    TypeAccesses,
)
from linesmith.tuner.candidates import proposal
from linesmith.tuner.churn import kept
from linesmith.tuner.cost.interest import interest
from linesmith.tuner.cost.turns import Turns
from linesmith.tuner.cost.uses import Agent, Part, Scope, Use, agents
from linesmith.tuner.premises import NO_PREMISES

APART = struct("apart", scalar("first"), scalar("cold", 56), scalar("second"))
TOGETHER = (0, 16, 8)
PARTED = (0, 8, 64)


def waits(*found: Agent, starts: tuple[int, ...]) -> float:
    """Fetches in the phase in which the object begins with a line."""
    return Turns((Use(0, 0), Use(2, 0)), found).waits(starts, [0], 64)[0]


def test_what_one_turn_writes_costs_one_fetch_together_and_two_apart() -> None:
    both = Agent("count", 8, (Part(0, stores=100), Part(1, stores=100)))
    assert waits(both, starts=TOGETHER) == pytest.approx(87.5)
    assert waits(both, starts=PARTED) == pytest.approx(175)


def test_a_reader_costs_nothing_on_a_line_without_stores() -> None:
    reader, writer = Agent("find", 8, (Part(0, waits=100),)), Agent("renew", 1, (Part(1, stores=100),))
    assert waits(reader, writer, starts=TOGETHER) > 80
    assert waits(reader, writer, starts=PARTED) == 0


def test_a_writer_on_one_cpu_does_not_disturb_itself() -> None:
    assert waits(Agent("renew", 1, (Part(0, stores=100), Part(1, stores=100))), starts=TOGETHER) == 0


def test_of_several_members_on_a_line_the_first_waits_for_all() -> None:
    reader = Agent("find", 8, (Part(0, waits=60), Part(1, waits=40)))
    writer = Agent("renew", 1, (Part(0, stores=1e9),))
    assert waits(reader, writer, starts=TOGETHER) == pytest.approx(100)


def by(function: str, member: LineMember, cpus: int = 8) -> LineMember:
    """The member as only this function was seen on it."""
    seen = member.functions[0]
    return replace(member, functions=(MemberFunction(function, seen.contended, seen.stores, cpus=cpus),))


def line(layout: Layout, *members: LineMember) -> Finding:
    return finding(layout, members, [ConflictPair("first", "second", "second", 100)])


def test_stores_are_put_on_the_scale_of_the_loads_that_miss() -> None:
    seen = line(
        APART,
        by("take", hot("first", 0, 8, 50, 5000)),
        by("find", hot("second", 8, 8, 20)),
        by("give", hot("first", 0, 8, 0, 1000)),
    )
    _, found = agents([seen], Scope(APART, (0, 8, 64)), None)
    assert {one.name: round(one.parts[0].stores) for one in found} == {"take": 50, "find": 0, "give": 10}


def code(*members: MemberAccesses) -> TypeAccesses:
    return TypeAccesses(APART.id, AccessCounts(), 1, members)


def read(path: str, offset: int, *functions: str) -> MemberAccesses:
    counts = tuple(FunctionCounts(name, AccessCounts(reads=1)) for name in functions)
    return MemberAccesses(path, offset, 8, AccessCounts(reads=len(functions)), counts)


def test_what_the_code_of_a_sampled_function_reads_counts_half_of_its_turns() -> None:
    seen = line(APART, by("find", hot("first", 0, 8, 80)), by("renew", hot("first", 0, 8, 0, 90)))
    known = code(read("second", 64, "find", "other"))
    uses, found = agents([seen], Scope(APART, (0, 8, 64)), known)
    finder = next(one for one in found if one.name == "find")
    assert [(uses[part.use], part.reads) for part in finder.parts if part.reads] == [(Use(2, 0), 40.0)]
    assert {one.name for one in found} == {"find", "renew"}


def updated(path: str, offset: int, *functions: str) -> MemberAccesses:
    counts = tuple(FunctionCounts(name, AccessCounts(reads=1, writes=1)) for name in functions)
    return MemberAccesses(path, offset, 8, AccessCounts(reads=1, writes=1), counts)


@pytest.mark.parametrize(("cpus", "stores"), [(8, []), (1, [45.0])])
def test_stores_of_the_code_that_everybody_would_wait_for_are_seldom_made(cpus: int, stores: list[float]) -> None:
    """Nobody was seen to wait for ``second``, which is on a line of its own: no layout is better for leaving it."""
    seen = line(APART, by("find", hot("first", 0, 8, 80)), by("renew", hot("first", 0, 8, 0, 90), cpus))
    _, found = agents([seen], Scope(APART, (0, 8, 64)), code(updated("second", 64, "renew")))
    renew = next(one for one in found if one.name == "renew")
    assert [part.stores for part in renew.parts[1:]] == stores


def test_many_readers_in_the_code_are_taken_for_many_reads() -> None:
    scope = Scope(APART, (0, 8, 64))
    known = code(read("first", 0, *map(str, range(32))), read("second", 64, *"abcdefgh"))
    assert interest(scope, known) == (1.0, 0.0, 0.5)
    assert interest(scope, None) == pytest.approx((1 / 3, 2 / 9, 1 / 9))


@pytest.mark.parametrize(
    ("order", "stay"), [((0, 1, 2), {0, 1, 2}), ((1, 2, 0), {1, 2}), ((2, 1, 0), {1}), ((0, 2, 1), {0, 1})]
)
def test_members_that_stay_are_as_many_as_can(order: tuple[int, ...], stay: set[int]) -> None:
    assert kept(order, (1, 3, 1)) == stay


def counters() -> Layout:
    return struct("counters", scalar("first"), scalar("second"), scalar("cold", 112))


def test_members_that_all_cpus_write_in_one_turn_are_left_together() -> None:
    layout = counters()
    seen = line(
        layout,
        by("count", hot("first", 0, 8, 100, 100)),
        by("count", hot("second", 8, 8, 0, 100)),
        by("look", hot("second", 8, 8, 1)),
    )
    made = proposal(seen, table(layout), 5, (), NO_PREMISES)
    assert not any(one.recommended for one in made.candidates)
    assert made.declined.startswith("Nothing is recommended: ")


def test_what_could_be_chance_is_not_recommended() -> None:
    layout = counters()
    few = finding(
        layout, [hot("first", 0, 8, 6), hot("second", 8, 8, 0, 9)], [ConflictPair("first", "second", "second", 6)]
    )
    made = proposal(few, table(layout), 5, (), NO_PREMISES)
    assert made.candidates
    assert made.declined.endswith("would be chance.")


def test_what_helps_only_where_the_objects_of_the_profile_begin_is_not_recommended() -> None:
    """A lock that fills the line with what it disturbs: at byte 24 of a line the other end is on the next one."""
    rwlock, record = lock("lock", 56, "rwlock")
    maps = struct("maps", scalar("entries"), rwlock)
    readers = by("take", hot("lock.readers", 8, 4, writes=50_000, lock=True))
    seen = [by("find", hot("entries", 0, 8, reads=5_000)), readers]
    found = finding(maps, seen, [ConflictPair("entries", "lock", "lock", 5_000)], phase=24)
    given = proposal(found, table(maps, record), 5, (), NO_PREMISES)
    beside = next(one for one in given.candidates if one.after.size == 64)
    assert beside.saving.tells
    assert [(one.before, one.after) for one in beside.residuals if one.line_bytes == 64] == [(7 / 8, 7 / 8)]
    assert not beside.recommended
