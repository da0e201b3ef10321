# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that become smaller when one member moves into a hole or away from one: which member, and where to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from linesmith.analyzer.geometry.alignment import used_end
from linesmith.analyzer.geometry.atoms import Atom, atoms
from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import (
    BYTE,
    alignment_of,
    end_of,
    first_bit,
    lay_out,
    place_shapes,
    refusal,
    round_up,
    shape_of,
)
from linesmith.analyzer.geometry.unmovable import unmovable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, FactKind, Layout, Member, SourceFact

# Facts that do not keep members at their places: what they say holds for other orders, or is of the size alone.
_FREE = (FactKind.RANGE, FactKind.TOGETHER, FactKind.SIZE, FactKind.PAGE, FactKind.SLAB)
MOST_LEVELS = 128


@dataclass(frozen=True, slots=True)
class SingleMove:
    """The member ``name`` behind the member ``after``, which gives the record ``size`` bytes; ``order`` is the new one.

    ``record`` is as it was, with the alignments that explain it.
    """

    name: str
    after: str
    size: int
    record: Layout
    order: tuple[Member, ...]

    @property
    def layout(self) -> Layout:
        """The record with its members where C's rules put them then."""
        return lay_out(self.record, self.order)


def shrinking_moves(
    layout: Layout, layouts: Layouts, facts: Iterable[SourceFact] = (), kept: Collection[str] = ()
) -> Iterator[SingleMove]:
    """Every move of one member into a hole, or of one behind a hole to any place, that makes the record smaller.

    Members keep the alignment that they have. The first one stays. Nothing is moved, or moved past, that is a
    bit-field, is aligned to a line, has no size, ends in an open array, belongs to a cacheline group, or is fixed by
    ``facts``. Those ``kept`` stay, but may be passed. Nothing is found in unions, in records that C's rules do not
    explain, and in those that others know by their offsets.
    """
    explained = with_inferred_alignment(layout)
    if unmovable(layout, layouts) or refusal(explained) or _least_size(explained) >= layout.size:
        return
    told = tuple(facts)
    parts = atoms(explained, layouts, told)
    walls = _walls(parts, layouts, told)
    movable = [one for one, part in enumerate(parts) if one not in walls and _is_named(part) and part.name not in kept]
    sizes = _Sizes(explained, parts)
    holed = _holed(parts, explained)
    for target in _targets(parts, layouts):
        for moved in movable:
            if moved == target or walls.intersection(_between(moved, target)):
                continue
            if target not in holed and moved - 1 not in holed:
                continue
            size = sizes.after(moved, target)
            if size < layout.size:
                order = _moved(range(len(parts)), moved, target)
                members = tuple(member for one in order for member in parts[one].members)
                yield SingleMove(parts[moved].name, parts[target].last, size, explained, members)


class _Sizes:
    """Sizes of a record after moves, without placing what a move does not change."""

    def __init__(self, layout: Layout, parts: Sequence[Atom]) -> None:
        self._layout = layout
        self._shapes = [tuple(shape_of(member) for member in part.members) for part in parts]
        self._ends = [0]
        for shapes in self._shapes:
            self._ends.append(end_of(shapes, self._ends[-1]))

    def after(self, moved: int, target: int) -> int:
        """Bytes with ``moved`` behind ``target``; as many as now unless what lies between ends earlier then."""
        changed = range(min(moved, target + 1), max(moved, target) + 1)
        end = self._end(_moved(changed, moved, target), self._ends[changed.start])
        if end >= self._ends[changed.stop]:
            return self._layout.size
        rest = self._end(range(changed.stop, len(self._shapes)), end)
        return place_shapes((), self._alignment, rest).size

    @cached_property
    def _alignment(self) -> int:
        shapes = (shape for part in self._shapes for shape in part)
        return place_shapes(shapes, self._layout.alignment).alignment

    def _end(self, order: Iterable[int], end: int) -> int:
        for one in order:
            end = end_of(self._shapes[one], end)
        return end


def _least_size(layout: Layout) -> int:
    """Bytes that the members need without any hole between them."""
    shapes = [shape_of(member) for member in layout.members]
    bits = sum(shape.size if shape.width is None else shape.width for shape in shapes)
    return round_up(-(-bits // BYTE), place_shapes(shapes, layout.alignment).alignment)


def _walls(parts: Sequence[Atom], layouts: Layouts, facts: Iterable[SourceFact]) -> frozenset[int]:
    """Numbers of the atoms that are not moved and that no other moves past."""
    walls = {number for number, part in enumerate(parts) if not number or _is_wall(part, layouts)}
    for fact in facts:
        if fact.kind in _FREE:
            continue
        named = {number for number, part in enumerate(parts) if not set(part.names).isdisjoint(fact.members)}
        walls |= set(range(max(named) + 1)) if named and fact.kind is FactKind.POSITIONAL else named
    return frozenset(walls)


def _is_wall(part: Atom, layouts: Layouts) -> bool:
    return part.is_group or any(
        member.is_bit_field or not member.size or alignment_of(member) >= CACHE_LINE_BYTES or _is_open(member, layouts)
        for member in part.members
    )


def _is_open(member: Member, layouts: Layouts, levels: int = MOST_LEVELS) -> bool:
    """Whether the member goes on behind its end: an open array, or a record that ends in one."""
    if member.flexible or (member.dimensions and not prod(member.dimensions)):
        return True
    inner = layouts.by_id(member.record).members if member.record is not None and levels else ()
    return any(_is_open(one, layouts, levels - 1) for one in inner[-1:])


def _is_named(part: Atom) -> bool:
    """Whether it is one member that the source calls by a name."""
    return len(part.members) == 1 and bool(part.members[0].name)


def _holed(parts: Sequence[Atom], layout: Layout) -> frozenset[int]:
    """Numbers of the atoms that a hole follows, or the padding."""
    starts = [first_bit(part.members[0]) // BYTE for part in parts[1:]] + [layout.size]
    places = enumerate(zip(parts, starts, strict=True))
    return frozenset(number for number, (part, start) in places if used_end(part.members[-1]) < start)


def _targets(parts: Sequence[Atom], layouts: Layouts) -> Iterator[int]:
    """Numbers of the atoms behind which something can be declared."""
    return (number for number, part in enumerate(parts) if part.last and not _is_open(part.members[-1], layouts))


def _between(moved: int, target: int) -> range:
    """Numbers of the atoms that a move passes."""
    return range(moved + 1, target + 1) if moved < target else range(target + 1, moved)


def _moved(numbers: range, moved: int, target: int) -> list[int]:
    """The atoms with these numbers, in the order in which ``moved`` stands behind ``target``."""
    order = [one for one in numbers if one != moved]
    order.insert(order.index(target) + 1 if target in numbers else 0, moved)
    return order
