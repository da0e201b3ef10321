# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that become smaller when one member moves into a hole or away from one: which member, and where to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice, pairwise

from linesmith.analyzer.layouts.alignment import record_alignment, with_inferred_alignment
from linesmith.analyzer.layouts.collection import ChangedLayouts, Layouts
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.layouts.placement import (
    BYTE,
    LayoutAtom,
    alignment_of,
    atoms,
    end_of,
    lay_out,
    place_shapes,
    refusal,
    round_up,
    shape_of,
)
from linesmith.analyzer.model import CACHE_LINE_BYTES, FactKind, Layout, Member, MemberCategory, RecordKind, SourceFact

# Records that are not rearranged at all, because others know their members by offset.

# Types of a fixed byte order: include/uapi/linux/types.h, include/uapi/linux/virtio_types.h.
_ORDERED = frozenset(
    [f"__{order}{bits}" for order in ("le", "be", "virtio") for bits in (16, 32, 64)] + ["__sum16", "__wsum"]
)
_SYSTEM = ("/usr/include/", "/usr/lib/")
# Records over struct page, which describes a page frame: include/linux/mm_types.h, mm/slab.h.
_PAGE = frozenset(("page", "folio", "slab", "ptdesc", "zpdesc"))
# Records that entry code or the CPU fills: the header or file that declares them.
_BY_HARDWARE = {
    "pt_regs": "arch/x86/include/asm/ptrace.h",
    "inactive_task_frame": "arch/x86/include/asm/switch_to.h",
    "fixed_percpu_data": "arch/x86/include/asm/processor.h",
    "cpu_entry_area": "arch/x86/include/asm/cpu_entry_area.h",
    "gdt_page": "arch/x86/include/asm/desc.h",
}
# Records inside records are looked at this deep.
_DEPTH = 8


def unmovable(layout: Layout, layouts: Layouts) -> str | None:
    """Why the members of ``layout`` must all stay where they are, or ``None``."""
    file = layout.file or ""
    if is_user_abi(file):
        return f"{file} declares it, so programs rely on its offsets"
    if file.startswith(_SYSTEM):
        return f"{file} declares it, which other programs share"
    if layout.name in _PAGE and layouts.variants("page") and layouts.variants("folio"):
        return "it lies over the same memory as struct page, folio and slab, and assertions keep them in step"
    if f"/{file}".endswith(f"/{_BY_HARDWARE.get(layout.name)}"):
        return "entry code or the CPU knows its offsets"
    if _exchanged(layout, layouts) and _ordered(layout, layouts):
        return "its members have a fixed byte order, so it is read and written by others"
    if shuffled(layout):
        return "its members are not in the order of their declarations: a compiler plugin has shuffled them"
    return None


def is_user_abi(file: str) -> bool:
    """Whether ``file`` lies in one of the kernel's folders of headers that user space shares."""
    return "/uapi/" in f"/{file}"


def shuffled(layout: Layout) -> bool:
    """Whether members come in another order than the lines that declare them."""
    lines = [member.line for member in layout.members if member.line is not None]
    return any(one > other for one, other in pairwise(lines))


def _exchanged(layout: Layout, layouts: Layouts, depth: int = 0) -> bool:
    """Whether all that it holds is bytes and numbers of a fixed byte order."""
    return depth < _DEPTH and all(_plain(member, layouts, depth) for member in layout.members)


def _plain(member: Member, layouts: Layouts, depth: int) -> bool:
    if member.record is not None:
        return _exchanged(layouts.by_id(member.record), layouts, depth + 1)
    return member.category is MemberCategory.SCALAR and (member.natural_alignment == 1 or _bare(member) in _ORDERED)


def _ordered(layout: Layout, layouts: Layouts, depth: int = 0) -> bool:
    """Whether it holds a number of a fixed byte order."""
    return depth < _DEPTH and any(
        _bare(member) in _ORDERED
        or (member.record is not None and _ordered(layouts.by_id(member.record), layouts, depth + 1))
        for member in layout.members
    )


def _bare(member: Member) -> str:
    return member.type.removeprefix("const ").removeprefix("volatile ").strip()


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

    def __init__(self, layout: Layout, parts: Sequence[LayoutAtom]) -> None:
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


def _walls(parts: Sequence[LayoutAtom], layouts: Layouts, facts: Iterable[SourceFact]) -> frozenset[int]:
    """Numbers of the atoms that are not moved and that no other moves past."""
    walls = {number for number, part in enumerate(parts) if not number or _is_wall(part, layouts)}
    for fact in facts:
        if fact.kind in _FREE:
            continue
        named = {number for number, part in enumerate(parts) if not set(part.names).isdisjoint(fact.members)}
        walls |= set(range(max(named) + 1)) if named and fact.kind is FactKind.POSITIONAL else named
    return frozenset(walls)


def _is_wall(part: LayoutAtom, layouts: Layouts) -> bool:
    return part.is_group or any(
        member.is_bit_field or not member.size or alignment_of(member) >= CACHE_LINE_BYTES or _is_open(member, layouts)
        for member in part.members
    )


def _is_open(member: Member, layouts: Layouts, levels: int = MOST_LEVELS) -> bool:
    """Whether the member goes on behind its end: an open array, or a record that ends in one."""
    if member.is_open_array:
        return True
    inner = layouts.by_id(member.record).members if member.record is not None and levels else ()
    return any(_is_open(one, layouts, levels - 1) for one in inner[-1:])


def _is_named(part: LayoutAtom) -> bool:
    """Whether it is one member that the source calls by a name."""
    return len(part.members) == 1 and bool(part.members[0].name)


def _holed(parts: Sequence[LayoutAtom], layout: Layout) -> frozenset[int]:
    """Numbers of the atoms that a hole follows, or the padding."""
    starts = [part.members[0].first_bit // BYTE for part in parts[1:]] + [layout.size]
    places = enumerate(zip(parts, starts, strict=True))
    return frozenset(number for number, (part, start) in places if part.members[-1].used_end < start)


def _targets(parts: Sequence[LayoutAtom], layouts: Layouts) -> Iterator[int]:
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


# Moves that make a record smaller, those within its parts without a name included.

# Damaged debug information can nest anonymous records without end.
_MOST_PARTS = 256
_MOST_LEVELS = 128


@dataclass(frozen=True, slots=True)
class Part:
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
class Move:
    """A move of one member, within a ``part`` or in the record itself, by which all of it has ``size`` bytes."""

    single: SingleMove
    size: int
    layouts: Layouts
    part: Part | None = None

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
) -> Iterator[Move]:
    """Every move of one member, in the record or within an anonymous struct of it, that makes the record smaller.

    ``facts`` and ``kept`` are those of ``shrinking_moves``. No member leaves its part or enters one.
    """
    for one in shrinking_moves(layout, layouts, facts, kept):
        yield Move(one, one.size, layouts)
    if unmovable(layout, layouts):
        return
    for part in _parts(layout, layouts):
        if _is_free(part, layout, layouts, facts):
            yield from _within(part, layout, layouts, (facts, kept))


def _within(
    part: Part, layout: Layout, layouts: Layouts, bound: tuple[Sequence[SourceFact], Collection[str]]
) -> Iterator[Move]:
    whole = lru_cache(maxsize=None)(lambda size: part.changed(replace(part.record, size=size))[0].size)
    for one in shrinking_moves(part.record, layouts, *bound):
        if whole(one.size) < layout.size:
            yield Move(one, whole(one.size), layouts, part)


def _parts(layout: Layout, layouts: Layouts) -> tuple[Part, ...]:
    """The anonymous structs of the record, at any depth, whose sizes decide its own; none that is there twice."""
    found = tuple(islice(_nested(layout, layouts, ()), _MOST_PARTS))
    often = Counter(one.record.id for one in found)
    return tuple(one for one in found if one.record.kind is RecordKind.STRUCT and often[one.record.id] == 1)


def _nested(layout: Layout, layouts: Layouts, holders: tuple[tuple[Layout, int], ...]) -> Iterator[Part]:
    anonymous = [index for index, one in enumerate(layout.members) if _is_part(one, layouts)]
    if not anonymous or len(holders) >= _MOST_LEVELS:
        return
    explained = with_inferred_alignment(layout)
    if not _is_explained(explained):
        return
    for index in anonymous:
        inner = layouts.by_id(layout.members[index].record or 0)
        here = (*holders, (explained, index))
        yield Part(inner, here)
        yield from _nested(inner, layouts, here)


def _is_part(member: Member, layouts: Layouts) -> bool:
    """Whether it has no name, and its record neither: one with a tag (-fms-extensions) is others', too."""
    bare = not member.name and member.record is not None and not member.dimensions
    return bare and not layouts.by_id(member.record or 0).name


def _is_explained(layout: Layout) -> bool:
    if layout.kind is not RecordKind.UNION:
        return refusal(layout) is None
    return _union_size(layout) == layout.size and not any(one.offset or one.is_bit_field for one in layout.members)


def _union_size(layout: Layout) -> int:
    return round_up(max((one.size for one in layout.members), default=0), record_alignment(layout))


def _holding(holder: Layout, index: int, size: int) -> Layout:
    """The holder with a member of another size."""
    grown = replace(holder.members[index], size=size)
    members = (*holder.members[:index], grown, *holder.members[index + 1 :])
    if holder.kind is not RecordKind.UNION:
        return lay_out(holder, members)
    union = replace(holder, members=members)
    return replace(union, size=_union_size(union))


def _is_free(part: Part, layout: Layout, layouts: Layouts, facts: Sequence[SourceFact]) -> bool:
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
