# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates replayed on a trace: what each costs in misses, and the order among those that change as much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    MoveKind,
    ObjectArea,
    SimulatedLines,
    SimulatedPair,
    Simulation,
)
from linesmith.tuner.plan import Plan, in_all_phases, plan_for, unchanged
from linesmith.tuner.replay import LINE_SIZES, Outcome, Replay, mean, open_trace
from linesmith.tuner.resampling import change_interval
from linesmith.tuner.scene import Scene, scene
from linesmith.tuner.suggestions import Suggestion

# Pairs of members that a simulation lists, those with the largest difference.
MOST_PAIRS = 5


class View(NamedTuple):
    """What is looked at: a line size, and whether objects are where they were or in each phase they may have."""

    line_bytes: int
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class _Stage:
    """A scene ready to replay: its number, and what it costs in the layout that was recorded."""

    number: int
    scene: Scene
    before: Mapping[View, Outcome]


def simulate(
    answers: Sequence[Suggestion], areas: Iterable[ObjectArea], layouts: Layouts, trace: Path
) -> dict[int, Simulation]:
    """One simulation per candidate by its number (from 1, through all answers), each answer's in the order to show.

    Among candidates of an answer that change equally much, fewest misses come first; useless ones come last. ``areas``
    are the profile's objects. Raises ``TraceError``; a candidate that cannot be simulated says why.
    """
    candidates = [candidate for answer in answers for candidate in answer.candidates]
    records = {candidate.before.id: candidate.before for candidate in candidates}
    known = tuple(areas)
    replay = open_trace(trace, tuple(scene(record, known, layouts) for record in records.values()))
    stages = {record: _staged(replay, number) for number, record in enumerate(records)}
    simulated: dict[int, Simulation] = {}
    for answer in answers:
        numbered = enumerate(answer.candidates, start=len(simulated) + 1)
        done = [(number, one, _simulation(replay, stages[one.before.id], one, layouts)) for number, one in numbered]
        done.sort(key=lambda row: (row[2].useless, *_effort(row[1]), _cost(row[2])))
        simulated |= {number: simulation for number, _, simulation in done}
    return simulated


def _effort(candidate: Candidate) -> tuple[bool, int]:
    """Growth, then how many members a reviewer sees move."""
    moved = sum(2 if move.kind is MoveKind.SWAP else 1 for move in candidate.moves)
    return candidate.after.size > candidate.before.size, moved


def _cost(simulation: Simulation) -> float:
    """Misses at the usual line size over all phases; a candidate that was not simulated comes last of its like."""
    found = [(one.phases, one.after.total) for one in simulation.lines if one.line_bytes == CACHE_LINE_BYTES]
    return max(found)[1] if found else float("inf")


def _staged(replay: Replay, number: int) -> _Stage:
    here = replay.scenes[number]
    if not here.kinds or not replay.accesses(number):
        return _Stage(number, here, {})
    return _Stage(number, here, outcomes(replay, number, unchanged(here)))


def outcomes(replay: Replay, number: int, plan: Plan) -> dict[View, Outcome]:
    """The scene with this number under ``plan``, with lines of 64 bytes as placed and in all phases, and of 128.

    Phases are looked at where objects of slabs have several, in the layout recorded.
    """
    here = replay.scenes[number]
    found = {View(size): replay.run(number, plan, size) for size in LINE_SIZES}
    if len(in_all_phases(unchanged(here), here)) > 1:
        runs = [replay.run(number, shifted) for shifted in in_all_phases(plan, here)]
        found[View(CACHE_LINE_BYTES, everywhere=True)] = mean(runs)
    return found


def _simulation(replay: Replay, stage: _Stage, candidate: Candidate, layouts: Layouts) -> Simulation:
    if reason := _missing(stage, candidate):
        return Simulation(refusal=reason)
    try:
        plan = plan_for(stage.scene, candidate, layouts)
    except NotSimulated as refusal:
        return Simulation(refusal=f"{refusal}.")
    return run(replay, stage.number, plan, stage.before, layouts)


def run(replay: Replay, number: int, plan: Plan, before: Mapping[View, Outcome], layouts: Layouts) -> Simulation:
    """The scene with this number under ``plan`` against ``before``, which ``outcomes`` gave."""
    begin = perf_counter()
    after = outcomes(replay, number, plan)
    spent = 1000 * (perf_counter() - begin)
    here = replay.scenes[number]
    lines = tuple(
        SimulatedLines(
            view.line_bytes,
            outcome.misses,
            after[view].misses,
            replay.traced[view.line_bytes].total - before[View(view.line_bytes)].misses.total + outcome.misses.total,
            change_interval(outcome.windows, after[view].windows),
            _pairs(here, outcome, after[view], layouts),
            len(in_all_phases(unchanged(here), here)) if view.everywhere else 1,
        )
        for view, outcome in sorted(before.items())
    )
    return Simulation(lines, here.objects, replay.accesses(number), round(spent, 3), _remarks(replay, here))


def _missing(stage: _Stage, candidate: Candidate) -> str:
    """Why there is nothing to replay, as a sentence; empty when there is something."""
    title = candidate.before.title if candidate.before.name else candidate.type
    if not stage.scene.kinds:
        return f"The profile knows no object that is or holds a {title}, so the trace cannot tell."
    if not stage.before:
        return f"The trace has no access to any of the {stage.scene.objects} objects that are or hold a {title}."
    return ""


def _pairs(here: Scene, before: Outcome, after: Outcome, layouts: Layouts) -> tuple[SimulatedPair, ...]:
    """The pairs of members whose misses differ most."""
    old, new = _by_member(here, before, layouts), _by_member(here, after, layouts)
    differ = sorted(old.keys() | new.keys(), key=lambda key: (-abs(old[key] - new[key]), key))
    return tuple(SimulatedPair(*key, old[key], new[key]) for key in differ[:MOST_PAIRS] if old[key] != new[key])


def _by_member(here: Scene, outcome: Outcome, layouts: Layouts) -> Counter[tuple[str, str, bool]]:
    counts: Counter[tuple[str, str, bool]] = Counter()
    for pair in outcome.pairs:
        victim = here.member(pair.victim_kind, pair.victim_offset, layouts)
        writer = here.member(pair.writer_kind, pair.writer_offset, layouts)
        counts[victim, writer, pair.true_sharing] += pair.local + pair.remote
    return counts


def _remarks(replay: Replay, here: Scene) -> tuple[str, ...]:
    """What makes the numbers doubtful, as sentences."""
    said = []
    if replay.counts.dropped:
        share = replay.counts.dropped / (replay.counts.dropped + replay.counts.kept)
        said.append(f"the trace was full before the end: the last {share:.1%} of its accesses are missing")
    if here.doubtful:
        said.append(f"taken as objects of one type, though other types may be among them: {', '.join(here.doubtful)}")
    if replay.untraced:
        said.append(f"{replay.untraced:,} accesses to lines beyond the first 25 million are not among all misses")
    return tuple(said)
