# SPDX-License-Identifier: GPL-2.0-or-later
"""The ladder of fidelities: each rung judges a point, the cheap ones here and at once, the upper ones by workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from linesmith.analyzer.base.errors import LinesmithError, NotSimulated, TraceError, VerificationFailed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Built,
    Candidate,
    Comparison,
    Failure,
    FailureKind,
    Fidelity,
    Finding,
    Layout,
    Patch,
    Point,
    Profile,
    SimulatedLines,
    Trial,
    TunePlan,
    Variant,
    VerdictKind,
)
from linesmith.patches.edit.patch import edited, file_text, is_kernel_code
from linesmith.patches.edit.verify import Verification, locate, verify
from linesmith.patches.message.message import Confirmation, Excerpt, message
from linesmith.patches.message.paragraphs import style
from linesmith.patches.source.tree import Tree
from linesmith.tuner.replay.plan import Plan, at_every_start, plan_for, unchanged
from linesmith.tuner.replay.replayer import PlacePair, open_trace
from linesmith.tuner.replay.scene import scene
from linesmith.tuner.replay.simulated import outcomes, question_of, run
from linesmith.tuner.run.assessment import Course, assessed, remark
from linesmith.tuner.run.block import Rig, machine_rig, simulation_rig
from linesmith.tuner.run.evidence import Explained
from linesmith.tuner.run.journal_tables import Purpose, keep_variant, trial_of, variants
from linesmith.tuner.run.judgement import Judge, searching
from linesmith.tuner.run.laboratory import Laboratory
from linesmith.tuner.run.run_directory import RunDirectory, keep_patch_file
from linesmith.tuner.run.simulated import SimulatedBenchmark, failure_of
from linesmith.tuner.space.proposals import RecordProposals

# The second rung: the recorded trace replayed under a candidate, in this process.

Pairs = frozenset[frozenset[str]]


class TraceRung:
    """A trace with the objects of ``record`` in it, which is read once.

    With ``pairs`` of its members, their misses by each other's doing count as much as all of the record: members that
    are parted to meet others are no gain.
    """

    def __init__(
        self, profile: Profile, trace: Path, record: Layout, layouts: Layouts, pairs: Pairs = frozenset()
    ) -> None:
        """Raises ``TraceError``, and ``NotSimulated`` when the trace has nothing to say of the record."""
        here = scene(record, profile.areas, layouts)
        if not here.kinds:
            raise NotSimulated(f"the profile knows no object that is or holds a {record.title}")
        self._layouts = layouts
        self._replay = open_trace(trace, (here,))
        if not self._replay.accesses(0):
            raise NotSimulated(f"the trace has no access to any of the {here.objects} objects of {record.title}")
        self._pairs = pairs
        self._before = outcomes(self._replay, 0, unchanged(here))
        if not any(one.misses.total for one in self._before.values()):
            raise NotSimulated(f"the trace has no miss on {record.title} that another layout could save")
        self._met = self._meetings(unchanged(here)) if pairs else 0.0

    def cost(self, candidate: Candidate) -> tuple[float, float]:
        """Misses as a ratio to those now, and half the interval of the record's; raises ``NotSimulated``."""
        plan = plan_for(self._replay.scenes[0], candidate, self._layouts)
        found = run(self._replay, 0, plan, self._before, self._layouts)
        lines = max((one for one in found.lines if one.line_bytes == CACHE_LINE_BYTES), key=_phases, default=None)
        if lines is None or not lines.before.total:
            raise NotSimulated("the trace has no miss on the record that another layout could save")
        cost, spread = 1.0 + lines.change, (lines.interval.high - lines.interval.low) / 2
        return ((cost + self._meetings(plan) / self._met) / 2, spread / 2) if self._met else (cost, spread)

    def _meetings(self, plan: Plan) -> float:
        """Misses of the pairs, the mean of all places where objects could begin, here or in another build."""
        runs = [self._replay.run(0, shifted) for shifted in at_every_start(plan, self._replay.scenes[0])]
        return sum(one.local + one.remote for run in runs for one in run.pairs if self._asked(one)) / len(runs)

    def _asked(self, one: PlacePair) -> bool:
        here = self._replay.scenes[0]
        victim = here.member(one.victim_kind, one.victim_offset, self._layouts)
        return frozenset((victim, here.member(one.writer_kind, one.writer_offset, self._layouts))) in self._pairs


def _phases(lines: SimulatedLines) -> int:
    return lines.phases


# Which fidelities cost a build: those count against the budget.

COSTLY = (Fidelity.SIMULATION, Fidelity.BENCHMARK)


# Points of the search space as variants: a point becomes a patch, and its build must have the layout promised.


class Points:
    """The layouts of ``proposals`` as variants of the source tree at ``tree``; ``elf`` is the product with DWARF."""

    def __init__(self, proposals: RecordProposals, tree: Path, elf: str, run: RunDirectory, excerpt: Excerpt) -> None:
        self.proposals = proposals
        self._tree = tree
        self._elf = elf
        self._run = run
        self._excerpt = excerpt
        self._confirmed: set[str] = set()

    def moves(self, point: Point) -> tuple[str, ...]:
        """What the point does, in words; nothing for one that is not legal."""
        return () if self.proposals.reason(point) else self.proposals.describe(point)

    def variant(self, point: Point) -> Variant:
        """The point as patches of the tree; points that edit it alike are one variant.

        Raises ``NothingToSuggest``, ``EditRefused``, ``DeclarationNotFound`` or ``TreeError``.
        """
        diffs = (edited(candidate, self._tree).diff for candidate in self.proposals.candidates(point))
        patches = tuple(diff.decode("utf-8", "surrogateescape") for diff in diffs)
        journal = self._run.journal
        number = sum(1 for one in variants(journal) if one.patches) + 1
        with journal.transaction():
            return keep_variant(journal, Variant(f"v{number}", patches), self.moves(point))

    def confirm(self, point: Point, variant: Variant, built: Built) -> None:
        """Look whether the build has the layout promised, and write the patch of one that has.

        Raises ``VerificationFailed``.
        """
        if variant.name in self._confirmed:
            return
        layouts = read_layouts(built.product(self._elf)).layouts
        finding = self.proposals.finding(point)
        files = [
            self._file(candidate, finding, diff, built, layouts)
            for candidate, diff in zip(self.proposals.candidates(point), variant.patches, strict=True)
        ]
        keep_patch_file(self._run, variant.name, "\n".join(files))
        self._confirmed.add(variant.name)

    def _file(self, candidate: Candidate, finding: Finding, diff: str, built: Built, layouts: Layouts) -> str:
        before = locate(candidate, self.proposals.layouts)
        seen = verify(candidate, before, locate(candidate, layouts))
        patch = self._patch(candidate, finding, seen, built)
        return file_text(replace(patch, diff=diff)).decode("utf-8", "surrogateescape")

    def _patch(self, candidate: Candidate, finding: Finding, seen: Verification, built: Built) -> Patch:
        declared = edited(candidate, self._tree).declared
        kernel = is_kernel_code(Tree(self._tree), declared)
        title, usual = declared.record.title, style(self._tree, declared.file)
        text = message(
            candidate, finding, title, usual, self._excerpt, Confirmation(seen, built.compiler, is_kernel=kernel)
        )
        return Patch(candidate.type, declared.file, "", text, f"compiled with {built.compiler}", 0, seen.exact)


class Rung(Protocol):
    """One fidelity."""

    @property
    def fidelity(self) -> Fidelity:
        """Which one it is."""

    async def judge(self, point: Point) -> Trial | None:
        """A trial without its number; ``None`` when the time was over before there was an answer.

        Raises ``BaselineFailed``, ``DiskFull``, and what says nothing about the point.
        """


@dataclass(frozen=True, slots=True)
class EstimateRung:
    """What the layout is predicted to cost; it alone says of a point that it is not legal."""

    points: Points
    fidelity: Fidelity = Fidelity.ESTIMATE

    async def judge(self, point: Point) -> Trial:
        """Look the point up."""
        return _told(self.fidelity, point, self.points, lambda: (self.points.proposals.estimate(point), 0.0))


@dataclass(frozen=True, slots=True)
class ReplayRung:
    """What the recorded trace costs under the layout."""

    points: Points
    trace: TraceRung
    fidelity: Fidelity = Fidelity.REPLAY

    async def judge(self, point: Point) -> Trial:
        """Replay the trace; where it cannot tell, it says so: no difference, and a spread as large as all cost."""
        return _told(self.fidelity, point, self.points, lambda: self._cost(point))

    def _cost(self, point: Point) -> tuple[float, float]:
        try:
            (candidate,) = self.points.proposals.candidates(point)
            return self.trace.cost(candidate)
        except (NotSimulated, ValueError):
            return 1.0, 1.0


class BlockRung:
    """What the rebuilt variant costs, simulated or on a machine."""

    def __init__(self, points: Points, lab: Laboratory, course: Course) -> None:
        self.fidelity = course.rig.fidelity
        self._points = points
        self._lab = lab
        self._course = course
        self._measuring: dict[str, asyncio.Task[tuple[Comparison, ...] | Failure]] = {}

    async def judge(self, point: Point) -> Trial | None:
        """Patch, build, look at the layout, and measure until the judge has seen enough."""
        trial = Trial(0, "", self._points.moves(point), self.fidelity, point)
        try:
            variant = self._points.variant(point)
        except LinesmithError as error:
            return _failed(trial, error)
        if variant.name not in self._measuring:
            self._measuring[variant.name] = asyncio.create_task(self._measured(point, variant))
        outcome = _guarded(await self._measuring[variant.name])
        return trial_of(replace(trial, variant=variant.name), outcome) if outcome else None

    async def _measured(self, point: Point, variant: Variant) -> tuple[Comparison, ...] | Failure:
        built = await self._lab.built(variant)
        if isinstance(built, Failure):
            return built
        try:
            self._points.confirm(point, variant, built)
        except VerificationFailed as error:
            return Failure(FailureKind.ILLEGAL, str(error))
        return await assessed(self._lab, self._course, variant)


def _guarded(outcome: tuple[Comparison, ...] | Failure) -> tuple[Comparison, ...] | Failure:
    """The outcome, unless a guard became worse: then nothing that the variant gains counts."""
    if isinstance(outcome, Failure):
        return outcome
    worse = next((one for one in outcome if one.guard and one.verdict is VerdictKind.WORSE), None)
    return outcome if worse is None else Failure(FailureKind.GUARD, f"{worse.benchmark} became worse: {worse.reason}")


def _told(fidelity: Fidelity, point: Point, points: Points, cost: Callable[[], tuple[float, float]]) -> Trial:
    trial = Trial(0, "", points.moves(point), fidelity, point)
    try:
        found, spread = cost()
    except LinesmithError as error:
        return _failed(trial, error)
    return replace(trial, cost=found, spread=spread)


def _failed(trial: Trial, error: LinesmithError) -> Trial:
    failure = failure_of(error)
    if failure is None:
        raise error
    return replace(trial, failure=failure)


# The ladder of a plan: which rungs it has, and what they need to judge.


def rigs(plan: TunePlan, proposed: RecordProposals, lab: Laboratory) -> tuple[Rig, ...]:
    """What the upper rungs are measured with, the highest last; raises ``BenchmarkUnknown``."""
    found: list[Rig] = []
    if Fidelity.SIMULATION in plan.search.ladder and plan.evidence is not None:
        question = question_of(*proposed.record.lines)
        simulation = SimulatedBenchmark(plan.evidence, question, lab.run.path / "recordings")
        found.append(simulation_rig(plan, simulation))
    if Fidelity.BENCHMARK in plan.search.ladder:
        found.append(machine_rig(plan))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Ladder:
    """All that the rungs of a search have in common; ``in_time`` tells whether a block may still be begun.

    ``judge`` is that of the highest rung, who knows the noise floor. ``metric`` is the simulated one that decides.
    """

    lab: Laboratory
    points: Points
    seen: Explained
    judge: Judge
    in_time: Callable[[], bool]
    metric: str = "type"

    def rungs(self, fidelities: tuple[Fidelity, ...], upper: tuple[Rig, ...]) -> tuple[Rung, ...]:
        """The rungs, cheapest first; a replay that is not possible is left out with a remark."""
        cheap: list[Rung] = [EstimateRung(self.points)] if Fidelity.ESTIMATE in fidelities else []
        if Fidelity.REPLAY in fidelities:
            cheap += self._replay()
        judges = [*(rig.judge for rig in upper[:-1]), self.judge]
        courses = [self._course(rig, judge) for rig, judge in zip(upper, judges, strict=True)]
        return (*cheap, *(BlockRung(self.points, self.lab, course) for course in courses))

    def _replay(self) -> Iterator[Rung]:
        record, seen = self.points.proposals.record, self.seen
        pairs = question_of(*record.lines).pairs if self.metric == "pair" else frozenset()
        try:
            if seen.trace is None:
                raise NotSimulated("the recorder wrote no trace")
            trace = TraceRung(seen.profile, seen.trace, record.subject.layout, seen.layouts, pairs)
            yield ReplayRung(self.points, trace)
        except (NotSimulated, TraceError) as error:
            remark(self.lab.run.journal, f"no trace was replayed: {error}")

    def _course(self, rig: Rig, judge: Judge) -> Course:
        hasty = replace(judge, rules=searching(judge.rules))
        return Course(rig, hasty, Purpose.SEARCH, self.in_time, self.lab.slots)
