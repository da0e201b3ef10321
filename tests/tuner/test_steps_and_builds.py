# SPDX-License-Identifier: GPL-2.0-or-later
"""Coherence steps of a finding and what a candidate makes of them; and a change as two builds have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hand_made import bits, finding, held, hot, lock, meeting, offsets, scalar, struct, table

from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import (
    Bounds,
    Candidate,
    CoherenceStep,
    ConflictPair,
    Finding,
    Layout,
    LineCost,
    MemberFunction,
    Move,
    MoveKind,
    Residual,
    SharingCost,
    Side,
    StepTable,
)
from linesmith.tuner.propose.candidates import propose
from linesmith.tuner.propose.steps import step_tables
from linesmith.tuner.propose.subject import subject
from linesmith.tuner.propose.tradeoff import as_built

POOL = struct("pool", scalar("name"), scalar("limit"), scalar("used"), scalar("spare", 64), scalar("id", 4))
LINE = meeting(POOL, "used", "limit")


def last(layout: Layout, name: str, align: int | None = None) -> Candidate:
    """``name`` moved behind all other members, with an alignment where one is given."""
    order = sorted(layout.members, key=lambda member: member.name == name)
    order[-1] = replace(order[-1], alignment=align)
    parted = Residual("limit", name, 64, 1.0, 0.0)
    moves = (Move(MoveKind.MOVE, name, order[-2].name),)
    return Candidate(layout.name, layout, lay_out(layout, tuple(order)), moves, (parted,), 2)


def tables(line: Finding, align: int | None = None) -> tuple[StepTable, ...]:
    """What becomes of the line when ``used`` is the last member of the pool."""
    return tuple(step_tables(line, last(POOL, "used", align), table(POOL)))


def told(steps: StepTable) -> Iterator[str]:
    """A line per step: what a CPU does, on which line with which states, what it waits; before, then after."""
    for now, then in zip(steps.before, steps.after, strict=True):
        yield f"{now.cpu} {'writes' if now.writes else 'reads'} {now.member}: {_found(now)} -> {_found(then)}"


def _found(step: CoherenceStep) -> str:
    return f"{step.line} {''.join(state for _, state in step.states)} {step.what}, {step.cycles}{'!' * step.needless}"


def test_the_reader_of_a_neighbour_waits_before_and_hits_after() -> None:
    (steps,) = tables(LINE)
    assert (steps.victim, steps.writer, steps.contended) == ("limit", "used", Bounds(100, 100))
    assert list(told(steps)) == [
        "A writes used: 0 MI invalidates B, 80! -> 1 MI hit, 0",
        "B reads limit: 0 SS modified on A, 120! -> 0 IE hit, 0",
    ]
    assert steps.cycles == (200, 0)
    assumed = "Cycles of stores are assumed, and a store buffer may hide them; those of loads are assumed, too."
    assert steps.notes == (assumed,)


def with_cost(*sharings: tuple[str, str, float, float]) -> Finding:
    """The line with who waits for stores to what, how often and for how many cycles in all."""
    costs = tuple(
        SharingCost(Side(victim, 1, 0), Side(writer, 0, 1), Bounds(count, count), Bounds(cycles, cycles))
        for victim, writer, count, cycles in sharings
    )
    return replace(LINE, cost=LineCost(sharings=costs, timed=True))


def test_waiting_takes_as_long_as_the_profile_says() -> None:
    (steps,) = tables(with_cost(("limit", "used", 10, 4560)))
    assert [one.cycles for one in steps.before] == [80, 456]
    assert steps.notes[0].endswith("; those of loads are the profile's mean.")


def test_what_a_member_waits_for_its_own_stores_is_told_last_and_stays() -> None:
    parted, stays = tables(with_cost(("used", "used", 18, 2160), ("limit", "used", 10, 1200)))
    assert parted.cycles == (200, 0)
    assert list(told(stays)) == [
        "A writes used: 0 MI taken from B, 120 -> 1 MI taken from B, 120",
        "B writes used: 0 IM taken from A, 120 -> 1 IM taken from A, 120",
    ]
    assert tables(with_cost(("used", "used", 10, 1200))) == (), "without anybody else there is no table"


def test_who_spins_on_a_lock_reads_it_and_who_takes_it_writes_it() -> None:
    words, rwsem = lock("sem", 16)
    layout = struct("tree", scalar("root"), words, scalar("rest", 64))
    spins, takes = MemberFunction("rwsem_spin_on_owner", 90, 0), MemberFunction("down_write", 10, 0)
    owner = hot("sem.word1", 16, 8, 100, lock=True)
    owner = replace(owner, functions=(spins, takes), write_inferred="taking or releasing a lock writes it")
    seen = [replace(hot("root", 0, 8, 50), functions=(MemberFunction("find", 50, 0),)), owner]
    line = finding(layout, seen, [ConflictPair("root", "sem", "sem", 50)])
    first = step_tables(line, last(layout, "sem"), table(layout, rwsem))[0]
    assert [(step.function, step.member) for step in first.before] == [("down_write", "sem.word1"), ("find", "root")]


def test_the_phase_is_that_of_the_profile_and_of_the_alignment() -> None:
    """``limit`` at 8 and ``used`` at 16 are on two lines in phase 48."""
    (steps,) = tables(meeting(POOL, "used", "limit", phase=8), align=64)
    assert (steps.phase, steps.phase_after) == (8, 0), "aligned to lines it starts with one"
    # In the build of the profile they lay 16 bytes further on.
    elsewhere = tuple(replace(one, moved=16) for one in LINE.members)
    (other,) = tables(replace(LINE, objects=(replace(LINE.objects[0], start=-16),), members=elsewhere))
    assert other.phase == 0
    assert "In the phase of the profile they would not meet: it is of another build." in other.notes


SEEN = meeting(POOL, "limit", "used")


def compared(built: Layout, before: Layout = POOL, line: Finding = SEEN, *inner: Layout) -> Candidate:
    """What became of the record in a build of its own, in which its types have other numbers."""
    elsewhere, layouts = replace(built, id=built.id + 1000), table(before, *inner)
    found = as_built(subject(line, layouts), before, layouts, elsewhere, table(elsewhere, *inner))
    assert found is not None
    return found


def residuals(change: Candidate) -> list[tuple[int, float, float]]:
    return [(one.line_bytes, one.before, one.after) for one in change.residuals]


def test_candidates_that_were_built_say_what_they_said_before() -> None:
    promises = propose(SEEN, table(POOL))
    assert len(promises) > 1
    for promised in promises:
        found = compared(promised.after)
        assert (found.residuals, found.lines) == (promised.residuals, promised.lines)
        assert found.proofs in (promised.proofs, ())
        assert (offsets(found.after), found.after.size) == (offsets(promised.after), promised.after.size)


def test_what_a_build_changes_of_the_record() -> None:
    assert all(before == after for _, before, after in residuals(compared(POOL))), "nothing: nothing is parted"
    more = compared(lay_out(POOL, (scalar("new"), *POOL.members)))
    assert offsets(more.after)["limit"] == offsets(POOL)["limit"] + 8, "a member more is no hindrance"
    *others, spare, id_ = POOL.members
    found = compared(lay_out(POOL, (*others, replace(spare, alignment=64), id_)))
    assert (residuals(found)[0], found.steps) == ((64, 7 / 8, 1.0), (8, 64)), "objects begin elsewhere now"
    assert next(one for one in found.after.members if one.name == "spare").alignment == 64


def test_records_that_do_not_hold_the_same_members_are_not_compared() -> None:
    less = lay_out(POOL, tuple(one for one in POOL.members if one.name != "name"))
    assert as_built(subject(SEEN, table(POOL)), POOL, table(POOL), less, table(less)) is None


def test_members_of_an_anonymous_struct_that_lie_together_are_one() -> None:
    inner = struct("", scalar("limit"), scalar("low"))
    outer = struct("pool", held("", inner), scalar("used"), scalar("spare", 64))
    seen = [hot("limit", 0, 8, 100), hot("used", 16, 8, writes=100)]
    line = finding(outer, seen, [ConflictPair("limit", "used", "used", 100)])
    found = compared(lay_out(outer, outer.members[1:] + outer.members[:1]), outer, line, inner)
    assert [one.offset for one in found.after.members] == [0, 8, 72]
    assert residuals(found)[0] == (64, 6 / 8, 0)
    opened = struct("pool", scalar("limit"), scalar("used"), scalar("low"), scalar("spare", 64))
    layouts = table(outer, inner)
    assert as_built(subject(line, layouts), outer, layouts, opened, table(opened)) is None


def test_bit_fields_keep_their_bits() -> None:
    flags = struct("pool", scalar("limit"), bits("dead", 1), bits("idle", 3), scalar("used", 4), scalar("spare", 64))
    limit, *rest = flags.members
    found = compared(lay_out(flags, (*rest, limit)), flags, meeting(flags, "limit", "used"))
    assert [(one.name, one.bit_offset) for one in found.after.members if one.is_bit_field] == [("dead", 0), ("idle", 1)]
