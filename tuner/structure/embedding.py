# SPDX-License-Identifier: GPL-2.0-or-later
"""An object that a record points to as a member of it: where it can lie, and which members come to lie with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.errors import StructureRefused
from linesmith.analyzer.geometry.atoms import atoms
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout
from linesmith.tuner.constraints import freedom
from linesmith.tuner.structure.reshape import at, behind, embedded, explained, with_member


@dataclass(frozen=True, slots=True)
class Embedding:
    """``before`` with ``member``, a pointer to ``target``, replaced by the object: ``after``.

    ``beside`` are the members that share a line with it, ``moved`` those that moved behind it.
    """

    before: Layout
    target: Layout
    member: str
    after: Layout
    size: int
    beside: tuple[str, ...]
    moved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pulling:
    """What is asked: the pointer ``member`` of a record; its target shrunk to ``size`` bytes; ``alignment`` in bytes.

    ``cold`` are members that move behind it.
    """

    member: str
    size: int | None = None
    alignment: int = CACHE_LINE_BYTES
    cold: tuple[str, ...] = ()


def target_of(layout: Layout, member: str, layouts: Layouts) -> Layout:
    """The record that a pointer points to; raises ``StructureRefused`` where it is none, or not known."""
    pointer = layout.members[at(layout, member)]
    found = layouts.variants(pointer.target) if pointer.target else ()
    if pointer.size != 8 or not found or not found[0].size:
        raise StructureRefused(f"{member} of {layout.title} is no pointer to a record whose layout is known")
    return found[0]


def in_place(layout: Layout, layouts: Layouts, wish: Pulling) -> Embedding:
    """The object where its pointer is, or behind all others if it may go there: whichever makes the record smaller."""
    here, target, position = _pulled(layout, layouts, wish)
    ways = (here, behind(here, position, ())) if _may_go_last(layout, layouts, position) else (here,)
    chosen = min(ways, key=lambda one: (one.size, len(tuple(_beside(one, wish.member)))))
    return _embedding(layout, target, wish, chosen, ())


def with_cold_behind(layout: Layout, layouts: Layouts, wish: Pulling) -> Embedding:
    """The object on the last line, with all cold members behind it.

    Raises ``StructureRefused`` when one of them may not follow all others.
    """
    here, target, position = _pulled(layout, layouts, wish)
    cold = [at(layout, name) for name in wish.cold]
    if refused := [name for name in (wish.member, *wish.cold) if not _may_go_last(layout, layouts, at(layout, name))]:
        raise StructureRefused(f"{', '.join(refused)} may not move to the end of {layout.title}")
    names = tuple(layout.members[place].name for place in sorted(cold))
    return _embedding(layout, target, wish, behind(here, position, cold), names)


def fewest_cold(layout: Layout, layouts: Layouts, wish: Pulling) -> tuple[str, ...]:
    """Of the cold members the first that make the record smallest, without those that are not needed for it."""
    here, _, position = _pulled(layout, layouts, wish)
    if not _may_go_last(layout, layouts, position):
        return ()
    movable = [at(layout, name) for name in wish.cold if _may_go_last(layout, layouts, at(layout, name))]
    sizes = [behind(here, position, movable[:count]).size for count in range(1, len(movable) + 1)]
    moved = movable[: sizes.index(min(sizes)) + 1] if sizes else []
    for place in reversed(moved[:]):
        rest = [one for one in moved if one != place]
        if rest and behind(here, position, rest).size == min(sizes):
            moved = rest
    return tuple(layout.members[place].name for place in moved)


def _pulled(layout: Layout, layouts: Layouts, wish: Pulling) -> tuple[Layout, Layout, int]:
    """The record with the object in place of its pointer, the object's record, and its position."""
    whole = explained(layout)
    target = target_of(layout, wish.member, layouts)
    position = at(layout, wish.member)
    return (
        with_member(whole, position, embedded(whole.members[position], target, wish.size, wish.alignment)),
        target,
        position,
    )


def _may_go_last(layout: Layout, layouts: Layouts, position: int) -> bool:
    """Whether the constraints let this member, alone, follow all others."""
    parts = atoms(layout, layouts)
    free = freedom(layout, parts, layouts)
    atom = next(number for number, part in enumerate(parts) if layout.members[position] in part.members)
    return len(parts[atom].members) == 1 and free.places(atom).stop == len(parts)


def _embedding(layout: Layout, target: Layout, wish: Pulling, after: Layout, moved: Sequence[str]) -> Embedding:
    size = wish.size if wish.size is not None else target.size
    return Embedding(layout, target, wish.member, after, size, tuple(_beside(after, wish.member)), tuple(moved))


def _beside(layout: Layout, name: str) -> Iterator[str]:
    """The members that lie on a line of the one called ``name``, were the record to begin with a line."""
    own = layout.members[at(layout, name)]
    first, last = own.offset // CACHE_LINE_BYTES, (own.end - 1) // CACHE_LINE_BYTES
    for member in layout.members:
        meets = member.offset // CACHE_LINE_BYTES <= last and (member.end - 1) // CACHE_LINE_BYTES >= first
        if meets and member.name != name and member.size:
            yield member.name or "an anonymous member"


def coldest(layout: Layout, functions: Mapping[str, int], keep: str) -> tuple[str, ...]:
    """The members by how many functions touch them, fewest first; the larger first among equals."""
    sizes = {member.name: member.size for member in layout.members}
    known = [name for name in functions if name != keep and name in sizes]
    return tuple(sorted(known, key=lambda name: (functions[name], -sizes[name])))
