# SPDX-License-Identifier: GPL-2.0-or-later
"""Several choices made together: one arrangement by C's rules, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.model import Move, MoveKind
from linesmith.tuner.propose.arrangement import Arrangement, Option, price
from linesmith.tuner.propose.subject import ContendedRecord


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to decide a dimension: ``moves`` in the words of a candidate, none for what is now.

    ``alone`` has the member that stands behind the aligned one aligned too, so that the line is its own.
    """

    words: str
    moves: tuple[Move, ...] = ()
    alone: bool = False


def composed(target: ContendedRecord, choices: Iterable[Choice], growth: int) -> Option:
    """The layout of all ``choices`` together, which may be ``growth`` bytes larger than now; so may what holds it.

    Raises ``NothingToSuggest`` with the reason where it is not legal or too large.
    """
    made = tuple(choices)
    moves = [move for choice in made for move in choice.moves]
    order, done = _ordered(target, moves)
    aligned = _aligned(target, order, made)
    alignments = ((target.parts[atom].members[0].name, align) for atom, align in aligned.items())
    steps = (*done, *(Move(MoveKind.ALIGN, name, align=align) for name, align in alignments))
    moved = tuple(dict.fromkeys(_atom(target, name) for move in steps for name in (move.member, move.partner) if name))
    option = price(target, Arrangement(tuple(order), aligned, steps, moved))
    _check_growth(target, option, growth)
    forbidden = target.freedom.refuses(option.arrangement.order, option.starts, option.size)
    if forbidden is not None:
        raise NothingToSuggest(str(forbidden))
    return option


def _check_growth(target: ContendedRecord, option: Option, growth: int) -> None:
    """Neither the record nor what holds it may grow by more than ``growth`` bytes."""
    size, now, title = option.size, target.layout.size, target.layout.title
    allowed = f"grow by {growth} bytes" if growth else "not grow"
    if size != now and not target.may_resize:
        raise NothingToSuggest(f"{title} would have {size} bytes instead of {now} and move what follows it")
    if size > now + growth:
        raise NothingToSuggest(f"{title} would grow from {now} to {size} bytes, but may {allowed}")
    largest = target.holders.largest(option.granule, option.size - target.layout.size)
    if largest is not None and largest.after > largest.before + growth:
        sizes = f"from {largest.before} to {largest.after} bytes"
        held = f"{largest.record}, which holds {target.title},"
        raise NothingToSuggest(f"{held} would grow {sizes}, but may {allowed}")


def _ordered(target: ContendedRecord, moves: Sequence[Move]) -> tuple[list[int], list[Move]]:
    """The order of atoms and the moves that were needed for it, in the sequence in which they are made."""
    order = list(range(len(target.parts)))
    done: list[Move] = []
    swaps = [move for move in moves if move.kind is MoveKind.SWAP]
    for move in (*swaps, *_sequence(target, [one for one in moves if one.kind is MoveKind.MOVE])):
        new = _swapped(target, order, move) if move.kind is MoveKind.SWAP else _moved(target, order, move)
        if new != order:
            order = new
            done.append(move)
    return order, done


def _sequence(target: ContendedRecord, moves: Sequence[Move]) -> list[Move]:
    """The moves with each behind those that move what it goes behind."""
    waiting, done = list(moves), list[Move]()
    while waiting:
        moving = {_atom(target, move.member) for move in waiting}
        free = [move for move in waiting if move.after is None or _atom(target, move.after) not in moving]
        if not free:
            names = " and ".join(move.member for move in waiting)
            raise NothingToSuggest(f"{names} cannot each follow the other")
        done += free
        waiting = [move for move in waiting if move not in free]
    return done


def _moved(target: ContendedRecord, order: Sequence[int], move: Move) -> list[int]:
    atom = _atom(target, move.member)
    rest = [other for other in order if other != atom]
    place = 0 if move.after is None else rest.index(_atom(target, move.after)) + 1
    if place not in target.freedom.places(atom):
        where = f"behind {move.after}" if move.after else "to the front"
        raise NothingToSuggest(f"{move.member} may not go {where}{_binding(target)}")
    return [*rest[:place], atom, *rest[place:]]


def _swapped(target: ContendedRecord, order: Sequence[int], move: Move) -> list[int]:
    atom, other = _atom(target, move.member), _atom(target, move.partner or "")
    if target.freedom.segments[atom] != target.freedom.segments[other]:
        raise NothingToSuggest(f"{move.member} and {move.partner} may not change places{_binding(target)}")
    exchanged = {atom: other, other: atom}
    return [exchanged.get(one, one) for one in order]


def _binding(target: ContendedRecord) -> str:
    constraints = "; ".join(str(one) for one in target.freedom.constraints[:3])
    return f" ({constraints})" if constraints else ""


def _atom(target: ContendedRecord, name: str) -> int:
    """The atom that holds the member ``name``."""
    ends = (at for at, part in enumerate(target.parts) if name in (part.name, part.last))
    inside = (at for at, part in enumerate(target.parts) if any(one.name == name for one in part.members))
    return next(chain(ends, inside))


def _aligned(target: ContendedRecord, order: Sequence[int], choices: Iterable[Choice]) -> dict[int, int]:
    """Alignments in bytes by atom, those of the members behind included."""
    found: dict[int, int] = {}
    for choice in choices:
        for move in choice.moves:
            if move.align is not None:
                atom = _atom(target, move.member)
                behind = order.index(atom) + 1
                atoms = (atom, order[behind]) if choice.alone and behind < len(order) else (atom,)
                found |= {one: max(move.align, found.get(one, 0)) for one in atoms}
    return {atom: align for atom, align in sorted(found.items()) if _needed(target, atom, align)}


def _needed(target: ContendedRecord, atom: int, align: int) -> bool:
    """Whether the atom is less aligned now; raises ``NothingToSuggest`` where an alignment cannot be written."""
    first = target.parts[atom].members[0]
    if first.is_bit_field or not first.name or first.flexible or target.parts[atom].is_group:
        name = target.parts[atom].name or "an anonymous member"
        raise NothingToSuggest(f"{name} cannot be aligned by itself")
    return (first.alignment or 1) < align
