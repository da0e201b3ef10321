# SPDX-License-Identifier: GPL-2.0-or-later
"""Other orders of a record's atoms: every single move, swap and alignment that the constraints allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from linesmith.analyzer.model import CACHE_LINE_BYTES, Member, Move, MoveKind
from linesmith.tuner.atoms import Atom
from linesmith.tuner.placement import Shape, shape_of
from linesmith.tuner.subject import Subject


@dataclass(frozen=True, slots=True)
class Arrangement:
    """An order of atoms (numbers in declaration order) and how it came about.

    ``aligned`` holds the atoms whose first member is newly aligned, with its alignment in bytes; ``moved`` the atoms
    that a reviewer sees change.
    """

    order: tuple[int, ...]
    aligned: Mapping[int, int] = field(default_factory=dict)
    moves: tuple[Move, ...] = ()
    moved: tuple[int, ...] = ()

    def members(self, parts: tuple[Atom, ...]) -> tuple[Member, ...]:
        """The members in this order, alignments set."""
        return tuple(member for atom in self.order for member in _members_of(parts, atom, self.aligned.get(atom)))

    def shapes(self, subject: Subject) -> Iterator[Shape]:
        """Their shapes in this order."""
        for atom in self.order:
            if atom in self.aligned:
                yield from map(shape_of, _members_of(subject.parts, atom, self.aligned[atom]))
            else:
                yield from subject.shapes[atom]


def _members_of(parts: tuple[Atom, ...], atom: int, alignment: int | None) -> tuple[Member, ...]:
    first, *rest = parts[atom].members
    return (replace(first, alignment=alignment), *rest) if alignment else parts[atom].members


def unchanged(subject: Subject) -> Arrangement:
    """The order that the source has now."""
    return Arrangement(tuple(range(len(subject.parts))))


def moves(
    subject: Subject, start: Arrangement, atoms: Iterable[int], within: range | None = None
) -> Iterator[Arrangement]:
    """Each atom of ``atoms`` at every other legal place of ``start``'s order, or at those of them in ``within``."""
    for atom in atoms:
        if not subject.parts[atom].name:
            continue
        rest = [other for other in start.order if other != atom]
        for place in subject.freedom.places(atom):
            if within is not None and place not in within:
                continue
            order = (*rest[:place], atom, *rest[place:])
            if order != start.order:
                yield _moved(subject, start, atom, order)


def _moved(subject: Subject, start: Arrangement, atom: int, order: tuple[int, ...]) -> Arrangement:
    part = subject.parts[atom]
    place = order.index(atom)
    after = subject.parts[order[place - 1]].last if place else None
    together = tuple(member.name for member in part.members) if len(part.members) > 1 else ()
    move = Move(MoveKind.MOVE, part.name, after=after, members=together)
    return replace(start, order=order, moves=(*start.moves, move), moved=(*start.moved, atom))


def swaps(subject: Subject, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each atom of ``atoms`` changing places with every other atom that may."""
    for atom in atoms:
        for other in start.order:
            if _may_swap(subject, atom, other):
                yield _swapped(subject, start, atom, other)


def _may_swap(subject: Subject, atom: int, other: int) -> bool:
    named = bool(subject.parts[atom].name and subject.parts[other].name)
    return named and atom != other and subject.freedom.segments[atom] == subject.freedom.segments[other]


def _swapped(subject: Subject, start: Arrangement, atom: int, other: int) -> Arrangement:
    exchanged = {atom: other, other: atom}
    order = tuple(exchanged.get(one, one) for one in start.order)
    move = Move(MoveKind.SWAP, subject.parts[atom].name, partner=subject.parts[other].name)
    return replace(start, order=order, moves=(*start.moves, move), moved=(*start.moved, atom, other))


def aligns(subject: Subject, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each atom of ``atoms`` aligned to a cache line where it stands; only where the record may change its size."""
    for atom in atoms if subject.may_resize else ():
        first = subject.parts[atom].members[0]
        if first.is_bit_field or not first.name or (first.alignment or 1) >= CACHE_LINE_BYTES:
            continue
        move = Move(MoveKind.ALIGN, first.name, align=CACHE_LINE_BYTES)
        aligned = {**start.aligned, atom: CACHE_LINE_BYTES}
        yield replace(start, aligned=aligned, moves=(*start.moves, move), moved=(*start.moved, atom))
