# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates replayed on a trace: what each costs in misses, the order among them, and which one is recommended.

Counted misses replace the estimate. What a recording says of a layout is measured alike: misses for each operation, of
everything and of the record in question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from linesmith.analyzer.attribution.by_object import lines_apart
from linesmith.analyzer.attribution.variables import ObjectMap
from linesmith.analyzer.attribution.votes import record_of
from linesmith.analyzer.base.errors import NotSimulated
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Better,
    CacheLine,
    Candidate,
    Finding,
    Latencies,
    Metric,
    Misses,
    MoveKind,
    ObjectArea,
    Profile,
    SimulatedLines,
    SimulatedPair,
    Simulation,
)
from linesmith.analyzer.model.candidate import candidate_name
from linesmith.analyzer.sharing.parts import own_members
from linesmith.analyzer.sharing.triage import top_members
from linesmith.tuner.propose.candidates import Suggestion
from linesmith.tuner.propose.tradeoff import MOST_FOR_GROWING, WORTH_A_MOVE, WORTH_GROWING
from linesmith.tuner.replay.plan import ReplayPlan, in_all_phases, plan_for, unchanged
from linesmith.tuner.replay.replayer import LINE_SIZES, Replay, ReplayOutcome, change_interval, mean, open_trace
from linesmith.tuner.replay.scene import TraceScene, scene

# Pairs of members that a simulation lists, those with the largest difference.
MOST_PAIRS = 5
OF_THE_RECORD = (Metric("type", "misses/op", Better.LOWER), Metric("pair", "misses/op", Better.LOWER))
OF_EVERYTHING = (Metric("misses", "misses/op", Better.LOWER), Metric("cycles", "cycles/op", Better.LOWER))


# Misses of the first member by the doing of stores to the second; whether it is true sharing.
_MemberMisses = Counter[tuple[str, str, bool]]


class View(NamedTuple):
    """What is looked at: a line size, and whether objects are where they were or in each phase they may have."""

    line_bytes: int
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class _StagedScene:
    """A scene ready to replay: its number, and what it costs in the layout that was recorded."""

    number: int
    scene: TraceScene
    before: Mapping[View, ReplayOutcome]


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
    named: dict[int, list[str]] = {record: [] for record in records}
    for answer in answers:
        for one in answer.candidates[:1]:
            named[one.before.id] += (top.name for top in top_members(own_members(answer.finding)))
    scenes = tuple(scene(record, known, layouts, named[record.id]) for record in records.values())
    replay = open_trace(trace, scenes)
    stages = {}
    for number, record in enumerate(records):
        here = replay.scenes[number]
        there = outcomes(replay, number, unchanged(here)) if here.kinds and replay.accesses(number) else {}
        stages[record] = _StagedScene(number, here, there)
    simulated: dict[int, Simulation] = {}
    for answer in answers:
        numbered = enumerate(answer.candidates, start=len(simulated) + 1)
        done = [(number, one, _simulation(replay, stages[one.before.id], one, layouts)) for number, one in numbered]
        done.sort(key=lambda row: (row[2].useless, *_effort_and_cost(row[1], row[2])))
        simulated |= {number: simulation for number, _, simulation in done}
    return simulated


def _effort_and_cost(candidate: Candidate, simulation: Simulation) -> tuple[bool, int, float]:
    """Growth, how many members a reviewer sees move, and misses at the usual line size over all phases.

    A candidate that was not simulated comes last of its like.
    """
    moved = sum(2 if move.kind is MoveKind.SWAP else 1 for move in candidate.moves)
    found = [(one.phases, one.after.total) for one in simulation.lines if one.line_bytes == CACHE_LINE_BYTES]
    return candidate.after.size > candidate.before.size, moved, max(found)[1] if found else float("inf")


def outcomes(replay: Replay, number: int, plan: ReplayPlan) -> dict[View, ReplayOutcome]:
    """The scene with this number under ``plan``, with lines of 64 bytes as placed and in all phases, and of 128.

    Phases are looked at where objects of slabs have several, in the layout recorded.
    """
    here = replay.scenes[number]
    found = {View(size): replay.run(number, plan, size) for size in LINE_SIZES}
    if len(in_all_phases(unchanged(here), here)) > 1:
        runs = [replay.run(number, shifted) for shifted in in_all_phases(plan, here)]
        found[View(CACHE_LINE_BYTES, everywhere=True)] = mean(runs)
    return found


def _simulation(replay: Replay, stage: _StagedScene, candidate: Candidate, layouts: Layouts) -> Simulation:
    if reason := _missing(stage, candidate):
        return Simulation(refusal=reason)
    try:
        plan = plan_for(stage.scene, candidate, layouts)
    except NotSimulated as refusal:
        return Simulation(refusal=f"{refusal}.")
    return run(replay, stage.number, plan, stage.before, layouts)


def run(
    replay: Replay, number: int, plan: ReplayPlan, before: Mapping[View, ReplayOutcome], layouts: Layouts
) -> Simulation:
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
            _differences(_by_member(here, outcome, layouts), _by_member(here, after[view], layouts)),
            len(in_all_phases(unchanged(here), here)) if view.everywhere else 1,
        )
        for view, outcome in sorted(before.items())
    )
    return Simulation(lines, here.objects, replay.accesses(number), round(spent, 3), _remarks(replay, here))


def _missing(stage: _StagedScene, candidate: Candidate) -> str:
    """Why there is nothing to replay, as a sentence; empty when there is something."""
    title = candidate.before.title if candidate.before.name else candidate.type
    if not stage.scene.kinds:
        return f"The profile knows no object that is or holds a {title}, so the trace cannot tell."
    if not stage.before:
        return f"The trace has no access to any of the {stage.scene.objects} objects that are or hold a {title}."
    return ""


def _differences(old: _MemberMisses, new: _MemberMisses) -> tuple[SimulatedPair, ...]:
    """The pairs of members whose misses differ most."""
    differ = sorted(old.keys() | new.keys(), key=lambda key: (-abs(old[key] - new[key]), key))
    return tuple(SimulatedPair(*key, old[key], new[key]) for key in differ[:MOST_PAIRS] if old[key] != new[key])


def _by_member(here: TraceScene, outcome: ReplayOutcome, layouts: Layouts) -> _MemberMisses:
    counts: _MemberMisses = Counter()
    for pair in outcome.pairs:
        victim = here.member(pair.victim_kind, pair.victim_offset, layouts)
        writer = here.member(pair.writer_kind, pair.writer_offset, layouts)
        counts[victim, writer, pair.true_sharing] += pair.local + pair.remote
    return counts


def _remarks(replay: Replay, here: TraceScene) -> tuple[str, ...]:
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


# The top member of the record in question at an offset in a line; ``None`` where there is another object.
MemberAt = Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class MeasuredRecord:
    """A record, and the pairs of its members that meet on the lines that made it suspicious; no record, no pairs."""

    type: str = ""
    pairs: frozenset[frozenset[str]] = frozenset()


def metrics_for(question: MeasuredRecord, deciding: str = "type") -> tuple[Metric, ...]:
    """What is measured, first the one called ``deciding``. A record is a small part of what a whole kernel misses."""
    metrics = (*OF_THE_RECORD, *OF_EVERYTHING) if question.type else OF_EVERYTHING
    return tuple(sorted(metrics, key=lambda one: one.name != deciding))


def question_of(leading: Finding, *others: Finding) -> MeasuredRecord:
    """What a candidate for the first object of ``leading`` is to improve, on its line and on the ``others``."""
    met = (pair for finding in (leading, *others) for pair in finding.triage.pairs)
    return MeasuredRecord(leading.objects[0].type, frozenset(pair.names for pair in met if len(pair.names) == 2))


class RecordedMembers:
    """Where the members of a record lie on the lines of one recording, by the layouts of the build recorded.

    ``found`` are findings that hold the record, for a recording whose objects are not known by their addresses. Of a
    union's alternatives that one counts which is ``named``.
    """

    def __init__(
        self,
        type_: str,
        profile: Profile,
        layouts: Layouts,
        found: Sequence[Finding] = (),
        named: Collection[str] = (),
    ) -> None:
        self._type = type_
        self._named = named
        self._objects = ObjectMap(profile.areas)
        self._containment = Containment(layouts)
        self._found = {one.address: one for one in found}
        self._holders: dict[int, list[tuple[int, int]]] = {}
        for layout in layouts.variants(type_)[:1]:
            for place in self._containment.places(layout.id):
                self._holders.setdefault(place.container, []).append((layout.id, place.offset))

    def on(self, line: CacheLine) -> MemberAt:
        """What lies on this line."""
        return lambda offset: self._by_address(line, offset) or self._by_finding(line, offset)

    def _by_address(self, line: CacheLine, offset: int) -> str | None:
        found = self._objects.at((line.address or 0) + offset)
        record = record_of(found.area, self._containment) if found is not None else None
        if found is None or record is None:
            return None
        place = (line.address or 0) + offset - found.start
        members = (self._member(id_, place - start) for id_, start in self._holders.get(record.id, ()))
        return next(filter(None, members), None)

    def _by_finding(self, line: CacheLine, offset: int) -> str | None:
        finding = self._found.get(line.address)
        for one in finding.objects if finding else ():
            if one.type == self._type and one.layout is not None:
                return self._member(one.layout, offset - one.start)
        return None

    def _member(self, layout: int, offset: int) -> str | None:
        leaves = self._containment.leaves(layout, offset) if offset >= 0 else ()
        tops = [leaf.path.partition(".")[0].partition("[")[0] for leaf in leaves]
        return next((name for name in tops if name in self._named), next(iter(tops), None))


def simulated_metrics(
    profile: Profile, places: RecordedMembers, question: MeasuredRecord, operations: int
) -> tuple[tuple[str, float], ...]:
    """The value of each of ``metrics_for(question)``, for each of the ``operations`` that the recorded command did.

    ``misses`` and ``cycles`` are of all lines but those that emulation makes hot, ``type`` is of the misses for which a
    writer is to blame on members of the record, and ``pair`` of those for which the other member of a pair is.
    """
    everything = _counting(profile)
    met = _met(profile, places, question)
    values = {"misses": everything.total, "cycles": everything.cycles(Latencies())} | met
    return tuple((metric.name, values[metric.name] / max(operations, 1)) for metric in metrics_for(question))


def _met(profile: Profile, places: RecordedMembers, question: MeasuredRecord) -> dict[str, int]:
    counts = Counter({"type": 0, "pair": 0})
    for line in profile.lines:
        member_at = places.on(line)
        for one in line.conflicts:
            victim = member_at(one.offset)
            if victim is not None:
                counts["type"] += one.misses
                counts["pair"] += one.misses * (frozenset((victim, member_at(one.writer_offset))) in question.pairs)
    return dict(counts)


def _counting(profile: Profile) -> Misses:
    """All misses of the recording but those on lines that emulation makes hot."""
    counts, owners = dict(profile.recording.counts) if profile.recording else {}, lines_apart(profile)
    apart = [line.misses or Misses() for line in profile.lines if line.address in owners]

    def left(name: str, counted: str) -> int:
        of_apart: int = sum(getattr(one, name) for one in apart)
        return counts.get(counted, 0) - of_apart

    return Misses(
        hitm_local=left("hitm_local", "hitm_local"),
        hitm_remote=left("hitm_remote", "hitm_remote"),
        shared=left("shared", "shared_miss"),
        upgrade=left("upgrade", "upgrade"),
        taken_local=left("taken_local", "own_local"),
        taken_remote=left("taken_remote", "own_remote"),
    )


@dataclass(frozen=True, slots=True)
class _Replayed:
    """A candidate by its number, with its misses at the usual line."""

    number: int
    candidate: Candidate
    lines: SimulatedLines

    @property
    def fewer(self) -> bool:
        """Whether the misses are fewer, whichever part of the trace one looks at."""
        return self.lines.change < 0 and self.lines.interval.high < 0

    @property
    def price(self) -> float:
        """Misses as a share of those now, with what churn and growth must earn; doing nothing has 1."""
        before, after = self.candidate.before.size, self.candidate.after.size
        grown = min((after - before) / before + (WORTH_GROWING if after > before else 0.0), MOST_FOR_GROWING)
        return 1 + self.lines.change + WORTH_A_MOVE * self.candidate.churn.members + grown


def replayed_choice(answers: Sequence[Suggestion], simulations: Mapping[int, Simulation]) -> tuple[Suggestion, ...]:
    """The answers, each with the candidate recommended that the replay speaks for; numbers and order stay.

    ``simulations`` are by number, from 1 through all answers. An answer of which nothing could be replayed stays.
    """
    chosen, first = [], 1
    for answer in answers:
        found = []
        for number, one in enumerate(answer.candidates, start=first):
            # The misses at the usual line, in as many phases as were looked at.
            lines = simulations[number].lines if number in simulations else ()
            usual = (line for line in lines if line.line_bytes == CACHE_LINE_BYTES)
            widest = max(usual, key=lambda line: line.phases, default=None)
            if widest and widest.before.total:
                found.append(_Replayed(number, one, widest))
        chosen.append(_anew(answer, found, first) if found else answer)
        first += len(answer.candidates)
    return tuple(chosen)


def _anew(answer: Suggestion, found: Sequence[_Replayed], first: int) -> Suggestion:
    worth = [one for one in found if one.fewer and one.price < 1]
    best = min(worth, key=lambda one: (one.price, one.number), default=None)
    marked = tuple(
        replace(one, recommended=_reason(best, answer, first) if best and best.number == number else "")
        for number, one in enumerate(answer.candidates, start=first)
    )
    return replace(answer, candidates=marked, declined="" if best else _declined(found))


def _reason(best: _Replayed, answer: Suggestion, first: int) -> str:
    """Why, and whether the estimate would have chosen another."""
    numbered = enumerate(answer.candidates, start=first)
    estimated = next((one for number, one in numbered if one.recommended and number != best.number), None)
    other = f"; by the samples alone it would be candidate {candidate_name(estimated)}" if estimated else ""
    members = best.candidate.churn.members
    moved = f"{members} member{'s' if members != 1 else ''} {'move' if members != 1 else 'moves'}"
    return f"Replayed on the trace it {_saved(best)}: {moved}{other}."


def _saved(one: _Replayed) -> str:
    misses = one.lines.before.total - one.lines.after.total
    return f"takes away {misses:,} of {one.lines.before.total:,} misses ({one.lines.change:+.1%})"


def _declined(found: Sequence[_Replayed]) -> str:
    best = min(found, key=lambda one: one.lines.change)
    if best.lines.change >= 0:
        return "Nothing is recommended: replayed on the trace, no candidate has fewer misses than the layout as it is."
    low, high = best.lines.interval.low, best.lines.interval.high
    why = "too little for what it takes" if best.fewer else f"resampled {low:+.1%} to {high:+.1%}"
    return f"Nothing is recommended: replayed on the trace, the best candidate {_saved(best)}, {why}."
