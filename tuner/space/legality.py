# SPDX-License-Identifier: GPL-2.0-or-later
"""Every point of a space as a layout, or the reason why it is none: each layout belongs to one point only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Point
from linesmith.tuner.arrangement import unchanged
from linesmith.tuner.search import Option, price
from linesmith.tuner.space.composition import Choice, composed
from linesmith.tuner.space.dimensions import Decision
from linesmith.tuner.subject import Subject

# What makes a layout: bytes at which members start, the record's size, and the alignments asked for.
Key = tuple[tuple[int, ...], int, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True)
class Legality:
    """``options`` by point; of points that give the same layout the one with the fewest changes has it.

    ``refused`` has the reason for every other point; ``same`` the point that has the layout, where one has.
    """

    options: Mapping[Point, Option]
    refused: Mapping[Point, str]
    same: Mapping[Point, Point]


def legality(target: Subject, made: Sequence[Decision], growth: int) -> Legality:
    """All points of the decisions, the layout as it is among those refused."""
    options: dict[Point, Option] = {}
    refused: dict[Point, str] = {}
    same: dict[Point, Point] = {}
    owners = {key_of(price(target, unchanged(target))): (0,) * len(made)}
    for point in sorted(product(*(range(len(one.choices)) for one in made)), key=_changes):
        try:
            option = composed(target, picked(made, point), growth)
        except NothingToSuggest as reason:
            refused[point] = str(reason)
            continue
        same[point] = owners.setdefault(key_of(option), point)
        if same[point] == point and any(point):
            options[point] = option
        else:
            refused[point] = _repeats(made, same[point])
    return Legality(options, refused, same)


def key_of(option: Option) -> Key:
    """Equal for equal layouts."""
    return option.starts, option.size, tuple(sorted(option.arrangement.aligned.items()))


def picked(made: Sequence[Decision], point: Point) -> Iterator[Choice]:
    """The choices of a point."""
    for decision, number in zip(made, point, strict=True):
        yield decision.choices[number]


def _changes(point: Point) -> tuple[int, Point]:
    return sum(1 for number in point if number), point


def _repeats(made: Sequence[Decision], point: Point) -> str:
    words = ", ".join(_spoken(made, point))
    return f"the layout is the same as with {words}" if words else "the layout stays as it is"


def _spoken(made: Iterable[Decision], point: Point) -> Iterator[str]:
    for decision, number in zip(made, point, strict=True):
        if number:
            yield f"{decision.name} {decision.choices[number].words}"
