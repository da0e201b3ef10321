# SPDX-License-Identifier: GPL-2.0-or-later
"""The ladder of a plan: which rungs it has, and what they need to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from linesmith.analyzer.errors import NotSimulated, TraceError
from linesmith.analyzer.model import Fidelity, TunePlan
from linesmith.tuner.simulated_metrics import question_of
from linesmith.tuner.space.proposals import Proposals
from linesmith.tuner.tuning.assessment import Course
from linesmith.tuner.tuning.blocks import Purpose
from linesmith.tuner.tuning.evidence import Explained
from linesmith.tuner.tuning.judgement import Judge, searching
from linesmith.tuner.tuning.laboratory import Laboratory
from linesmith.tuner.tuning.noise import remark
from linesmith.tuner.tuning.points import Points
from linesmith.tuner.tuning.rig import Rig, machine_rig, simulation_rig
from linesmith.tuner.tuning.rungs import BlockRung, EstimateRung, ReplayRung, Rung
from linesmith.tuner.tuning.simulated import SimulatedBenchmark
from linesmith.tuner.tuning.trace_rung import TraceRung


def rigs(plan: TunePlan, proposed: Proposals, lab: Laboratory) -> tuple[Rig, ...]:
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
