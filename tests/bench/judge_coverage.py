# SPDX-License-Identifier: GPL-2.0-or-later
"""How often bounds hold that are asked to hold in 95 %: ``PYTHONPATH=tests python tests/bench/judge_coverage.py``.

Printed is the table of docs/judge.md that compares the judge's interval with two usual bootstraps of the ratio of
means, on a head that really takes a tenth longer.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from noise_models import BASE, HEAD, MODELS, Values, samples
from scipy import stats

from linesmith.tuner.judge.interval import paired, ratio_interval

CHANGE = 0.1
MISSED = 0.05
BLOCKS = (4, 8, 16)
NAMES = ("normal, 5 %", "heavy tail, 4 %", "slow phase in 3 of 10 boots", "clustered counts, 200", "tiny counts, 2")
Bounds = Callable[[Values, Values, int], tuple[float, float]]


def bootstrap(method: Literal["percentile", "BCa"]) -> Bounds:
    """Bounds of ``scipy.stats.bootstrap``, blocks drawn whole."""

    def bounds(base: Values, head: Values, seed: int) -> tuple[float, float]:
        drawn = stats.bootstrap(
            (base, head),
            _ratio,
            paired=True,
            vectorized=True,
            confidence_level=1 - MISSED,
            method=method,
            n_resamples=999,
            random_state=np.random.default_rng(seed),
        )
        return float(drawn.confidence_interval.low), float(drawn.confidence_interval.high)

    return bounds


def _ratio(base: Values, head: Values, axis: int = -1) -> Values:
    return np.asarray(head.mean(axis=axis) / base.mean(axis=axis), dtype=np.float64)


def ours(base: Values, head: Values, seed: int) -> tuple[float, float]:
    """Bounds of the judge."""
    interval = ratio_interval(base, head, MISSED, seed)
    return interval.low, interval.high


WAYS: dict[str, Bounds] = {"percentile": bootstrap("percentile"), "BCa": bootstrap("BCa"), "judge": ours}


def coverage(name: str, blocks: int, way: Bounds, repetitions: int) -> float:
    """The share of repetitions in which the bounds hold the true ratio."""
    held = 0
    for seed in range(repetitions):
        sides = paired(samples(MODELS[name].model, blocks, CHANGE, seed), BASE, HEAD)
        low, high = way(sides.base, sides.head, seed)
        held += low <= 1 + CHANGE <= high
    return held / repetitions


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    repetitions = parser.parse_args().repetitions
    # Drawings that leave a side without any count, or all alike, have no ratio or no skewness: they count as missed.
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    heads = [f"{way}, {blocks} blocks" for way in WAYS for blocks in BLOCKS]
    print(f"| runs differ by | {' | '.join(heads)} |")
    print("|---" + "|---:" * len(heads) + "|")
    for name in NAMES:
        cells = [f"{100 * coverage(name, n, way, repetitions):.0f} %" for way in WAYS.values() for n in BLOCKS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
