# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of a stage as comparisons: which metric of which benchmark decides, and what equal layouts differ by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from linesmith.analyzer.base.errors import BenchmarkUnknown
from linesmith.analyzer.model import SIMULATED, Comparison, Metric, Rules, Sample, Use
from linesmith.plugins.registry import benchmark
from linesmith.tuner.judge.interval import planned_looks
from linesmith.tuner.judge.verdict import bonferroni_rules, compare, floor, noise
from linesmith.tuner.replay.simulated import OF_THE_RECORD


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
