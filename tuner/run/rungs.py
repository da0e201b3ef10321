# SPDX-License-Identifier: GPL-2.0-or-later
"""The ladder of fidelities: each rung judges a point, the cheap ones here and at once, the upper ones by workers.

The first rung estimates, the second replays the recorded trace. On the upper ones, which cost a build and so count
against the budget, a point becomes a patch, whose build must have the layout promised before anything is measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.errors import LinesmithError, NotSimulated, TraceError, VerificationFailed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import (
    Built,
    Candidate,
    Comparison,
    Failure,
    FailureKind,
    Fidelity,
    Finding,
    Patch,
    Point,
    Trial,
    TunePlan,
    Variant,
    VerdictKind,
)
from linesmith.patches.build.kbuild import is_kernel_code
from linesmith.patches.edit.patch import edited, file_text
from linesmith.patches.edit.verify import locate, verify
from linesmith.patches.message.message import Confirmation, commit_message
from linesmith.patches.message.paragraphs import style
from linesmith.tuner.replay.recommend import traced
from linesmith.tuner.replay.simulated import question_of
from linesmith.tuner.run.bench import BlockCourse, assessed, remark
from linesmith.tuner.run.evidence import ExplainedRun
from linesmith.tuner.run.journal import Purpose, trial_of
from linesmith.tuner.run.judgement import Judge, Rig, machine_rig, searching, simulation_rig
from linesmith.tuner.run.laboratory import Laboratory
from linesmith.tuner.run.run_directory import RunDirectory, keep_patch_file
from linesmith.tuner.run.simulated import SimulatedBenchmark, failure_of
from linesmith.tuner.space.proposals import RecordProposals


class Points:
    """The layouts of ``proposals`` as variants of the source tree at ``tree``; ``elf`` is the product with DWARF."""

    def __init__(self, proposals: RecordProposals, tree: Path, elf: str, run: RunDirectory) -> None:
        self.proposals = proposals
        self._tree = tree
        self._elf = elf
        self._run = run
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
        number = sum(1 for one in journal.variants() if one.patches) + 1
        with journal.transaction():
            return journal.keep_variant(Variant(f"v{number}", patches), self.moves(point))

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
        """The patch as the file that a person sends."""
        before = locate(candidate, self.proposals.layouts)
        seen = verify(candidate, before, locate(candidate, layouts))
        declared = edited(candidate, self._tree).declared
        kernel = is_kernel_code(self._tree, declared.file)
        title, usual = declared.record.title, style(self._tree, declared.file)
        confirmation = Confirmation(seen, built.compiler, is_kernel=kernel)
        message = commit_message(candidate, finding, title, usual, confirmation)
        how = f"compiled with {built.compiler}"
        patch = Patch(candidate.type, declared.file, diff, message, how, 0, seen.exact)
        return file_text(patch).decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class CheapRung:
    """A rung that judges here and at once by ``cost``, a ratio to the layout as it is with half an interval."""

    fidelity: Fidelity
    points: Points
    cost: Callable[[Point], tuple[float, float]]

    async def judge(self, point: Point) -> Trial:
        """A trial without its number; raises what says nothing about the point."""
        trial = Trial(0, "", self.points.moves(point), self.fidelity, point)
        try:
            found, spread = self.cost(point)
        except LinesmithError as error:
            return _failed(trial, error)
        return replace(trial, cost=found, spread=spread)


class BlockRung:
    """What the rebuilt variant costs, simulated or on a machine."""

    def __init__(self, points: Points, lab: Laboratory, course: BlockCourse) -> None:
        self.fidelity = course.rig.fidelity
        self._points = points
        self._lab = lab
        self._course = course
        self._measuring: dict[str, asyncio.Task[tuple[Comparison, ...] | Failure]] = {}

    async def judge(self, point: Point) -> Trial | None:
        """Patch, build, look at the layout, and measure until the judge has seen enough.

        ``None`` when the time was over before there was an answer. Raises ``BaselineFailed``, ``DiskFull``, and what
        says nothing about the point.
        """
        trial = Trial(0, "", self._points.moves(point), self.fidelity, point)
        try:
            variant = self._points.variant(point)
        except LinesmithError as error:
            return _failed(trial, error)
        if variant.name not in self._measuring:
            self._measuring[variant.name] = asyncio.create_task(self._measured(point, variant))
        outcome = await self._measuring[variant.name]
        if not isinstance(outcome, Failure):  # nothing that a variant gains counts where a guard became worse
            worse = next((one for one in outcome if one.guard and one.verdict is VerdictKind.WORSE), None)
            if worse is not None:
                outcome = Failure(FailureKind.GUARD, f"{worse.benchmark} became worse: {worse.reason}")
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


Rung = CheapRung | BlockRung


def _failed(trial: Trial, error: LinesmithError) -> Trial:
    failure = failure_of(error)
    if failure is None:
        raise error
    return replace(trial, failure=failure)


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
class RungLadder:
    """All that the rungs of a search have in common; ``in_time`` tells whether a block may still be begun.

    ``judge`` is that of the highest rung, who knows the noise floor.
    """

    lab: Laboratory
    points: Points
    seen: ExplainedRun
    judge: Judge
    in_time: Callable[[], bool]

    def rungs(self, fidelities: tuple[Fidelity, ...], upper: tuple[Rig, ...]) -> tuple[Rung, ...]:
        """The rungs, cheapest first; a replay that is not possible is left out with a remark."""
        cheap = []
        if Fidelity.ESTIMATE in fidelities:  # it alone says of a point that it is not legal
            estimate = self.points.proposals.estimate
            cheap.append(CheapRung(Fidelity.ESTIMATE, self.points, lambda point: (estimate(point), 0.0)))
        if Fidelity.REPLAY in fidelities:
            cheap += self._replay()
        costly = []
        for rig, judge in zip(upper, (*(rig.judge for rig in upper[:-1]), self.judge), strict=True):
            hasty = replace(judge, rules=searching(judge.rules))
            course = BlockCourse(rig, hasty, Purpose.SEARCH, self.in_time, self.lab.slots)
            costly.append(BlockRung(self.points, self.lab, course))
        return (*cheap, *costly)

    def _replay(self) -> Iterator[CheapRung]:
        """A rung whose trace is read once, with the objects of the record in it; none with a remark why."""
        record, seen = self.points.proposals.record.subject.layout, self.seen
        try:
            if seen.trace is None:
                raise NotSimulated("there is no trace of the profile")
            runs = traced((record,), seen.profile, seen.layouts, seen.trace)[record.id]
            if isinstance(runs, str):
                raise NotSimulated(runs.removesuffix("."))
            if not runs.now.total:
                raise NotSimulated(f"the trace has no miss on {record.title} that another layout could save")
        except (NotSimulated, TraceError) as error:
            remark(self.lab.run.journal, f"no trace was replayed: {error}")
            return

        def cost(point: Point) -> tuple[float, float]:
            """Misses as a ratio to those now, and half the interval of the change.

            Where the trace cannot tell: no difference, and a spread as large as all cost.
            """
            try:
                (candidate,) = self.points.proposals.candidates(point)
                found = runs.judgement(runs.under_candidate(candidate))
                return 1.0 + found.change, (found.interval.high - found.interval.low) / 2
            except (NotSimulated, ValueError):
                return 1.0, 1.0

        yield CheapRung(Fidelity.REPLAY, self.points, cost)
