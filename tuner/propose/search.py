# SPDX-License-Identifier: GPL-2.0-or-later
"""Every small change to a record, placed and priced exactly.

Single steps move, swap or align one atom. Changes of several steps move two hot atoms; or a group of hot atoms that do
not disturb each other, such as a lock and what it protects, since each of them moved alone leaves the rest where it
disturbs; or give a written member a line of its own. The packing solver adds orders of any number of moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.model import Strategy
from linesmith.tuner.propose.arrangement import (
    Arrangement,
    Option,
    aligned,
    aligns,
    fits,
    gathered,
    moves,
    placed,
    price,
    swaps,
    unchanged,
)
from linesmith.tuner.propose.packing import packed
from linesmith.tuner.propose.subject import ContendedRecord

# Up to here every single move of every atom is tried; a larger record has its cold atoms moved only in between the hot
# ones, and one such as task_struct none of them, since the work grows with the cube of the atoms.
EXHAUSTIVE_ATOMS, MOST_COLD_MOVED = 96, 192
# Second moves are tried on top of this many first moves, the best of each hot atom.
BEAM = 12
# Of a larger record two moves are tried for so many of the hottest atoms: task_struct has 200 places for each.
FEW_HOT = 6
# How many hot atoms move together.
MOST_TOGETHER = 4
# What of its own contention an atom may have with the others of its group.
HARMLESS = 0.3


def options(subject: ContendedRecord) -> tuple[Option, ...]:
    """Every small change that lowers the cost, one for each distinct layout, single steps first.

    Of several steps only what does more than each single one. What leaves nothing at the size there is needs no more.
    """
    start = unchanged(subject)
    found = _helpful(subject, _single_steps(subject, start))
    single = tuple(found.values())
    if any(option.cost.anywhere == 0 and subject.grown(option.size, option.granule) <= 0 for option in single):
        return single
    # Of the single steps only those count that no other is as good as.
    best: list[Option] = []
    for option in single:
        if not any(_as_good(subject, one, option) for one in best):
            best = [*(one for one in best if not _as_good(subject, option, one)), option]
    for layout, option in _helpful(subject, _several_steps(subject, start)).items():
        if not any(_as_good(subject, one, option) for one in best):
            found.setdefault(layout, option)
    for layout, option in _helpful(subject, packed(subject)).items():
        found.setdefault(layout, option)
    return tuple(found.values())


def _helpful(
    subject: ContendedRecord, arrangements: Iterable[Arrangement]
) -> dict[tuple[tuple[int, ...], int], Option]:
    """By layout (starts and size) the first that has it and costs less in the profile's phase and over all phases."""
    found: dict[tuple[tuple[int, ...], int], Option] = {}
    for arrangement in arrangements:
        option = price(subject, arrangement)
        cheaper = option.cost.here < subject.now.here and option.cost.anywhere < subject.now.anywhere
        if cheaper and (option.starts, option.size) not in found and fits(subject, option):
            found[option.starts, option.size] = option
    return found


def _as_good(subject: ContendedRecord, one: Option, two: Option) -> bool:
    """Whether a single step already does what several do."""
    if one.cost.here > two.cost.here or one.cost.anywhere > two.cost.anywhere or one.size > two.size:
        return False
    return subject.grown(one.size, one.granule) <= subject.grown(two.size, two.granule)


def _single_steps(subject: ContendedRecord, start: Arrangement) -> Iterator[Arrangement]:
    hot = subject.hot
    cold = [atom for atom in start.order if atom not in hot]
    yield from moves(subject, start, hot)
    yield from swaps(subject, start, hot)
    yield from aligns(subject, start, hot)
    small = len(start.order) <= EXHAUSTIVE_ATOMS or not hot
    if small or len(start.order) <= MOST_COLD_MOVED:
        yield from moves(subject, start, cold, None if small else range(min(hot), max(hot) + 1))


def _several_steps(subject: ContendedRecord, start: Arrangement) -> Iterator[Arrangement]:
    """Changes of more than one step, those that need fewer first."""
    owners = {subject.owners[spot.member] for spot in subject.heat.spots if spot.written}
    written = [atom for atom in subject.hot if atom in owners]
    yield from _two_moves(subject, start)
    yield from _grouped(subject, start)
    yield from _isolated(subject, start, written)


def _two_moves(subject: ContendedRecord, start: Arrangement) -> Iterator[Arrangement]:
    """Two hot atoms moved, on top of the best places of the first; the first alone need not help."""
    hot = subject.hot if len(start.order) <= EXHAUSTIVE_ATOMS else subject.hot[:FEW_HOT]
    for atom in hot:
        priced = (price(subject, one) for one in moves(subject, start, [atom]))
        first = sorted(priced, key=lambda option: (option.cost.anywhere, option.cost.here))
        for option in first[: max(1, BEAM // len(hot))]:
            yield from moves(subject, option.arrangement, [other for other in hot if other != atom])


def _grouped(subject: ContendedRecord, start: Arrangement) -> Iterator[Arrangement]:
    """Each group of several hot atoms at every place, the first of the declaration in front."""
    for first, *rest in map(sorted, harmless_groups(subject, subject.hot)):
        for place in subject.freedom.places(first) if rest else ():
            moved = placed(subject, start, first, place)
            together = gathered(subject, moved, (first, *rest)) if moved is not None else None
            if together is not None and together.order != start.order:
                yield replace(together, purpose=Strategy.GROUP)


def harmless_groups(subject: ContendedRecord, ranked: Sequence[int]) -> list[list[int]]:
    """The atoms of ``ranked`` in groups of those that hardly disturb each other, in the same order."""
    costs: dict[frozenset[int], float] = {}
    for contact in subject.heat.sampled:
        pair = frozenset((subject.owners[contact.first.member], subject.owners[contact.second.member]))
        costs[pair] = costs.get(pair, 0.0) + contact.weight

    def hostility(atom: int, others: Sequence[int]) -> float:
        return sum(weight for pair, weight in costs.items() if atom in pair and pair - {atom} <= set(others))

    found: list[list[int]] = []
    for atom in ranked:
        whole = sum(weight for pair, weight in costs.items() if atom in pair)
        open_to = [one for one in found if len(one) < MOST_TOGETHER and hostility(atom, one) <= HARMLESS * whole]
        if whole and open_to:
            min(open_to, key=lambda one: hostility(atom, one)).append(atom)
        else:
            found.append([atom])
    return found


def _isolated(subject: ContendedRecord, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each of ``atoms`` alone on a line, wherever it may be: what is behind it begins the next line."""
    for atom in atoms if subject.may_resize else ():
        for place in subject.freedom.places(atom):
            there = placed(subject, start, atom, place)
            alone = None if there is None else aligned(subject, there, atom)
            if alone is not None and alone.order[-1] != atom:
                alone = aligned(subject, alone, alone.order[alone.order.index(atom) + 1])
            if alone is not None:
                yield replace(alone, purpose=Strategy.ISOLATE)
