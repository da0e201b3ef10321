# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways in which runs differ by chance: each model draws the values of consecutive runs from what is expected of them.

The runs of a block follow one another as the judge's schedule has them; each run is a boot of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from linesmith.analyzer.model import Better, Comparison, Metric, Rules, Sample, Use
from linesmith.tuner.judge.ranking import enough, order
from linesmith.tuner.judge.verdict import compare, planned_looks

Values = NDArray[np.float64]
NoiseModel = Callable[[Generator, Values], Values]
METRIC = Metric("seconds", "s", Better.LOWER)
USE = Use("simulated-noise")
BASE, HEAD = "baseline", "head"


def normal(spread: float) -> NoiseModel:
    """Each run by itself, with this standard deviation (a share)."""

    def model(draw: Generator, means: Values) -> Values:
        noise: Values = 1 + spread * draw.standard_normal(means.size)
        return means * noise

    return model


def _heavy_tail(draw: Generator, means: Values) -> Values:
    """Run times have a floor and a long tail: 2 % of log-normal lateness, which is 4.3 % of standard deviation."""
    late: Values = 0.02 * np.exp(draw.standard_normal(means.size))
    return means * (1 + late) / (1 + 0.02 * math.exp(0.5))


def _bimodal(draw: Generator, means: Values) -> Values:
    """Three boots in ten draw a bad phase and are 5 % slower throughout."""
    return normal(0.005)(draw, means) * (1 + 0.05 * (draw.random(means.size) < 0.3))


def _drift(draw: Generator, means: Values) -> Values:
    """The machine becomes 10 % slower from the first run to the last, and noise of 1 %."""
    return normal(0.01)(draw, means) * np.linspace(1.0, 1.1, means.size)


def _step(draw: Generator, means: Values) -> Values:
    """From some run on everything is 5 % slower, and noise of 1 %."""
    slower = np.arange(means.size) >= draw.integers(means.size)
    return normal(0.01)(draw, means) * (1 + 0.05 * slower)


def autocorrelated(persistence: float, spread: float = 0.02) -> NoiseModel:
    """Each run resembles the one before it by ``persistence``; below zero it makes up for it."""

    def model(draw: Generator, means: Values) -> Values:
        fresh = draw.standard_normal(means.size)
        state = np.empty(means.size)
        state[0] = fresh[0]
        for run in range(1, means.size):
            state[run] = persistence * state[run - 1] + np.sqrt(1 - persistence**2) * fresh[run]
        return means * (1 + spread * state)

    return model


def _outliers(draw: Generator, means: Values) -> Values:
    """One run in twenty takes three times as long; noise of 1 %."""
    return normal(0.01)(draw, means) * np.where(draw.random(means.size) < 0.05, 3.0, 1.0)


def _quantised(draw: Generator, means: Values) -> Values:
    """A timer that ticks in steps of 2 % of the run, over noise of 1 %."""
    return np.round(normal(0.01)(draw, means) * 50) / 50


def _zeros(draw: Generator, means: Values) -> Values:
    """Misses of a pair that meets in half of the boots only, some forty then."""
    met: Values = (draw.random(means.size) < 0.5).astype(float)
    return draw.poisson(40 * means) * met


def counts(rate: float) -> NoiseModel:
    """Events that come one by one, ``rate`` of them in a run."""
    return lambda draw, means: draw.poisson(rate * means).astype(float)


def _clustered(draw: Generator, means: Values) -> Values:
    """Two hundred events in clusters: their rate varies by 10 % from boot to boot."""
    return draw.poisson(200 * means * draw.gamma(100, 0.01, means.size)).astype(float)


@dataclass(frozen=True, slots=True)
class Noise:
    """A model, and the smallest change that matters where runs differ so."""

    model: NoiseModel
    smallest: float = 0.005


MODELS: dict[str, Noise] = {
    "normal, 1 %": Noise(normal(0.01)),
    "normal, 5 %": Noise(normal(0.05)),
    "heavy tail, 4 %": Noise(_heavy_tail),
    "slow phase in 3 of 10 boots": Noise(_bimodal),
    "linear drift of 10 %": Noise(_drift),
    "step of 5 %": Noise(_step),
    "autocorrelated, 0.9": Noise(autocorrelated(0.9)),
    "alternating, -0.5": Noise(autocorrelated(-0.5)),
    "timer of 2 % steps": Noise(_quantised),
    "1 run in 20 takes 3 times": Noise(_outliers, 0.03),
    "clustered counts, 200": Noise(_clustered, 0.01),
    "tiny counts, 2": Noise(counts(2.0), 0.1),
    "none in half of the boots": Noise(_zeros, 0.25),
}


def samples(model: NoiseModel, blocks: int, change: float, seed: int) -> tuple[Sample, ...]:
    """``blocks`` blocks of a head that really takes ``change`` (a share) longer than the base."""
    runs = [(block, variant) for block in range(blocks) for variant in order(BASE, HEAD, block, seed)]
    means = np.array([1.0 + change * (variant == HEAD) for _, variant in runs])
    values: Sequence[float] = model(np.random.default_rng(seed), means).tolist()
    return tuple(
        Sample(variant, USE.label, METRIC.name, 1, value, block, run, run % 4)
        for run, ((block, variant), value) in enumerate(zip(runs, values, strict=True))
    )


def trial(noise: Noise, change: float, seed: int) -> Comparison:
    """One measurement of a head that really takes ``change`` (a share) longer, with the noise's own rules.

    The judge may look after each block, as in a run of ``bench``.
    """
    rules = replace(Rules(), smallest=noise.smallest)
    taken = samples(noise.model, rules.most_blocks, change, seed)
    for blocks in range(rules.least_blocks, rules.most_blocks + 1):
        seen = tuple(sample for sample in taken if sample.block < blocks)
        found = compare(seen, METRIC, USE, 1, BASE, HEAD, rules, looks=planned_looks(rules))
        if enough([found], rules):
            break
    return found
