# SPDX-License-Identifier: GPL-2.0-or-later
"""Every small change to a subject, placed and priced exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.layouts.placement import BYTE, place_shapes
from linesmith.analyzer.model import CACHE_LINE_BYTES, Strategy
from linesmith.tuner.cost.meetings import Cost
from linesmith.tuner.cost.turns import forecast
from linesmith.tuner.packing.solve import packed
from linesmith.tuner.propose.arrangement import Arrangement, aligned, aligns, gathered, moves, placed, swaps, unchanged
from linesmith.tuner.propose.subject import Subject

# Hot members that go together: those that do not disturb each other, such as a lock and what it protects.
#
# What is used together costs a line less when it is on one; and each member moved alone leaves the rest of its company
# where it disturbs.

# How many hot atoms move together.
MOST_TOGETHER = 4
# What of its own contention an atom may have with the others of its company.
HARMLESS = 0.3

# What an atom costs together with others, ``None`` for all there are.
Hostility = Callable[[int, Sequence[int] | None], float]


def companies(ranked: Sequence[int], hostility: Hostility) -> list[list[int]]:
    """The atoms of ``ranked`` in companies of those that hardly disturb each other, in the same order."""
    found: list[list[int]] = []
    for atom in ranked:
        whole = hostility(atom, None)
        open_to = [one for one in found if len(one) < MOST_TOGETHER and hostility(atom, one) <= HARMLESS * whole]
        if whole and open_to:
            min(open_to, key=lambda one: hostility(atom, one)).append(atom)
        else:
            found.append([atom])
    return found


def grouped(subject: Subject, start: Arrangement, ranked: Sequence[int]) -> Iterator[Arrangement]:
    """Each company of several atoms at every place, the first of the declaration in front."""
    for company in companies(ranked, _hostility(subject)):
        first, *rest = sorted(company)
        if not rest:
            continue
        for place in subject.freedom.places(first):
            moved = placed(subject, start, first, place)
            together = gathered(subject, moved, (first, *rest)) if moved is not None else None
            if together is not None and together.order != start.order:
                yield replace(together, purpose=Strategy.GROUP)


def _hostility(subject: Subject) -> Hostility:
    """What the sampled contacts say that atoms cost each other."""
    costs: dict[frozenset[int], float] = {}
    for contact in subject.heat.sampled:
        pair = frozenset((subject.owners[contact.first.member], subject.owners[contact.second.member]))
        costs[pair] = costs.get(pair, 0.0) + contact.weight

    def hostility(atom: int, others: Sequence[int] | None) -> float:
        met = (pair for pair in costs if atom in pair and (others is None or pair - {atom} <= set(others)))
        return sum(costs[pair] for pair in met)

    return hostility


# A written member kept by itself: alone on its line, or there with members that nobody was seen to use.
#
# Alone costs memory: padding up to the next line. Cold members that fill the rest of that line, at the end of the
# record, cost none; they have to be moved there, from in between those that are used.

# Cold members that are moved to make a line of their own for one that is written.
MOST_COLD = 4


def isolated(subject: Subject, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each of ``atoms`` alone on a line, wherever it may be: what is behind it begins the next line."""
    for atom in atoms if subject.may_resize else ():
        for place in subject.freedom.places(atom):
            alone = _beginning(subject, placed(subject, start, atom, place), atom)
            if alone is not None and alone.order[-1] != atom:
                alone = aligned(subject, alone, alone.order[alone.order.index(atom) + 1])
            if alone is not None:
                yield replace(alone, purpose=Strategy.ISOLATE)


def _beginning(subject: Subject, start: Arrangement | None, atom: int) -> Arrangement | None:
    """``start`` with ``atom`` at the beginning of a line."""
    return aligned(subject, start, atom) if start is not None else None


def among_cold(subject: Subject, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each of ``atoms`` as far back as it may, with cold ones before it, or behind it on a line that it begins."""
    cold = _cold(subject)
    for atom in atoms:
        yield from _with_last(subject, start, atom, frozenset(cold))
        last = subject.freedom.places(atom)[-1]
        behind = placed(subject, start, atom, last)
        if behind is None:
            continue
        for chosen in _companies(subject, [one for one in cold if subject.freedom.places(one)[-1] == last]):
            yield from _before(subject, behind, atom, chosen)
            yield from _after(subject, behind, atom, chosen)


def _with_last(subject: Subject, start: Arrangement, atom: int, cold: frozenset[int]) -> Iterator[Arrangement]:
    """``atom`` at the beginning of a line, with cold ones behind it that are the last already."""
    for place in subject.freedom.places(atom) if subject.may_resize else ():
        now = _beginning(subject, placed(subject, start, atom, place), atom)
        if now is not None and cold.issuperset(now.order[place + 1 :]):
            yield replace(now, purpose=Strategy.COLD_LAST)


def _cold(subject: Subject) -> list[int]:
    """Atoms without samples that may be moved, the last of the declaration first: what most code uses stands early."""
    hot = {subject.owners[spot.member] for spot in subject.heat.spots}
    sizes = {atom: _size(subject, atom) for atom in range(len(subject.parts))}
    return [atom for atom in reversed(sizes) if atom not in hot and sizes[atom] and subject.parts[atom].name]


def _size(subject: Subject, atom: int) -> int:
    return sum(member.size for member in subject.parts[atom].members if member.bit_size is None)


def _companies(subject: Subject, cold: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The one that fills a line by itself with the least bytes; and the last few of the declaration."""
    long = [atom for atom in cold if _size(subject, atom) >= CACHE_LINE_BYTES - 8]
    if long:
        yield (min(long, key=lambda atom: _size(subject, atom)),)
    for count in range(1, min(MOST_COLD, len(cold)) + 1):
        yield tuple(reversed(cold[:count]))
    large = sorted(cold, key=lambda atom: -_size(subject, atom))
    for count in range(2, min(MOST_COLD, len(cold)) + 1):
        yield tuple(sorted(large[:count]))


def _before(subject: Subject, start: Arrangement, atom: int, cold: Sequence[int]) -> Iterator[Arrangement]:
    """The cold ones between ``atom`` and all others."""
    now: Arrangement | None = start
    for one in cold:
        now = now and placed(subject, now, one, now.order.index(atom) - (now.order.index(one) < now.order.index(atom)))
    if now is not None:
        yield replace(now, purpose=Strategy.COLD_LAST)


def _after(subject: Subject, start: Arrangement, atom: int, cold: Sequence[int]) -> Iterator[Arrangement]:
    """``atom`` at the beginning of a line, the cold ones behind it on that line."""
    now = _beginning(subject, start, atom) if subject.may_resize else None
    for one in cold:
        now = now and placed(subject, now, one, subject.freedom.places(one)[-1])
    if now is not None:
        yield replace(now, purpose=Strategy.COLD_LAST)


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
