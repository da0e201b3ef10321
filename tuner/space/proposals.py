# SPDX-License-Identifier: GPL-2.0-or-later
"""From what ``suggest`` knows to a space that can be searched: the one interface between proposals and the tuner.

A better proposer brings other dimensions and other priors; whoever searches, builds and measures does not notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from math import prod

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Candidate, Dimension, Finding, HolderChange, MoveKind, Point, Searching, Space
from linesmith.patches.message.paragraphs import move_clause
from linesmith.tuner.constraints.facts import NO_PREMISES, Premises
from linesmith.tuner.cost.saving import saving
from linesmith.tuner.propose.arrangement import unchanged
from linesmith.tuner.propose.candidates import candidate, propose
from linesmith.tuner.propose.search import Option, price
from linesmith.tuner.propose.subject import ContendedRecord
from linesmith.tuner.space.composition import Choice, composed
from linesmith.tuner.space.dimensions import Decision, assigned, decisions, hottest
from linesmith.tuner.space.hot_record import HotRecord, estimate, hot_records

# Every point of a space as a layout, or the reason why it is none: each layout belongs to one point only.

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


def legality(target: ContendedRecord, made: Sequence[Decision], growth: int) -> Legality:
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


# Keeps a space small: of too many choices, those go first that alone are predicted worst.

# Points of a space, the illegal ones included.
MOST_POINTS = 600
# What a choice counts for that is not legal alone: it may be in company.
_UNKNOWN = 1.0


def narrowed(
    record: HotRecord, made: Sequence[Decision], suggested: Sequence[Sequence[Candidate]], growth: int
) -> tuple[Decision, ...]:
    """The decisions with so few choices that there are at most ``MOST_POINTS`` points.

    Large decisions lose a choice first, those of colder members before; in each, what ``suggested`` chooses goes last.
    """
    kept = {item for group in suggested for one in group for item in assigned(record, one).items()}
    ranked = [_ranked(record, decision, growth, kept) for decision in made]
    while prod(len(choices) for choices in ranked) > MOST_POINTS:
        poorest = max(range(len(ranked)), key=lambda number: _burden(number, len(ranked[number])))
        ranked[poorest] = ranked[poorest][:-1]
    named = zip(made, ranked, strict=True)
    return tuple(_in_order(decision, choices) for decision, choices in named if len(choices) > 1)


def _burden(number: int, choices: int) -> tuple[float, int]:
    """What makes a decision lose a choice: to have many, and to be of a colder member than others."""
    return choices * (1 + number / 2) if choices > 1 else 0.0, number


def _in_order(decision: Decision, choices: Sequence[Choice]) -> Decision:
    return Decision(decision.name, tuple(choice for choice in decision.choices if choice in choices))


def _ranked(record: HotRecord, decision: Decision, growth: int, kept: set[tuple[str, Choice]]) -> list[Choice]:
    """The choices by worth: as it is, those suggested, then those predicted best alone."""
    now, *others = decision.choices
    return [now, *sorted(others, key=lambda one: ((decision.name, one) not in kept, _alone(record, one, growth)))]


def _alone(record: HotRecord, choice: Choice, growth: int) -> float:
    try:
        return estimate(record, composed(record.subject, [choice], growth))
    except NothingToSuggest:
        return _UNKNOWN


# A prior that removes less than this share of what the best of them does comes behind all that remove more.
GOOD_PART = 0.7
# Records around the one that is changed which are told by name.
MOST_HOLDERS = 3


@dataclass(frozen=True, slots=True)
class Proposals:
    """The layouts of one record as points of ``space``; its priors are the candidates of ``suggest``, best first.

    All methods but ``reason`` raise ``NothingToSuggest`` for a point that is not legal, with the reason.
    """

    space: Space
    record: HotRecord
    layouts: Layouts
    legality: Legality

    def reason(self, point: Point) -> str:
        """Why there is nothing to build for the point: a clause, empty where there is something."""
        return self.legality.refused.get(point, "" if point in self.legality.options else "there is no such point")

    def candidates(self, point: Point) -> tuple[Candidate, ...]:
        """The changes to make together, one for each record concerned."""
        option = self._option(point)
        target = self.record.subject
        saved = saving(target, option.starts, option.size, option.granule)
        return (candidate(self.record.leading, target, option, self.layouts, saved),)

    def finding(self, point: Point) -> Finding:
        """The line that the point's candidates are for."""
        self._option(point)
        return self.record.leading

    def describe(self, point: Point) -> tuple[str, ...]:
        """What is done, in words, and what it does to the records around the one that is changed."""
        option, target = self._option(point), self.record.subject
        holders = target.holders.changes(option.granule, option.size - target.layout.size)
        return (*(move_clause(move) for move in option.arrangement.moves), *_around(holders))

    def estimate(self, point: Point) -> float:
        """The predicted ratio of its cost to that of the baseline; below 1 is better."""
        return estimate(self.record, self._option(point))

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
) -> Proposals:
    """What can be searched for the record asked for, else for the hottest one of which a layout can be changed.

    Raises ``NothingToSuggest`` when there is none, with the reason for the hottest line.
    """
    for record in hot_records(findings, layouts, searching.type, premises):
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
    worst = sorted(larger, key=lambda one: one.before - one.after)[:MOST_HOLDERS]
    if worst:
        sizes = ", ".join(f"{one.record} from {one.before} to {one.after} bytes" for one in worst)
        more = f" and {len(larger) - MOST_HOLDERS} more" if len(larger) > MOST_HOLDERS else ""
        yield f"around it grow {sizes}{more}"


def _proposals(record: HotRecord, layouts: Layouts, growth: int) -> Proposals:
    suggested = _suggested(record, layouts, growth)
    made = narrowed(record, decisions(record, [one for group in suggested for one in group], growth), suggested, growth)
    legal = legality(record.subject, made, growth)
    dimensions = tuple(Dimension(one.name, tuple(choice.words for choice in one.choices)) for one in made)
    points = (point for group in suggested if (point := _point(record, made, group)) is not None)
    priors = dict.fromkeys(legal.same[point] for point in points if point in legal.same)
    known = tuple(_recommended(record, legal, [point for point in priors if point in legal.options]))
    return Proposals(Space(dimensions, known), record, layouts, legal)


def _recommended(record: HotRecord, legal: Legality, priors: list[Point]) -> list[Point]:
    """The priors, those that are predicted to remove a good part before the others; else in their order."""
    costs = {point: estimate(record, legal.options[point]) for point in priors}
    best = min(costs.values(), default=1.0)
    return sorted(priors, key=lambda point: 1 - costs[point] < GOOD_PART * (1 - best))


def _suggested(record: HotRecord, layouts: Layouts, growth: int) -> list[tuple[Candidate, ...]]:
    """Candidates to make together: each of the hottest line alone, the best of all lines at once.

    What moves only members that no line shows hot is left to the hottest line.
    """
    findings, premises = (*record.lines, *record.others), record.subject.premises
    hot = {record.subject.parts[atom].name for atom in hottest(record)}
    leading, *others = (
        [one for one in _candidates(line, findings, layouts, premises) if _fits(record, one, growth)]
        for line in record.lines
    )
    best = [next((one for one in line if {move.member for move in one.moves} <= hot), None) for line in others]
    more = tuple(dict.fromkeys(one for one in best if one is not None))
    alone: list[tuple[Candidate, ...]] = [(one,) for one in (*leading, *more)]
    return [*alone, (*leading[:1], *more)] if len(alone) > 1 and more else alone


def _candidates(line: Finding, findings: Sequence[Finding], layouts: Layouts, premises: Premises) -> list[Candidate]:
    """What ``suggest`` shows for the line; no swap where a move of one member does it too."""
    try:
        found = propose(line, layouts, others=[one for one in findings if one is not line], premises=premises)
    except NothingToSuggest:
        return []
    kinds = [{move.kind for move in one.moves} for one in found]
    moved = any(MoveKind.SWAP not in one for one in kinds)
    return [one for one, kind in zip(found, kinds, strict=True) if MoveKind.SWAP not in kind or not moved]


def _fits(record: HotRecord, proposed: Candidate, growth: int) -> bool:
    """Whether the candidate is of the record that is searched, and small enough."""
    same = proposed.before.id == record.subject.layout.id
    around = all(one.after <= one.before + growth for one in proposed.holders)
    return same and around and proposed.after.size <= proposed.before.size + growth


def _point(record: HotRecord, made: Sequence[Decision], together: Sequence[Candidate]) -> Point | None:
    """The point at which these candidates are made; ``None`` where one of them, or both at once, cannot be chosen."""
    point = [0] * len(made)
    places = {decision.name: number for number, decision in enumerate(made)}
    for name, choice in (item for one in together for item in assigned(record, one).items()):
        place = places.get(name)
        if place is None or choice not in made[place].choices:
            return None
        number = made[place].choices.index(choice)
        if point[place] not in (0, number):
            return None
        point[place] = number
    return tuple(point)
