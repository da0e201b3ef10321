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
from linesmith.tuner.candidates import Proposal, proposal
from linesmith.tuner.churn import kept
from linesmith.tuner.cost.interest import interest
from linesmith.tuner.cost.turns import Turns
from linesmith.tuner.cost.uses import Agent, Part, Scope, Use, agents
from linesmith.tuner.premises import NO_PREMISES

APART = struct("apart", scalar("first"), scalar("cold", 56), scalar("second"))
SCOPE = Scope(APART, (0, 8, 64))
TOGETHER, PARTED = (0, 16, 8), (0, 8, 64)


def waits(starts: tuple[int, ...], *found: Agent) -> float:
    """Fetches in the phase in which the object begins with a line."""
    return Turns((Use(0, 0), Use(2, 0)), found).waits(starts, [0], 64)[0]


def test_what_turns_cost_together_and_apart() -> None:
    both = Part(0, stores=100), Part(1, stores=100)
    everybody, one_cpu = Agent("count", 8, both), Agent("renew", 1, both)
    assert waits(TOGETHER, everybody) == pytest.approx(87.5), "one fetch for what one turn writes"
    assert waits(PARTED, everybody) == pytest.approx(175), "two fetches"
    assert waits(TOGETHER, one_cpu) == 0, "a writer on one CPU does not disturb itself"
    reader, writer = Agent("find", 8, (Part(0, waits=100),)), Agent("renew", 1, (Part(1, stores=100),))
    assert waits(TOGETHER, reader, writer) > 80
    assert waits(PARTED, reader, writer) == 0, "a reader costs nothing on a line without stores"
    reads_both = Agent("find", 8, (Part(0, waits=60), Part(1, waits=40)))
    often = Agent("renew", 1, (Part(0, stores=1e9),))
    assert waits(TOGETHER, reads_both, often) == pytest.approx(100), "the first of several waits for all"


def by(function: str, member: LineMember, cpus: int = 8) -> LineMember:
    """The member as only this function was seen on it."""
    seen = member.functions[0]
    return replace(member, functions=(MemberFunction(function, seen.contended, seen.stores, cpus=cpus),))


def line(layout: Layout, *members: LineMember) -> Finding:
    return finding(layout, members, [ConflictPair("first", "second", "second", 100)])


def test_stores_are_put_on_the_scale_of_the_loads_that_miss() -> None:
    take, give = by("take", hot("first", 0, 8, 50, 5000)), by("give", hot("first", 0, 8, 0, 1000))
    _, found = agents([line(APART, take, by("find", hot("second", 8, 8, 20)), give)], SCOPE, None)
    assert {one.name: round(one.parts[0].stores) for one in found} == {"take": 50, "find": 0, "give": 10}


def touched(path: str, offset: int, counts: AccessCounts, *functions: str) -> MemberAccesses:
    """Each of the functions touches the member so."""
    return MemberAccesses(path, offset, 8, counts, tuple(FunctionCounts(name, counts) for name in functions))


def code(*members: MemberAccesses) -> TypeAccesses:
    return TypeAccesses(APART.id, AccessCounts(), 1, members)


READ, UPDATED = AccessCounts(reads=1), AccessCounts(reads=1, writes=1)


def test_what_the_code_of_a_sampled_function_reads_counts_half_of_its_turns() -> None:
    seen = line(APART, by("find", hot("first", 0, 8, 80)), by("renew", hot("first", 0, 8, 0, 90)))
    uses, found = agents([seen], SCOPE, code(touched("second", 64, READ, "find", "other")))
    finder = next(one for one in found if one.name == "find")
    assert [(uses[part.use], part.reads) for part in finder.parts if part.reads] == [(Use(2, 0), 40.0)]
    assert {one.name for one in found} == {"find", "renew"}


@pytest.mark.parametrize(("cpus", "stores"), [(8, []), (1, [45.0])])
def test_stores_of_the_code_that_everybody_would_wait_for_are_seldom_made(cpus: int, stores: list[float]) -> None:
    """Nobody was seen to wait for ``second``, which is on a line of its own: no layout is better for leaving it."""
    seen = line(APART, by("find", hot("first", 0, 8, 80)), by("renew", hot("first", 0, 8, 0, 90), cpus))
    _, found = agents([seen], SCOPE, code(touched("second", 64, UPDATED, "renew")))
    renew = next(one for one in found if one.name == "renew")
    assert [part.stores for part in renew.parts[1:]] == stores


def test_many_readers_in_the_code_are_taken_for_many_reads() -> None:
    many, few = touched("first", 0, READ, *map(str, range(32))), touched("second", 64, READ, *"abcdefgh")
    assert interest(SCOPE, code(many, few)) == (1.0, 0.0, 0.5)
    assert interest(SCOPE, None) == pytest.approx((1 / 3, 2 / 9, 1 / 9))


@pytest.mark.parametrize(
    ("order", "stay"), [((0, 1, 2), {0, 1, 2}), ((1, 2, 0), {1, 2}), ((2, 1, 0), {1}), ((0, 2, 1), {0, 1})]
)
def test_members_that_stay_are_as_many_as_can(order: tuple[int, ...], stay: set[int]) -> None:
    assert kept(order, (1, 3, 1)) == stay


COUNTERS = struct("counters", scalar("first"), scalar("second"), scalar("cold", 112))


def declined(*members: LineMember) -> Proposal:
    """What is proposed, and not recommended, for a line of counters."""
    made = proposal(line(COUNTERS, *members), table(COUNTERS), 5, (), NO_PREMISES)
    assert not any(one.recommended for one in made.candidates)
    return made


def test_members_that_all_cpus_write_in_one_turn_are_left_together() -> None:
    first, second = by("count", hot("first", 0, 8, 100, 100)), by("count", hot("second", 8, 8, 0, 100))
    made = declined(first, second, by("look", hot("second", 8, 8, 1)))
    assert made.declined.startswith("Nothing is recommended: ")


def test_what_could_be_chance_is_not_recommended() -> None:
    made = declined(hot("first", 0, 8, 6), hot("second", 8, 8, 0, 9))
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
