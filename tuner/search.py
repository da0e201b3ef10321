# SPDX-License-Identifier: GPL-2.0-or-later
"""Every small change to a subject, placed and priced exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.geometry.placement import BYTE, place_shapes
from linesmith.analyzer.model import Strategy
from linesmith.tuner.arrangement import Arrangement, aligns, moves, swaps, unchanged
from linesmith.tuner.cost.conflict import Cost
from linesmith.tuner.cost.forecast import forecast
from linesmith.tuner.grouping import grouped
from linesmith.tuner.isolation import among_cold, isolated
from linesmith.tuner.packing.packed import packed
from linesmith.tuner.subject import Subject

# Up to here every single move of every atom is tried; a larger record has its cold atoms moved only in between the hot
# ones, since the work grows with the cube of the atoms.
EXHAUSTIVE_ATOMS = 96
# Second moves are tried on top of this many first moves, the best of each hot atom.
BEAM = 12
# Hot atoms that are looked at, those that cost most.
MOST_HOT = 16
# Orders that the packing solver begins: about a second.
PACKING_WORK = 20_000


@dataclass(frozen=True, slots=True)
class Option:
    """An arrangement with its price; ``starts`` are bytes in the object by position in the present layout.

    ``size`` and ``granule`` are in bytes.
    """

    arrangement: Arrangement
    starts: tuple[int, ...]
    size: int
    granule: int
    cost: Cost


def price(subject: Subject, arrangement: Arrangement) -> Option:
    """Place the arrangement by C's rules and price it."""
    placed = place_shapes(arrangement.shapes(subject), subject.layout.alignment)
    starts = _by_position(subject, arrangement, placed.starts)
    granule = max(subject.heat.granule, placed.alignment) if arrangement.aligned else subject.heat.granule
    return Option(arrangement, starts, placed.size, granule, _expected(subject, starts, placed.size, granule))


def _expected(subject: Subject, starts: tuple[int, ...], size: int, granule: int) -> Cost:
    """The forecast; of objects that will begin elsewhere, the profile's change as much as all of them."""
    growth = subject.growth(size)
    expected = forecast(subject.heat, subject.turns, starts, granule, growth)
    now = subject.now
    if now.anywhere and (growth or granule != subject.heat.granule):
        return Cost(now.here * expected.anywhere / now.anywhere, expected.anywhere)
    return expected


def _by_position(subject: Subject, arrangement: Arrangement, bits: tuple[int, ...]) -> tuple[int, ...]:
    """Bytes in the object by the members' positions in the present layout, from bits in the new order."""
    positions = [position for atom in arrangement.order for position in subject.positions[atom]]
    starts = [0] * len(positions)
    for position, bit in zip(positions, bits, strict=True):
        starts[position] = subject.base + bit // BYTE
    return tuple(starts)


def options(subject: Subject) -> tuple[Option, ...]:
    """Every small change that lowers the cost; of several steps only what does more than each single one.

    What leaves nothing at the size there is needs no more steps.
    """
    start = unchanged(subject)
    now = price(subject, start)
    single = _helpful(subject, now, _single(subject, start))
    if any(option.cost.anywhere == 0 and _grown(subject, option) <= 0 for option in single):
        return single
    several = _helpful(subject, now, _several(subject, start))
    more = (option for option in several if not any(_as_good(subject, one, option) for one in single))
    return _distinct((*single, *more, *_helpful(subject, now, _packed(subject))))


def _distinct(found: Iterable[Option]) -> tuple[Option, ...]:
    """Each layout once, as the first that has it says it."""
    known: dict[tuple[tuple[int, ...], int], Option] = {}
    for option in found:
        known.setdefault((option.starts, option.size), option)
    return tuple(known.values())


def _packed(subject: Subject) -> Iterator[Arrangement]:
    """The record packed anew for each number of moves that is worth it."""
    for one in packed(subject, work=PACKING_WORK):
        several = Strategy.PACKED if len(one.arrangement.moves) > 1 else None
        yield replace(one.arrangement, purpose=several, optimality=one.optimality)


def _as_good(subject: Subject, one: Option, two: Option) -> bool:
    """Whether a single step already does what several do."""
    cheaper = one.cost.here <= two.cost.here and one.cost.anywhere <= two.cost.anywhere
    return cheaper and one.size <= two.size and _grown(subject, one) <= _grown(subject, two)


def _grown(subject: Subject, option: Option) -> int:
    return subject.grown(option.size, option.granule)


def _several(subject: Subject, start: Arrangement) -> Iterator[Arrangement]:
    """Changes of more than one step, those that need fewer first."""
    hot = hot_atoms(subject)
    written = [atom for atom in hot if atom in _written(subject)]
    yield from _two_moves(subject, start, hot)
    yield from grouped(subject, start, hot)
    yield from among_cold(subject, start, written)
    yield from isolated(subject, start, written)


def _written(subject: Subject) -> frozenset[int]:
    return frozenset(subject.owners[spot.member] for spot in subject.heat.spots if spot.written)


def _two_moves(subject: Subject, start: Arrangement, hot: Sequence[int]) -> Iterator[Arrangement]:
    """Two hot atoms moved, on top of the best places of the first; the first alone need not help."""
    for atom in hot:
        first = sorted((price(subject, one) for one in moves(subject, start, [atom])), key=_price_of)
        for option in first[: max(1, BEAM // len(hot))]:
            yield from moves(subject, option.arrangement, [other for other in hot if other != atom])


def _price_of(option: Option) -> tuple[float, float]:
    return option.cost.anywhere, option.cost.here


def hot_atoms(subject: Subject) -> tuple[int, ...]:
    """Atoms of the sampled contacts, each once, the heaviest contacts first; the written one of a contact first.

    Behind them those that would take a line from who leaves it.
    """
    found: dict[int, None] = {}
    for contact in sorted(subject.heat.sampled, key=lambda one: -one.weight):
        ends = sorted((contact.first, contact.second), key=lambda spot: spot.name != contact.writer)
        found.update(dict.fromkeys(subject.owners[spot.member] for spot in ends))
    found.update(dict.fromkeys(_takers(subject)))
    return tuple(found)[:MOST_HOT]


def _takers(subject: Subject) -> Iterator[int]:
    """Atoms of members whose stores would disturb others, those with the most misses first."""
    amounts = Counter[str]()
    for victim in (one for line in subject.heat.lines for one in line.victims):
        amounts.update(dict(victim.takers))
    owners = {spot.name: subject.owners[spot.member] for spot in subject.heat.spots}
    return (owners[name] for name, _ in amounts.most_common() if name in owners)


def _single(subject: Subject, start: Arrangement) -> Iterator[Arrangement]:
    hot = hot_atoms(subject)
    cold = [atom for atom in start.order if atom not in hot]
    yield from moves(subject, start, hot)
    yield from swaps(subject, start, hot)
    yield from aligns(subject, start, hot)
    small = len(start.order) <= EXHAUSTIVE_ATOMS or not hot
    yield from moves(subject, start, cold, None if small else range(min(hot), max(hot) + 1))


def fits(subject: Subject, option: Option) -> bool:
    """Whether the layout is legal, and neither it nor a record around it larger than it may be."""
    if option.size != subject.layout.size and not subject.may_resize:
        return False
    allowed = subject.premises.growth
    if allowed is not None and _grown(subject, option) > allowed:
        return False
    return subject.freedom.refuses(option.arrangement.order, option.starts, option.size) is None


def _helpful(subject: Subject, now: Option, arrangements: Iterable[Arrangement]) -> tuple[Option, ...]:
    """Those that cost less in the profile's phase and over all phases, one for each distinct layout."""
    found: dict[tuple[tuple[int, ...], int], Option] = {}
    for arrangement in arrangements:
        option = price(subject, arrangement)
        cheaper = option.cost.here < now.cost.here and option.cost.anywhere < now.cost.anywhere
        if cheaper and fits(subject, option):
            found.setdefault((option.starts, option.size), option)
    return tuple(found.values())
