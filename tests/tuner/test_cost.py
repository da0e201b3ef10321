# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost: where members meet over the phases, and what functions fetch in turn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, held, hot, lock, meeting, scalar, struct, table

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.gaps import ObjectStarts
from linesmith.analyzer.model import (
    AccessCounts,
    ConflictPair,
    Finding,
    FunctionCounts,
    Layout,
    LineMember,
    MemberAccesses,
    MemberFunction,
    PlacePhases,
    TypeAccesses,
)
from linesmith.tuner.constraints.facts import NO_PREMISES
from linesmith.tuner.cost.heat import interest
from linesmith.tuner.cost.meetings import cost, hot_lines, hot_neighbours
from linesmith.tuner.cost.phases import phase_mix
from linesmith.tuner.cost.turns import LineFetches, turns_of
from linesmith.tuner.cost.uses import MovableRecord
from linesmith.tuner.propose.candidates import Suggestion, proposal
from linesmith.tuner.propose.subject import ContendedRecord, subject


def members(**sizes: int) -> Layout:
    return struct("s", *(scalar(name, size) for name, size in sizes.items()))


def target(layout: Layout, line: Finding | None = None, *others: Finding) -> ContendedRecord:
    """The record of a line on which its reader meets its writer."""
    return subject(line or meeting(layout, "writer", "reader"), table(layout), others)


def apart(gap: int, phase: int = 0) -> ContendedRecord:
    """A reader at 0 and a written member behind it, with ``gap`` bytes between them."""
    layout = members(reader=8, between=gap, writer=8) if gap else members(reader=8, writer=8)
    return target(layout, meeting(layout, "writer", "reader", phase=phase))


@pytest.mark.parametrize(("gap", "share"), [(0, 7 / 8), (8, 6 / 8), (32, 3 / 8), (48, 1 / 8), (56, 0), (64, 0)])
def test_two_members_meet_in_fewer_phases_the_farther_they_are_apart(gap: int, share: float) -> None:
    found = apart(gap)
    assert cost(found.heat, found.starts, granule=8).anywhere == 100 * share


def test_the_phases_that_count() -> None:
    found = apart(32)
    assert cost(found.heat, found.starts, granule=32).anywhere == 50, "a coarser granule leaves fewer phases"
    assert cost(found.heat, found.starts, granule=8).here == 100, "in the phase of the profile they meet"
    assert cost(replace(found.heat, seen=((24, 1.0),)), found.starts, granule=8).here == 0
    assert cost(apart(0).heat, [0, 4], granule=8).anywhere == 100, "spots that share a byte always meet"
    assert apart(48, phase=16).heat.phase is None, "a phase in which the pair does not meet is not believed"


def test_lines_of_hot_members_are_counted_in_the_phase_given() -> None:
    found = apart(48)
    one_phase = [phase_mix([PlacePhases("", 64, ((phase, 1.0),))]) for phase in (0, 8)]
    assert [hot_lines(found.heat, found.starts, mix) for mix in one_phase] == [1, 2]
    assert hot_lines(found.heat, found.starts, found.heat.mix(8)) == 15 / 8


def test_what_is_hot_and_by_how_much() -> None:
    three = members(a=8, b=8, c=8)
    seen = [hot("a", 0, 8, reads=60, writes=5), hot("b", 8, 8, reads=40, writes=5), hot("c", 16, 8, writes=5)]
    pairs = [ConflictPair("a", "b", "a", 100), ConflictPair("a", "c", "c", 60), ConflictPair("b", "c", "c", 40)]
    weights = [contact.weight for contact in target(three, finding(three, seen, pairs)).heat.sampled]
    assert weights == [50, 30, 20], "they stay within the contended samples"
    layout = members(table=512, writer=8)
    seen = [hot("table[0]", 0, 8, reads=9), hot("writer", 512, 8, writes=9)]
    found = target(layout, finding(layout, seen, [ConflictPair("table", "writer", "writer", 9)]))
    assert [(spot.name, spot.start, spot.size) for spot in found.heat.spots] == [("table", 0, 8), ("writer", 0, 8)]
    layout = members(reader=8, writer=8, tail=48)
    line = meeting(layout, "writer", "reader")
    foreign = replace(hot("tail", 16, 48, reads=9), offset=48)
    found = target(layout, replace(line, members=(*line.members, foreign)))
    assert {spot.name for spot in found.heat.spots} == {"reader", "writer"}


def test_members_hot_on_another_line_are_possible_contacts() -> None:
    layout = members(reader=8, writer=8, cold=120, other=8)
    found = target(layout, None, finding(layout, [hot("other", 136, 8, reads=7)]))
    possible = [contact for contact in found.heat.contacts if not contact.sampled]
    assert [(one.first.name, one.second.name, one.writer) for one in possible] == [("writer", "other", "writer")]
    assert hot_neighbours(found.heat, found.starts, ObjectStarts(8)) == 1


def test_damaged_debug_information_in_which_a_struct_holds_itself_is_refused() -> None:
    inner = struct("", scalar("x"), scalar("y"))
    endless = replace(inner, members=(*inner.members, replace(held("", inner), offset=16)))
    layout = struct("s", held("", endless), scalar("rest"))
    seen = [hot("x", 0, 8, reads=9), hot("y", 8, 8, writes=9)]
    with pytest.raises(NothingToSuggest, match="its size is 16 bytes where C's rules give 32"):
        subject(finding(layout, seen, [ConflictPair("x", "y", "y", 9)]), table(layout, endless))


APART = struct("apart", scalar("first"), scalar("cold", 56), scalar("second"))
SCOPE = MovableRecord(APART, (0, 8, 64))


def by(function: str, member: LineMember, cpus: int = 8) -> LineMember:
    """The member as only this function was seen on it."""
    seen = member.functions[0]
    return replace(member, functions=(MemberFunction(function, seen.contended, seen.stores, cpus=cpus),))


def line(layout: Layout, *members: LineMember) -> Finding:
    return finding(layout, members, [ConflictPair("first", "second", "second", 100)])


def turns(seen: Finding, code: TypeAccesses | None = None) -> LineFetches:
    """Who uses the record, and where."""
    found = turns_of([seen], SCOPE, subject(seen, table(APART)).heat, code)
    assert found is not None
    return found


def test_stores_are_put_on_the_scale_of_the_loads_that_miss() -> None:
    take, give = by("take", hot("first", 0, 8, 50, 5000)), by("give", hot("first", 0, 8, 0, 1000))
    found = turns(line(APART, take, by("find", hot("second", 8, 8, 20)), give))
    assert {one.name: round(one.parts[0].stores) for one in found.agents} == {"take": 50, "find": 0, "give": 10}


def touched(path: str, offset: int, counts: AccessCounts, *functions: str) -> MemberAccesses:
    """Each of the functions touches the member so."""
    return MemberAccesses(path, offset, 8, counts, tuple(FunctionCounts(name, counts) for name in functions))


def code(*members: MemberAccesses) -> TypeAccesses:
    return TypeAccesses(APART.id, AccessCounts(), 1, members)


READ, UPDATED = AccessCounts(reads=1), AccessCounts(reads=1, writes=1)


def test_what_the_code_of_a_sampled_function_reads_counts_half_of_its_turns() -> None:
    seen = line(APART, by("find", hot("first", 0, 8, 80)), by("renew", hot("first", 0, 8, 0, 90)))
    found = turns(seen, code(touched("second", 64, READ, "find", "other")))
    finder = next(one for one in found.agents if one.name == "find")
    reads = [(found.uses[part.use].position, part.reads) for part in finder.parts if part.reads]
    assert (reads, {one.name for one in found.agents}) == ([(2, 40.0)], {"find", "renew"})


@pytest.mark.parametrize(("cpus", "stores"), [(8, []), (1, [45.0])])
def test_stores_of_the_code_that_everybody_would_wait_for_are_seldom_made(cpus: int, stores: list[float]) -> None:
    """Nobody was seen to wait for ``second``, which is on a line of its own: no layout is better for leaving it."""
    seen = line(APART, by("find", hot("first", 0, 8, 80)), by("renew", hot("first", 0, 8, 0, 90), cpus))
    found = turns(seen, code(touched("second", 64, UPDATED, "renew")))
    renew = next(one for one in found.agents if one.name == "renew")
    assert [part.stores for part in renew.parts[1:]] == stores


def test_many_readers_in_the_code_are_taken_for_many_reads() -> None:
    many, few = touched("first", 0, READ, *map(str, range(32))), touched("second", 64, READ, *"abcdefgh")
    assert interest(SCOPE, code(many, few)) == (1.0, 0.0, 0.5)
    assert interest(SCOPE, None) == pytest.approx((1 / 3, 2 / 9, 1 / 9))


COUNTERS = struct("counters", scalar("first"), scalar("second"), scalar("cold", 112))


def declined(*members: LineMember) -> Suggestion:
    """What is proposed, and not recommended, for a line of counters."""
    made = proposal(line(COUNTERS, *members), table(COUNTERS), 5, (), NO_PREMISES)
    assert not any(one.recommended for one in made.candidates)
    return made


def test_what_all_cpus_write_in_one_turn_and_what_could_be_chance_is_not_recommended() -> None:
    first, second = by("count", hot("first", 0, 8, 100, 100)), by("count", hot("second", 8, 8, 0, 100))
    made = declined(first, second, by("look", hot("second", 8, 8, 1)))
    assert made.declined.startswith("Nothing is recommended: ")
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
