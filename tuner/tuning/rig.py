# SPDX-License-Identifier: GPL-2.0-or-later
"""What a block is measured with: a machine with benchmarks, or a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Fidelity, Site, TunePlan, Use
from linesmith.tuner.judge.schedule import order
from linesmith.tuner.tuning.blocks import Purpose
from linesmith.tuner.tuning.judgement import Judge, measures, simulated_measures
from linesmith.tuner.tuning.simulated import SimulatedBenchmark
from linesmith.tuner.tuning.tasks import BlockTask, Made, SimulatedBlockTask
from linesmith.tuner.tuning.variants import BASELINE

# Simulations that confirm have other seeds than those on which the search went.
_FRESH_SEEDS = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """Which block it is: its ``number`` in the run, and its ``ordinal`` among those of its variant for a purpose."""

    number: int
    ordinal: int
    purpose: Purpose
    run: Path


class Rig(Protocol):
    """Makes the task of a block, and brings the judge of what comes out."""

    @property
    def fidelity(self) -> Fidelity:
        """On which rung its blocks stand."""

    @property
    def judge(self) -> Judge:
        """Who compares; no noise floor is known yet."""

    def task(self, place: Place, baseline: Made, variant: Made) -> BlockTask | SimulatedBlockTask:
        """The block as a task."""


@dataclass(frozen=True, slots=True)
class MachineRig:
    """Benchmarks on a machine, in the judge's order."""

    site: Site
    uses: tuple[Use, ...]
    judge: Judge
    fidelity: Fidelity = Fidelity.BENCHMARK

    def task(self, place: Place, baseline: Made, variant: Made) -> BlockTask:
        """Four boots: the baseline's and the variant's, twice each."""
        rules = self.judge.rules
        sides = order(baseline[0], variant[0], place.ordinal, rules.seed)
        return BlockTask(place.number, self.site, self.uses, rules.warm_up, sides, (baseline, variant), place.run)


@dataclass(frozen=True, slots=True)
class SimulationRig:
    """Recordings of both sides with the same seed."""

    simulation: SimulatedBenchmark
    judge: Judge
    fidelity: Fidelity = Fidelity.SIMULATION

    def task(self, place: Place, baseline: Made, variant: Made) -> SimulatedBlockTask:
        """One recording of each."""
        seed = place.ordinal + 1 + (_FRESH_SEEDS if place.purpose is Purpose.CONFIRMATION else 0)
        return SimulatedBlockTask(place.number, self.simulation, baseline, variant, seed, place.run)


def machine_rig(plan: TunePlan) -> MachineRig:
    """The plan's machine with its benchmarks; raises ``BenchmarkUnknown``."""
    return MachineRig(plan.site, plan.benchmarks, Judge(measures(plan.benchmarks), BASELINE.name, plan.rules))


def simulation_rig(plan: TunePlan, simulation: SimulatedBenchmark) -> SimulationRig:
    """A simulation judged by the plan's rules; raises ``PlanError`` when its metric has nothing to look at."""
    if simulation.evidence.metric == "pair" and not simulation.question.pairs:
        raise PlanError(
            '[record] metric = "pair" is of two members that meet, and there are no such members in question here; '
            "let another metric decide"
        )
    deciding = simulated_measures(simulation.metrics, simulation.evidence.cpus)
    return SimulationRig(simulation, Judge(deciding, BASELINE.name, plan.rules))
