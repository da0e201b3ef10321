# SPDX-License-Identifier: GPL-2.0-or-later
"""Coherence steps: the protocol, the accesses that stand for a finding, and what a candidate makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hand_made import finding, hot, lock, meeting, scalar, struct, table

from linesmith.analyzer.geometry.placement import lay_out
from linesmith.analyzer.model import (
    Bounds,
    Candidate,
    CoherenceStep,
    ConflictPair,
    Finding,
    Layout,
    LineCost,
    LineState,
    MemberFunction,
    Move,
    MoveKind,
    Prediction,
    Residual,
    SharingCost,
    Side,
    StepTable,
)
from linesmith.tuner.steps.protocol import Event, States, access
from linesmith.tuner.steps.step_table import step_tables

M, E, S, I = LineState.MODIFIED, LineState.EXCLUSIVE, LineState.SHARED, LineState.INVALID  # noqa: E741 - MESI
TAKEN = "taken from"
POOL = struct("pool", scalar("name"), scalar("limit"), scalar("used"), scalar("spare", 64), scalar("id", 4))


@pytest.mark.parametrize(
    ("held", "writes", "event", "other", "then"),
    [
        ({}, False, Event.COLD, "", {"A": E}),
        ({}, True, Event.COLD, "", {"A": M}),
        ({"A": E}, False, Event.HIT, "", {"A": E}),
        ({"A": E}, True, Event.HIT, "", {"A": M}),
        ({"A": M}, True, Event.HIT, "", {"A": M}),
        ({"A": S, "B": S}, False, Event.HIT, "", {"A": S, "B": S}),
        ({"A": S, "B": S}, True, Event.UPGRADE, "B", {"A": M, "B": I}),
        ({"A": S, "B": I}, True, Event.HIT, "", {"A": M, "B": I}),
        ({"A": I, "B": M}, False, Event.MODIFIED, "B", {"A": S, "B": S}),
        ({"A": I, "B": M}, True, Event.TAKEN, "B", {"A": M, "B": I}),
        ({"B": E}, False, Event.SHARED, "B", {"A": S, "B": S}),
        ({"B": E}, True, Event.SHARED, "B", {"A": M, "B": I}),
    ],
)
def test_an_access_of_cpu_a(held: States, writes: bool, event: Event, other: str, then: States) -> None:
    effect = access(held, "A", writes)
    assert (effect.event, effect.other, dict(effect.states)) == (event, other, then)


def told(tables: Iterable[StepTable]) -> list[str]:
    """A line per step: what a CPU does, on which line with which states, what it waits; before, then after."""
    rows = []
    for table_ in tables:
        for now, then in zip(table_.before, table_.after, strict=True):
            verb = "writes" if now.writes else "reads"
            rows.append(f"{now.cpu} {verb} {now.member}: {_found(now)} -> {_found(then)}")
    return rows


def _found(step: CoherenceStep) -> str:
    return f"{step.line} {''.join(state for _, state in step.states)} {step.what}, {step.cycles}{'!' * step.needless}"


def last(layout: Layout, name: str, align: int | None = None) -> Candidate:
    """``name`` moved behind all other members, with an alignment where one is given."""
    order = sorted(layout.members, key=lambda member: member.name == name)
    order[-1] = replace(order[-1], alignment=align)
    parted = Residual("limit", name, 64, 1.0, 0.0)
    moves = (Move(MoveKind.MOVE, name, order[-2].name),)
    return Candidate(layout.name, layout, lay_out(layout, tuple(order)), moves, (parted,), Prediction(1, 0, 1, 2), 2)


def test_the_reader_of_a_neighbour_waits_before_and_hits_after() -> None:
    line = meeting(POOL, "used", "limit")
    (steps,) = step_tables(line, last(POOL, "used"), table(POOL))
    assert (steps.victim, steps.writer, steps.contended) == ("limit", "used", Bounds(100, 100))
    assert told([steps]) == [
        "A writes used: 0 MI invalidates B, 80! -> 1 MI hit, 0",
        "B reads limit: 0 SS modified on A, 120! -> 0 IE hit, 0",
    ]
    assert steps.cycles == (200, 0)
    assert steps.notes == (
        "Cycles of stores are assumed, and a store buffer may hide them; those of loads are assumed, too.",
    )


def with_cost(line: Finding, *sharings: tuple[str, str, float, float]) -> Finding:
    """The line with who waits for stores to what, how often and for how many cycles in all."""
    costs = tuple(
        SharingCost(Side(victim, 1, 0), Side(writer, 0, 1), Bounds(count, count), Bounds(cycles, cycles))
        for victim, writer, count, cycles in sharings
    )
    return replace(line, cost=LineCost(sharings=costs, timed=True))


def test_waiting_takes_as_long_as_the_profile_says() -> None:
    line = with_cost(meeting(POOL, "used", "limit"), ("limit", "used", 10, 4560))
    (steps,) = step_tables(line, last(POOL, "used"), table(POOL))
    assert [one.cycles for one in steps.before] == [80, 456]
    assert steps.notes[0].endswith("; those of loads are the profile's mean.")


def test_what_a_member_waits_for_its_own_stores_is_told_last_and_stays() -> None:
    line = with_cost(meeting(POOL, "used", "limit"), ("used", "used", 18, 2160), ("limit", "used", 10, 1200))
    parted, stays = step_tables(line, last(POOL, "used"), table(POOL))
    assert parted.cycles == (200, 0)
    assert told([stays]) == [
        f"A writes used: 0 MI {TAKEN} B, 120 -> 1 MI {TAKEN} B, 120",
        f"B writes used: 0 IM {TAKEN} A, 120 -> 1 IM {TAKEN} A, 120",
    ]


def test_who_spins_on_a_lock_reads_it_and_who_takes_it_writes_it() -> None:
    words, rwsem = lock("sem", 16)
    layout = struct("tree", scalar("root"), words, scalar("rest", 64))
    spins, takes = MemberFunction("rwsem_spin_on_owner", 90, 0), MemberFunction("down_write", 10, 0)
    owner = hot("sem.word1", 16, 8, 100, lock=True)
    owner = replace(owner, functions=(spins, takes), write_inferred="taking or releasing a lock writes it")
    seen = [replace(hot("root", 0, 8, 50), functions=(MemberFunction("find", 50, 0),)), owner]
    line = finding(layout, seen, [ConflictPair("root", "sem", "sem", 50)])
    layouts = table(layout, rwsem)
    steps = step_tables(line, last(layout, "sem"), layouts)
    assert [(step.function, step.member) for step in steps[0].before] == [("down_write", "sem.word1"), ("find", "root")]


def test_an_alignment_changes_the_phase() -> None:
    """The object starts 8 bytes into a line now; aligned to lines it starts with one."""
    line = meeting(POOL, "used", "limit", phase=8)
    (steps,) = step_tables(line, last(POOL, "used", align=64), table(POOL))
    assert (steps.phase, steps.phase_after) == (8, 0)


def test_without_anybody_who_waits_for_another_member_there_is_no_table() -> None:
    """Only ``used`` is written and read: whatever a candidate moves, this stays."""
    line = meeting(POOL, "used", "limit")
    alone = with_cost(line, ("used", "used", 10, 1200))
    assert step_tables(alone, last(POOL, "used"), table(POOL)) == ()


def test_a_profile_of_another_build_is_shown_in_a_phase_in_which_they_meet() -> None:
    """``limit`` at 8 and ``used`` at 16 are on two lines in phase 48, which is the profile's."""
    line = meeting(POOL, "used", "limit")
    moved = replace(line, objects=(replace(line.objects[0], phase=48),))
    (steps,) = step_tables(moved, last(POOL, "used"), table(POOL))
    assert steps.phase == 0
    assert "In the phase of the profile they would not meet: it is of another build." in steps.notes
