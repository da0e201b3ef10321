# SPDX-License-Identifier: GPL-2.0-or-later
"""From what ``suggest`` knows to a space that can be searched: the one interface between proposals and the tuner.

A better proposer brings other dimensions and other priors; whoever searches, builds and measures does not notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from math import prod

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Candidate, Dimension, Finding, HolderChange, MoveKind, Point, Searching, Space
from linesmith.tuner.constraints.freedom import NO_PREMISES, Premises
from linesmith.tuner.propose.arrangement import Option, price, unchanged
from linesmith.tuner.propose.candidates import candidate, propose
from linesmith.tuner.propose.subject import ContendedRecord
from linesmith.tuner.space.composition import Choice, composed
from linesmith.tuner.space.dimensions import (
    SearchDimension,
    SearchedRecord,
    searched_records,
)

# Points of a space, the illegal ones included.
MOST_POINTS = 600
# What a choice counts for that is not legal alone: it may be together with others.
_UNKNOWN = 1.0
# Records around the one that is changed which are named.
MOST_HOLDERS = 3
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


def legality(target: ContendedRecord, made: Sequence[SearchDimension], growth: int) -> Legality:
    """All points of the dimensions, the layout as it is among those refused."""
    options: dict[Point, Option] = {}
    refused: dict[Point, str] = {}
    same: dict[Point, Point] = {}
    owners = {key_of(price(target, unchanged(target))): (0,) * len(made)}
    points = product(*(range(len(one.choices)) for one in made))
    for point in sorted(points, key=lambda one: (sum(1 for number in one if number), one)):
        try:
            option = composed(target, picked(made, point), growth)
        except NothingToSuggest as reason:
            refused[point] = str(reason)
            continue
        same[point] = owners.setdefault(key_of(option), point)
        if same[point] == point and any(point):
            options[point] = option
        else:
            numbered = zip(made, same[point], strict=True)
            words = ", ".join(f"{one.name} {one.choices[number].words}" for one, number in numbered if number)
            refused[point] = f"the layout is the same as with {words}" if words else "the layout stays as it is"
    return Legality(options, refused, same)


def key_of(option: Option) -> Key:
    """Equal for equal layouts."""
    return option.starts, option.size, tuple(sorted(option.arrangement.aligned.items()))


def picked(made: Sequence[SearchDimension], point: Point) -> Iterator[Choice]:
    """The choices of a point."""
    for dimension, number in zip(made, point, strict=True):
        yield dimension.choices[number]


def smaller(
    record: SearchedRecord, made: Sequence[SearchDimension], suggested: Sequence[Candidate], growth: int
) -> tuple[SearchDimension, ...]:
    """The dimensions with so few choices that there are at most ``MOST_POINTS`` points.

    Large dimensions lose a choice first, those of colder members before; in each, the choices that alone are predicted
    worst go first, and what ``suggested`` chooses goes last.
    """
    favoured = {item for one in suggested for item in record.assigned(one).items()}

    def alone(choice: Choice) -> float:
        try:
            return record.estimate(composed(record.subject, [choice], growth))
        except NothingToSuggest:
            return _UNKNOWN

    def ranked(dimension: SearchDimension) -> list[Choice]:
        """The choices by worth: as it is, those suggested, then those predicted best alone."""
        now, *others = dimension.choices
        return [now, *sorted(others, key=lambda one: ((dimension.name, one) not in favoured, alone(one)))]

    def burden(number: int) -> tuple[float, int]:
        """What makes a dimension lose a choice: to have many, and to be of a colder member than others."""
        count = len(choices[number])
        return count * (1 + number / 2) if count > 1 else 0.0, number

    choices = [ranked(one) for one in made]
    while prod(map(len, choices)) > MOST_POINTS:
        choices[max(range(len(choices)), key=burden)].pop()
    return tuple(
        SearchDimension(one.name, tuple(choice for choice in one.choices if choice in left))
        for one, left in zip(made, choices, strict=True)
        if len(left) > 1
    )


@dataclass(frozen=True, slots=True)
class RecordProposals:
    """The layouts of one record as points of ``space``; its priors are the candidates of ``suggest``, best first.

    All methods but ``reason`` raise ``NothingToSuggest`` for a point that is not legal, with the reason.
    """

    space: Space
    record: SearchedRecord
    layouts: Layouts
    legality: Legality

    def reason(self, point: Point) -> str:
        """Why there is nothing to build for the point: a clause, empty where there is something."""
        return self.legality.refused.get(point, "" if point in self.legality.options else "no such point")

    def candidates(self, point: Point) -> tuple[Candidate, ...]:
        """The changes to make together, one for each record concerned."""
        return (candidate(self.record.leading, self.record.subject, self._option(point), self.layouts),)

    def finding(self, point: Point) -> Finding:
        """The line that the point's candidates are for."""
        self._option(point)
        return self.record.leading

    def describe(self, point: Point) -> tuple[str, ...]:
        """What is done, in words, and what it does to the records around the one that is changed."""
        option, target = self._option(point), self.record.subject
        holders = target.holders.changes(option.granule, option.size - target.layout.size)
        return (*(move.clause for move in option.arrangement.moves), *_around(holders))

    def estimate(self, point: Point) -> float:
        """The predicted ratio of its cost to that of the baseline; below 1 is better."""
        return self.record.estimate(self._option(point))

    def key(self, point: Point) -> str:
        """A digest that is equal for equal layouts."""
        title = self.record.subject.layout.title
        return sha256(repr((title, key_of(self._option(point)))).encode()).hexdigest()[:16]

    def _option(self, point: Point) -> Option:
        if reason := self.reason(point):
            raise NothingToSuggest(reason)
        return self.legality.options[point]


def proposals(
    findings: Sequence[Finding], layouts: Layouts, searching: Searching, premises: Premises = NO_PREMISES
) -> RecordProposals:
    """What can be searched for the record asked for, else for the hottest one of which a layout can be changed.

    Raises ``NothingToSuggest`` when there is none, with the reason for the hottest line.
    """
    for record in searched_records(findings, layouts, searching.type, premises):
        found = _proposals(record, layouts, searching.growth)
        if found.legality.options:
            return found
    allowed = f"by more than {searching.growth} bytes" if searching.growth else "at all"
    raise NothingToSuggest(
        "no hot member of the profile's records can be moved or aligned without the record, or one around it, growing "
        f"{allowed}; allow more bytes with growth in [search]"
    )


def _around(holders: Sequence[HolderChange]) -> Iterator[str]:
    """The records that become larger, those that do so most."""
    larger = [one for one in holders if one.after > one.before]
    worst = sorted(larger, key=lambda one: one.before - one.after)
    if worst:
        sizes = listed((f"{one.record} from {one.before} to {one.after} bytes" for one in worst), MOST_HOLDERS)
        yield f"around it grow {sizes}"


def _proposals(record: SearchedRecord, layouts: Layouts, growth: int) -> RecordProposals:
    suggested = _suggested(record, layouts, growth)
    made = smaller(record, record.dimensions(suggested, growth), suggested, growth)
    legal = legality(record.subject, made, growth)
    searched = tuple(Dimension(one.name, tuple(choice.words for choice in one.choices)) for one in made)
    points = (point for one in suggested if (point := _point(record, made, one)) is not None)
    priors = dict.fromkeys(legal.same[point] for point in points if point in legal.same)
    known = tuple(one for one in priors if one in legal.options)
    return RecordProposals(Space(searched, known), record, layouts, legal)


def _suggested(record: SearchedRecord, layouts: Layouts, growth: int) -> list[Candidate]:
    """What ``suggest`` has for the record and is small enough; no swap where a move of one member does it too."""
    line, *others = record.lines
    try:
        found = propose(line, layouts, others=(*others, *record.others), premises=record.subject.premises)
    except NothingToSuggest:
        return []
    swaps = [any(move.kind is MoveKind.SWAP for move in one.moves) for one in found]
    return [
        one
        for one, swap in zip(found, swaps, strict=True)
        if one.before.id == record.subject.layout.id
        and one.after.size <= one.before.size + growth
        and all(holder.after <= holder.before + growth for holder in one.holders)
        and not (swap and not all(swaps))
    ]


def _point(record: SearchedRecord, made: Sequence[SearchDimension], candidate: Candidate) -> Point | None:
    """The point at which the candidate is made; ``None`` where it cannot be chosen."""
    point = [0] * len(made)
    places = {one.name: number for number, one in enumerate(made)}
    for name, choice in record.assigned(candidate).items():
        place = places.get(name)
        if place is None or choice not in made[place].choices:
            return None
        point[place] = made[place].choices.index(choice)
    return tuple(point)
