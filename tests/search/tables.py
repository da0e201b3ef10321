# SPDX-License-Identifier: GPL-2.0-or-later
"""Measured costs of every point of a small space: what an exhaustive search of a program found.

A table is a JSON file: ``dimensions`` (objects with ``name`` and ``choices``), ``priors`` (points as lists), ``values``
(ratios to the baseline by point, spelt ``"0,1,2"``; one for each block), ``estimates`` (what the cheapest rung
predicts, by point) and ``failures`` (the reason, by point). The baseline is in none of them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from linesmith.analyzer.model import Ask, Dimension, Failure, FailureKind, Point, Space, Told

# A spread of 95 % in standard deviations.
DEVIATIONS = 1.96


@dataclass(frozen=True, slots=True)
class Table:
    """The space of a program with what each point was measured to cost, lower being better."""

    title: str
    space: Space
    values: Mapping[Point, tuple[float, ...]]
    estimates: Mapping[Point, float]
    failures: Mapping[Point, str]

    def cost(self, point: Point) -> float:
        """What the point really costs, as far as all measurements together tell; that of a failure is 1."""
        return mean(self.values[point]) if point in self.values else 1.0

    @property
    def best_gain(self) -> float:
        """The gain of the best point."""
        return max(0.0, *(1 - self.cost(point) for point in self.values))

    def measured(self, ask: Ask, blocks: int, seed: int) -> Told:
        """One answer: the mean of ``blocks`` measurements drawn from those of the point, with its 95 % spread."""
        if ask.point not in self.values:
            return self._failed(ask)
        draw = random.Random(f"{ask} {seed}")  # noqa: S311 - a repeatable choice of measurements, no secret
        values = self.values[ask.point]
        drawn = draw.choices(values, k=blocks)
        deviation = stdev(values) if len(values) > 1 else 0.0
        return Told(ask.point, ask.rung, mean(drawn), DEVIATIONS * deviation / blocks**0.5)

    def estimated(self, ask: Ask) -> Told:
        """The answer of the cheapest rung; what is illegal is so there, and without estimates all others are equal."""
        if ask.point not in self.values:
            return self._failed(ask)
        return Told(ask.point, ask.rung, self.estimates.get(ask.point, 1.0))

    def _failed(self, ask: Ask) -> Told:
        reason = self.failures.get(ask.point, "the layout was not measured")
        return Told(ask.point, ask.rung, None, failure=Failure(FailureKind.ILLEGAL, reason))


def read_table(path: Path) -> Table:
    found = json.loads(path.read_text())
    dimensions = tuple(Dimension(one["name"], tuple(one["choices"])) for one in found["dimensions"])
    return Table(
        found.get("title", path.stem),
        Space(dimensions, tuple(tuple(point) for point in found.get("priors", ()))),
        {_point(point): tuple(values) for point, values in found["values"].items() if any(_point(point))},
        {_point(point): estimate for point, estimate in found.get("estimates", {}).items()},
        {_point(point): reason for point, reason in found.get("failures", {}).items()},
    )


def _point(spelt: str) -> Point:
    return tuple(int(number) for number in spelt.split(","))
