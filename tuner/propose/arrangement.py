# SPDX-License-Identifier: GPL-2.0-or-later
"""Other orders of a record's atoms: every single move, swap and alignment that the constraints allow.

Of each order ``churn`` says what a reviewer has to read: the fewest members that move, and the lines of the diff.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from math import inf

import numpy as np

from linesmith.analyzer.layouts.placement import BYTE, LayoutAtom, shape_of
from linesmith.analyzer.model import CACHE_LINE_BYTES, Churn, Member, Move, MoveKind, Strategy
from linesmith.tuner.propose.meetings import Cost
from linesmith.tuner.propose.phases import Integers
from linesmith.tuner.propose.subject import ContendedRecord

_SINGLE = {
    MoveKind.MOVE: Strategy.MOVE,
    MoveKind.SWAP: Strategy.SWAP,
    MoveKind.FILL_HOLE: Strategy.HOLE,
    MoveKind.ALIGN: Strategy.ALIGN,
}
# Arrangements that are placed and priced at once, and a cost that all of them are below.
BATCH = 512
UNLIMITED = Cost(inf, inf)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """An order of atoms (numbers in declaration order) and how it came about.

    ``aligned`` holds the atoms whose first member is newly aligned, with its alignment in bytes; ``moved`` the atoms
    that a reviewer sees change. ``purpose`` is the strategy of one that no single step explains.
    """

    order: tuple[int, ...]
    aligned: Mapping[int, int] = field(default_factory=dict)
    moves: tuple[Move, ...] = ()
    moved: tuple[int, ...] = ()
    purpose: Strategy | None = None

    @property
    def strategy(self) -> Strategy:
        """How it was found; several steps without a purpose are taken to be two moves."""
        if self.purpose is not None or len(self.moves) > 1:
            return self.purpose or Strategy.TWO_MOVES
        return _SINGLE[self.moves[0].kind] if self.moves else Strategy.MOVE

    def members(self, parts: tuple[LayoutAtom, ...]) -> tuple[Member, ...]:
        """The members in this order, alignments set."""
        return tuple(member for atom in self.order for member in _members_of(parts, atom, self.aligned.get(atom)))


def _members_of(parts: tuple[LayoutAtom, ...], atom: int, alignment: int | None) -> tuple[Member, ...]:
    first, *rest = parts[atom].members
    return (replace(first, alignment=alignment), *rest) if alignment else parts[atom].members


def unchanged(subject: ContendedRecord) -> Arrangement:
    """The order that the source has now."""
    return Arrangement(tuple(range(len(subject.parts))))


def moves(
    subject: ContendedRecord, start: Arrangement, atoms: Iterable[int], within: range | None = None
) -> Iterator[Arrangement]:
    """Each atom of ``atoms`` at every other legal place of ``start``'s order, or at those of them in ``within``."""
    for atom in atoms:
        if not subject.parts[atom].name or atom in subject.freedom.pinned:
            continue
        rest = [other for other in start.order if other != atom]
        for place in subject.freedom.places(atom):
            if within is not None and place not in within:
                continue
            order = (*rest[:place], atom, *rest[place:])
            if order != start.order and (not place or subject.parts[rest[place - 1]].last):
                yield _moved(subject, start, atom, order)


def _moved(subject: ContendedRecord, start: Arrangement, atom: int, order: tuple[int, ...]) -> Arrangement:
    moves = (*start.moves, move_in(subject, atom, order))
    return replace(start, order=order, moves=moves, moved=_also(start.moved, atom))


def move_in(subject: ContendedRecord, atom: int, order: tuple[int, ...]) -> Move:
    """The move that says where ``atom`` is in ``order``."""
    part, place = subject.parts[atom], order.index(atom)
    after = subject.parts[order[place - 1]].last if place else None
    return Move(MoveKind.MOVE, part.name, after=after, members=part.names if len(part.members) > 1 else ())


def _also(moved: tuple[int, ...], *atoms: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*moved, *atoms)))


def placed(subject: ContendedRecord, start: Arrangement, atom: int, place: int) -> Arrangement | None:
    """``start`` with ``atom`` at ``place`` of the others' order, unless that is not legal or has no name to say it."""
    rest = [other for other in start.order if other != atom]
    if atom in subject.freedom.pinned or not subject.parts[atom].name or place not in subject.freedom.places(atom):
        return None
    if place and not subject.parts[rest[place - 1]].last:
        return None
    order = (*rest[:place], atom, *rest[place:])
    return start if order == start.order else _moved(subject, start, atom, order)


def lightest(subject: ContendedRecord, made: Arrangement, hot: Iterable[int]) -> Arrangement:
    """The same order, made by the one ``hot`` atom that a block of more members passes: a diff shows that one move."""
    if len(made.moves) != 1 or made.moves[0].kind is not MoveKind.MOVE or made.purpose is not None:
        return made
    block = made.moved[0]
    rest = [other for other in made.order if other != block]
    place = made.order.index(block)
    passed = rest[min(block, place) : max(block, place)]
    if len(passed) != 1 or passed[0] not in hot:
        return made
    if len(subject.parts[passed[0]].members) >= len(subject.parts[block].members):
        return made
    return placed(subject, unchanged(subject), passed[0], made.order.index(passed[0])) or made


def gathered(subject: ContendedRecord, start: Arrangement, atoms: Iterable[int]) -> Arrangement | None:
    """``start`` with each of ``atoms`` behind the one before it; the first stays where it is."""
    now: Arrangement | None = start
    before: int | None = None
    for atom in atoms:
        if before is not None and now is not None:
            rest = [other for other in now.order if other != atom]
            now = placed(subject, now, atom, rest.index(before) + 1)
        before = atom
    return now


def swaps(subject: ContendedRecord, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each atom of ``atoms`` changing places with every other that may: each is one member, which a swap names."""
    places = {atom: place for place, atom in enumerate(start.order)}
    for atom in atoms:
        for other in start.order:
            single = all(subject.parts[one].name and len(subject.parts[one].members) == 1 for one in (atom, other))
            if single and atom != other and subject.freedom.segments[atom] == subject.freedom.segments[other]:
                order = list(start.order)
                order[places[atom]], order[places[other]] = other, atom
                move = Move(MoveKind.SWAP, subject.parts[atom].name, partner=subject.parts[other].name)
                yield replace(
                    start, order=tuple(order), moves=(*start.moves, move), moved=_also(start.moved, atom, other)
                )


def aligns(subject: ContendedRecord, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each atom of ``atoms`` aligned to a cache line where it stands; only where the record may change its size."""
    for atom in atoms if subject.may_resize else ():
        if (found := aligned(subject, start, atom)) is not None:
            yield found


def aligned(subject: ContendedRecord, start: Arrangement, atom: int) -> Arrangement | None:
    """``start`` with ``atom`` at the beginning of a cache line, unless it is there or cannot be known to be."""
    first = subject.parts[atom].members[0]
    if first.is_bit_field or not first.name or (first.alignment or 1) >= CACHE_LINE_BYTES:
        return None
    move = Move(MoveKind.ALIGN, first.name, align=CACHE_LINE_BYTES)
    found = {**start.aligned, atom: CACHE_LINE_BYTES}
    return replace(start, aligned=found, moves=(*start.moves, move), moved=_also(start.moved, atom))


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


def price(subject: ContendedRecord, arrangement: Arrangement) -> Option:
    """Place the arrangement by C's rules and price it."""
    return next(prices(subject, (arrangement,)))


def prices(subject: ContendedRecord, arrangements: Iterable[Arrangement], below: Cost = UNLIMITED) -> Iterator[Option]:
    """Place each arrangement by C's rules and price it; those that cost less than ``below``, here and anywhere.

    Of objects that will begin elsewhere, the cost in the profile's phase is taken to change as much as that of all.
    """
    waiting = iter(arrangements)
    while batch := list(islice(waiting, BATCH)):
        starts, sizes, granules = _laid_out(subject, batch)
        growth_to = {size: subject.growth(size) for size in set(sizes)}
        growths = [growth_to[size] for size in sizes]
        found = np.empty((2, len(batch)))
        for granule, growth in set(zip(granules, growths, strict=True)):
            rows = [at for at, one in enumerate(zip(granules, growths, strict=True)) if one == (granule, growth)]
            found[:, rows] = subject.heat.costs(starts[rows], granule, growth)
            if subject.now.anywhere and (growth or granule != subject.heat.granule):
                found[0, rows] = subject.now.here * found[1, rows] / subject.now.anywhere
        wanted = (found[0] < below.here) & (found[1] < below.anywhere)
        for at in np.flatnonzero(wanted).tolist():
            cost = Cost(float(found[0, at]), float(found[1, at]))
            yield Option(batch[at], tuple(starts[at].tolist()), sizes[at], granules[at], cost)


def _laid_out(subject: ContendedRecord, batch: Sequence[Arrangement]) -> tuple[Integers, list[int], list[int]]:
    """Of each arrangement a row of starts as an ``Option`` has them, its size and the granule of its objects."""
    shapes = [shape for atom in subject.shapes for shape in atom]
    size = np.array([shape.size if shape.width is None else shape.width for shape in shapes])
    # What a bit-field may span; a member that is none begins at a multiple of its alignment in any case.
    unit = np.array([-1 if shape.width is None else shape.size for shape in shapes])
    forced = np.array([shape.forced for shape in shapes])
    aligned = np.tile(np.array([shape.alignment for shape in shapes]), (len(batch), 1))
    for row, one in enumerate(batch):
        for atom, alignment in one.aligned.items():
            first, *_ = _members_of(subject.parts, atom, alignment)
            aligned[row, subject.positions[atom][0]] = shape_of(first).alignment
    # The places of atoms in the order, and from these the members one behind the other.
    rank = np.empty((len(batch), len(subject.parts)), np.int16)
    orders = np.fromiter(chain.from_iterable(one.order for one in batch), np.int64, rank.size).reshape(rank.shape)
    np.put_along_axis(rank, orders, np.arange(len(subject.parts), dtype=np.int16), 1)
    order = np.argsort(rank[:, subject.owners], axis=1, kind="stable")
    starts, end, rows = np.empty_like(aligned), np.zeros(len(batch), np.int64), np.arange(len(batch)) * len(shapes)
    # Alignments are powers of two.
    for column, spanned in zip(np.ascontiguousarray(order.T), unit[order].max(axis=0).tolist(), strict=True):
        step, bits = aligned.take(rows + column), size.take(column)
        begin = (end + step - 1) & -step
        if spanned >= 0:
            end = (end + forced[column] - 1) & -forced[column]
            over = (((end & (step - 1)) + bits + step - 1) & -step) > unit[column]
            begin = np.where(over, (end + step - 1) & -step, end)
        starts.put(rows + column, begin)
        end = begin + bits
    most = np.maximum(aligned.max(axis=1), max((subject.layout.alignment or 1) * BYTE, forced.max()))
    sizes, alignments = -(-end // most) * most // BYTE, most // BYTE
    least = subject.heat.granule
    granules = [max(least, int(own)) if one.aligned else least for one, own in zip(batch, alignments, strict=True)]
    return subject.base + starts // BYTE, sizes.tolist(), granules


def fits(subject: ContendedRecord, option: Option) -> bool:
    """Whether the layout is legal, and neither it nor a record around it larger than it may be."""
    if option.size != subject.layout.size and not subject.may_resize:
        return False
    allowed = subject.premises.growth
    if allowed is not None and subject.grown(option.size, option.granule) > allowed:
        return False
    return subject.freedom.refuses(option.arrangement.order, option.starts, option.size) is None


# A diff shows a line that moves, or changes, twice: once removed and once added.
LINES = 2


def churn(subject: ContendedRecord, arrangement: Arrangement) -> Churn:
    """Members that move or are newly aligned, each taken to be one line of the source."""
    sizes = [len(part.members) for part in subject.parts]
    still = staying_atoms(arrangement.order, sizes)
    moved = [size for atom, size in enumerate(sizes) if atom not in still]
    begun = sum(1 for atom in arrangement.aligned if atom in still)
    return Churn(sum(moved) + begun, LINES * (sum(moved) + begun), len(moved) + begun)


def staying_atoms(order: Sequence[int], sizes: Sequence[int], fixed: Collection[int] = ()) -> frozenset[int]:
    """Atoms that can stay while the others move: of all that are in their old order, those with most members.

    ``order`` has atoms by their old numbers, ``sizes`` how many members each atom has. Those of ``fixed`` stay.
    """
    places = {atom: place for place, atom in enumerate(order)}
    # Atoms that follow each other as before stay all or none.
    runs: list[list[int]] = []
    for atom in order:
        if runs and runs[-1][-1] + 1 == atom:
            runs[-1].append(atom)
        else:
            runs.append([atom])
    best: list[tuple[int, tuple[int, ...]]] = []
    for run in runs:
        if all((run[0] < other) == (places[run[0]] < places[other]) for other in fixed if other not in run):
            before = max((one for one in best if one[1][-1] < run[0]), default=(0, ()))
            best.append((before[0] + sum(sizes[atom] for atom in run), (*before[1], *run)))
    return frozenset(max(best, default=(0, ()))[1])
