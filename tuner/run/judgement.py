# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of measured variants: which metric of which benchmark decides, and what equal layouts differ by.

A rig says how blocks are measured and has the judge of what comes out. Who judges candidates by replay is in
``tuner.replay.recommend``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from linesmith.analyzer.base.errors import BenchmarkUnknown, PlanError
from linesmith.analyzer.model import SIMULATED, Comparison, Fidelity, Metric, Rules, Sample, Site, TunePlan, Use
from linesmith.plugins.registry import benchmark
from linesmith.tuner.judge.ranking import order
from linesmith.tuner.judge.verdict import bonferroni_rules, compare, floor, noise, planned_looks
from linesmith.tuner.replay.simulated import OF_THE_RECORD, metrics_for
from linesmith.tuner.run.block import BlockTask, Made, SimulatedBlockTask
from linesmith.tuner.run.journal import BASELINE, Purpose
from linesmith.tuner.run.simulated import SimulatedBenchmark

# What costs a build, and so counts against the budget.
COSTLY = (Fidelity.SIMULATION, Fidelity.BENCHMARK)
# Simulations that confirm have other seeds than those on which the search went.
_FRESH_SEEDS = 1000


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric of a benchmark as it is used: the one on which verdicts are given, or one that is ``only_shown``."""

    use: Use
    metric: Metric
    only_shown: bool = False

    @property
    def decides(self) -> bool:
        """Whether a variant may be called better for it."""
        return not (self.only_shown or self.use.guard)


def searching(rules: Rules) -> Rules:
    """The rules while a search goes on: a variant that is hard to tell from the baseline is not worth all blocks."""
    return replace(rules, most_blocks=min(rules.most_blocks, 2 * rules.least_blocks))


def measures(uses: Iterable[Use]) -> tuple[Measure, ...]:
    """The deciding metric of each benchmark; raises ``BenchmarkUnknown`` for a metric that it has not."""
    found = []
    for use in uses:
        offered = benchmark(use.benchmark).metrics(dict(use.settings))
        metric = next((one for one in offered if one.name == use.metric), None) if use.metric else offered[0]
        if metric is None:
            names = ", ".join(one.name for one in offered)
            raise BenchmarkUnknown(f"the benchmark {use.label} has no metric {use.metric}; it has {names}")
        found.append(Measure(use, metric))
    return tuple(found)


def simulated_measures(metrics: Sequence[Metric], cpus: int) -> tuple[Measure, ...]:
    """The first of the simulated metrics decides; they are for as many threads as the simulated machine has CPUs.

    Where that is not the misses on the record, those must not become more. Of everything else the part is small.
    """
    use = Use(SIMULATED, threads=(cpus,))
    deciding, *others = metrics
    guards = [Measure(replace(use, guard=True), one) for one in others if one in OF_THE_RECORD[:1]]
    shown = [Measure(use, one, only_shown=True) for one in others if one not in OF_THE_RECORD[:1]]
    return (Measure(use, deciding), *guards, *shown)


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares variants with the baseline by some ``measures``; ``floors`` are what equal layouts differed by.

    ``variants`` are confirmed side by side: that any of them is called better may be wrong as seldom as for one.
    """

    measures: tuple[Measure, ...]
    baseline: str
    rules: Rules
    floors: tuple[float, ...] = ()
    variants: int = 1

    def comparisons(self, samples: Sequence[Sample], variant: str) -> tuple[Comparison, ...]:
        """One for each benchmark and number of threads, on the blocks in which both ran."""
        each, looks = self._each(), planned_looks(self.rules)
        # Those that may make a variant better together err as seldom as one.
        shared = bonferroni_rules(self.rules, max(1, self.variants) * sum(one.decides for one, _ in each))
        found = []
        for (one, threads), least in zip(each, self.floors or (0.0,) * len(each), strict=True):
            rules = shared if one.decides else self.rules
            seen = compare(samples, one.metric, one.use, threads, self.baseline, variant, rules, least, looks)
            found.append(replace(seen, only_shown=one.only_shown))
        return tuple(found)

    def noise(self, samples: Sequence[Sample], placebos: Sequence[str]) -> tuple[Comparison, ...]:
        """The baseline against itself and the placebos against it."""
        return tuple(one for found in self._noise(samples, placebos) for one in found)

    def with_floors(self, samples: Sequence[Sample], placebos: Sequence[str]) -> Judge:
        """The same judge, who has seen what equal layouts differ by."""
        return replace(self, floors=tuple(floor(found) for found in self._noise(samples, placebos)))

    def _noise(self, samples: Sequence[Sample], placebos: Sequence[str]) -> Iterable[tuple[Comparison, ...]]:
        for one, threads in self._each():
            found = noise(samples, one.metric, one.use, threads, self.baseline, placebos, self.rules)
            yield tuple(replace(each, only_shown=one.only_shown) for each in found)

    def _each(self) -> tuple[tuple[Measure, int], ...]:
        return tuple(pair for one in self.measures for pair in product((one,), one.use.threads))


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """Which block it is: its ``number`` in the run, and its ``ordinal`` among those of its variant for a purpose."""

    number: int
    ordinal: int
    purpose: Purpose
    run: Path


@dataclass(frozen=True, slots=True)
class MachineRig:
    """Benchmarks on a machine, in the order of the ``judge``, who compares what comes out and knows no floor yet."""

    site: Site
    uses: tuple[Use, ...]
    judge: Judge
    fidelity: Fidelity = Fidelity.BENCHMARK

    def task(self, place: BlockPlace, baseline: Made, variant: Made) -> BlockTask:
        """Four boots: the baseline's and the variant's, twice each."""
        rules = self.judge.rules
        sides = order(baseline[0], variant[0], place.ordinal, rules.seed)
        return BlockTask(place.number, self.site, self.uses, rules.warm_up, sides, (baseline, variant), place.run)


@dataclass(frozen=True, slots=True)
class SimulationRig:
    """Recordings of both sides with the same seed, and their judge."""

    simulation: SimulatedBenchmark
    judge: Judge
    fidelity: Fidelity = Fidelity.SIMULATION

    def task(self, place: BlockPlace, baseline: Made, variant: Made) -> SimulatedBlockTask:
        """One recording of each."""
        seed = place.ordinal + 1 + (_FRESH_SEEDS if place.purpose is Purpose.CONFIRMATION else 0)
        return SimulatedBlockTask(place.number, self.simulation, baseline, variant, seed, place.run)


Rig = MachineRig | SimulationRig


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
    metrics = metrics_for(simulation.question, simulation.evidence.metric)
    deciding = simulated_measures(metrics, simulation.evidence.cpus)
    return SimulationRig(simulation, Judge(deciding, BASELINE.name, plan.rules))
