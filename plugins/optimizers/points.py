# SPDX-License-Identifier: GPL-2.0-or-later
"""The points of a space in the order in which an optimizer may come to them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from random import Random

from linesmith.analyzer.model import Point, Space

# More points than that are not looked at one by one: a sample of as many stands for the space.
MOST_POINTS = 4096


def is_point(point: Point, space: Space) -> bool:
    """Whether it has a choice of each dimension."""
    counts = [len(dimension.choices) for dimension in space.dimensions]
    return len(point) == len(counts) and all(0 <= number < count for number, count in zip(point, counts, strict=True))


def in_order(space: Space) -> Iterator[Point]:
    """Every point but the layout as it is, the last dimension changing fastest."""
    points = product(*(range(len(dimension.choices)) for dimension in space.dimensions))
    return (point for point in points if any(point))


def shuffled(space: Space, seed: int) -> tuple[Point, ...]:
    """All points but the layout as it is in random order, or ``MOST_POINTS`` of a larger space; equal by seed."""
    draw = Random(seed)  # noqa: S311 - a repeatable order, no secret
    if space.size <= MOST_POINTS:
        points = list(in_order(space))
        draw.shuffle(points)
        return tuple(points)
    return tuple(dict.fromkeys(islice(_drawn(space, draw), MOST_POINTS)))


def _drawn(space: Space, draw: Random) -> Iterator[Point]:
    while True:
        point = tuple(draw.randrange(len(dimension.choices)) for dimension in space.dimensions)
        if any(point):
            yield point


def recommended_first(space: Space, seed: int) -> tuple[Point, ...]:
    """The priors, best first, then all other points in random order."""
    priors = (point for point in space.priors if any(point) and is_point(point, space))
    return tuple(dict.fromkeys((*priors, *shuffled(space, seed))))
