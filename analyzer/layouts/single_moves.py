# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that become smaller when one member moves into a hole or away from one: which member, and where to.

Within a record, or within an anonymous struct of it; no member leaves its part or enters one. Records that others know
by their offsets are not rearranged at all: see ``unmovable``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from linesmith.analyzer.layouts import placement
from linesmith.analyzer.layouts.collection import MOST_LEVELS, ChangedLayouts, Layouts
from linesmith.analyzer.layouts.gaps import record_alignment, with_inferred_alignment
from linesmith.analyzer.layouts.leaves import is_open, nameable
from linesmith.analyzer.model import CACHE_LINE_BYTES, FactKind, Layout, Member, RecordKind, SourceFact

# Facts that do not keep members at their places: what they say holds for other orders, or is of the size alone.
_FREE = (FactKind.RANGE, FactKind.TOGETHER, FactKind.SIZE, FactKind.PAGE, FactKind.SLAB)
_MOST_PARTS = 256


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
        return placement.lay_out(self.record, self.order)


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
    if placement.unmovable(layout, layouts) or placement.refusal(explained):
        return
    shapes = [placement.shape_of(member) for member in explained.members]
    bits = sum(shape.size if shape.width is None else shape.width for shape in shapes)
    alignment = placement.place_shapes(shapes, explained.alignment).alignment
    if placement.round_up(-(-bits // placement.BYTE), alignment) >= explained.size:
        return  # they have no hole between them
    known = tuple(facts)
    parts = placement.atoms(explained, layouts, known)
    walls = _walls(parts, layouts, known)
    single = [number for number, part in enumerate(parts) if len(part.members) == 1 and part.members[0].name]
    movable = [number for number in single if number not in walls and parts[number].name not in kept]
    sizes = _Sizes(explained, parts)
    ends = [*(part.members[0].first_bit // placement.BYTE for part in parts[1:]), layout.size]
    holed = {number for number, part in enumerate(parts) if part.members[-1].used_end < ends[number]}
    for target, behind in enumerate(parts):
        if not behind.last or is_open(behind.members[-1], layouts):
            continue
        for moved in movable:
            if moved == target or (target not in holed and moved - 1 not in holed):
                continue
            if walls.intersection(range(moved + 1, target + 1) if moved < target else range(target + 1, moved)):
                continue
            size = sizes.after(moved, target)
            if size < layout.size:
                order = _moved(range(len(parts)), moved, target)
                members = tuple(member for one in order for member in parts[one].members)
                yield SingleMove(parts[moved].name, behind.last, size, explained, members)


class _Sizes:
    """Sizes of a record after moves, without placing what a move does not change."""

    def __init__(self, layout: Layout, parts: Sequence[placement.LayoutAtom]) -> None:
        self._layout = layout
        self._shapes = [tuple(placement.shape_of(member) for member in part.members) for part in parts]
        self._ends = [0]
        for shapes in self._shapes:
            self._ends.append(placement.end_of(shapes, self._ends[-1]))

    def after(self, moved: int, target: int) -> int:
        """Bytes with ``moved`` behind ``target``; as many as now unless what lies between ends earlier then."""
        changed = range(min(moved, target + 1), max(moved, target) + 1)
        end = self._end(_moved(changed, moved, target), self._ends[changed.start])
        if end >= self._ends[changed.stop]:
            return self._layout.size
        rest = self._end(range(changed.stop, len(self._shapes)), end)
        return placement.place_shapes((), self._alignment, rest).size

    @cached_property
    def _alignment(self) -> int:
        shapes = (shape for part in self._shapes for shape in part)
        return placement.place_shapes(shapes, self._layout.alignment).alignment

    def _end(self, order: Iterable[int], end: int) -> int:
        for one in order:
            end = placement.end_of(self._shapes[one], end)
        return end


def _walls(parts: Sequence[placement.LayoutAtom], layouts: Layouts, facts: Iterable[SourceFact]) -> frozenset[int]:
    """Numbers of the atoms that are not moved and that no other moves past."""
    walls = {0}
    for number, part in enumerate(parts):
        if part.is_group or any(
            one.is_bit_field or not one.size or placement.alignment_of(one) >= CACHE_LINE_BYTES or is_open(one, layouts)
            for one in part.members
        ):
            walls.add(number)
    for fact in facts:
        if fact.kind in _FREE:
            continue
        named = {number for number, part in enumerate(parts) if not set(part.names).isdisjoint(fact.members)}
        walls |= set(range(max(named) + 1)) if named and fact.kind is FactKind.POSITIONAL else named
    return frozenset(walls)


def _moved(numbers: range, moved: int, target: int) -> list[int]:
    """The atoms with these numbers, in the order in which ``moved`` stands behind ``target``."""
    order = [one for one in numbers if one != moved]
    order.insert(order.index(target) + 1 if target in numbers else 0, moved)
    return order


@dataclass(frozen=True, slots=True)
class AnonymousPart:
    """An anonymous struct: ``record``, and the ``holders`` on the way to it, outermost first, each with its member."""

    record: Layout
    holders: tuple[tuple[Layout, int], ...]

    def changed(self, new: Layout) -> tuple[Layout, ...]:
        """What becomes of the holders with ``new`` in place of the part, outermost first."""
        found = [new]
        for holder, index in reversed(self.holders):
            found.insert(0, _holding(holder, index, found[0].size))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class ShrinkingMove:
    """A move of one member, within a ``part`` or in the record itself, by which all of it has ``size`` bytes."""

    single: SingleMove
    size: int
    layouts: Layouts
    part: AnonymousPart | None = None

    @property
    def name(self) -> str:
        """The member that is moved."""
        return self.single.name

    @property
    def after(self) -> str:
        """The one that it stands behind then."""
        return self.single.after

    @property
    def result(self) -> tuple[Layout, Layouts]:
        """The record as it is then, among the layouts with its changed parts."""
        if self.part is None:
            return self.single.layout, self.layouts
        changed = self.part.changed(self.single.layout)
        return changed[0], ChangedLayouts(self.layouts, changed)


def moves(
    layout: Layout, layouts: Layouts, facts: Sequence[SourceFact] = (), kept: Collection[str] = ()
) -> Iterator[ShrinkingMove]:
    """Every move of one member, in the record or within an anonymous struct of it, that makes the record smaller.

    ``facts`` and ``kept`` are those of ``shrinking_moves``.
    """
    for one in shrinking_moves(layout, layouts, facts, kept):
        yield ShrinkingMove(one, one.size, layouts)
    if placement.unmovable(layout, layouts):
        return
    # The anonymous structs of the record, at any depth, whose sizes decide its own; none that is there twice.
    nested = tuple(islice(_nested(layout, layouts, ()), _MOST_PARTS))
    often = Counter(part.record.id for part in nested)
    for part in nested:
        once = part.record.kind is RecordKind.STRUCT and often[part.record.id] == 1
        if once and _is_free(part, layout, layouts, facts):
            sizes: dict[int, int] = {}
            for one in shrinking_moves(part.record, layouts, facts, kept):
                if one.size not in sizes:
                    sizes[one.size] = part.changed(replace(part.record, size=one.size))[0].size
                if sizes[one.size] < layout.size:
                    yield ShrinkingMove(one, sizes[one.size], layouts, part)


def _nested(layout: Layout, layouts: Layouts, holders: tuple[tuple[Layout, int], ...]) -> Iterator[AnonymousPart]:
    """Members without a name of records without one: a record with a tag (-fms-extensions) is others', too."""
    inner = {
        index: layouts.by_id(one.record)
        for index, one in enumerate(layout.members)
        if not one.name and one.record is not None and not one.dimensions
    }
    anonymous = {index: record for index, record in inner.items() if not record.name}
    if not anonymous or len(holders) >= MOST_LEVELS:
        return
    explained = with_inferred_alignment(layout)
    if layout.kind is not RecordKind.UNION:
        if placement.refusal(explained) is not None:
            return
    elif _union_size(explained) != layout.size or any(one.offset or one.is_bit_field for one in layout.members):
        return
    for index, record in anonymous.items():
        here = (*holders, (explained, index))
        yield AnonymousPart(record, here)
        yield from _nested(record, layouts, here)


def _union_size(layout: Layout) -> int:
    return placement.round_up(max((one.size for one in layout.members), default=0), record_alignment(layout))


def _holding(holder: Layout, index: int, size: int) -> Layout:
    """The holder with a member of another size."""
    grown = replace(holder.members[index], size=size)
    members = (*holder.members[:index], grown, *holder.members[index + 1 :])
    if holder.kind is not RecordKind.UNION:
        return placement.lay_out(holder, members)
    union = replace(holder, members=members)
    return replace(union, size=_union_size(union))


def _is_free(part: AnonymousPart, layout: Layout, layouts: Layouts, facts: Sequence[SourceFact]) -> bool:
    """Whether no fact holds the part by what lies around it."""
    if not facts:
        return True
    order = [one.path for one in nameable(layout, layouts)]
    inside = {one.path for one in nameable(part.record, layouts)}
    last = max((number for number, path in enumerate(order) if path in inside), default=0)
    for fact in facts:
        places = [order.index(name) for name in fact.members if name in order]
        if fact.kind is FactKind.POSITIONAL and places and max(places) > last:
            return False
        crossing = inside & set(fact.members) and set(fact.members) - inside
        if fact.kind in (FactKind.RANGE, FactKind.TOGETHER) and crossing:
            return False
    return True
