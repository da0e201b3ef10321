# SPDX-License-Identifier: GPL-2.0-or-later
"""Members reached through nested records: the leaves that one load or store can touch, and the names that C code uses.

A leaf is a member without members. A record that is one word in the end (``atomic_t``, ``spinlock_t``) is a leaf, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from weakref import WeakKeyDictionary

from linesmith.analyzer.layouts.collection import MOST_LEVELS, MOST_MEMBERS, Layouts
from linesmith.analyzer.layouts.gaps import Span
from linesmith.analyzer.model import Entered, Layout, Leaf, Member, MemberCategory, RecordKind

# Damaged debug information can nest records so that the leaves grow without bound.
MOST_LEAVES = 1 << 16
MOST_WRAPPERS = 8
# No machine touches more by one instruction of known width; more would be damage.
WIDEST = 64
# Unions of real kernels have fewer alternatives; damaged ones could cost as much at every place.
ALTERNATIVES = 256
# What somebody wrote has fewer parts.
MOST_PARTS = 32
# Whoever looks at a record asks for its members again and again, then goes on to the next one.
MOST_KEPT = 64

# The members of the records that were asked for last, by id: of each file for as long as its layouts are there.
_KEPT: WeakKeyDictionary[Layouts, dict[int, tuple[Layout, tuple[Named, ...]]]] = WeakKeyDictionary()
_PART = re.compile(r"(\w+)((?:\[\d{1,9}\])*)")
_INDEX = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class _LeafPath:
    """Where a walk stands: the path so far, its first byte, the named records entered, and all of them."""

    path: str
    offset: int
    chain: tuple[tuple[str, int], ...]
    entered: tuple[Entered, ...]

    def inside(self, layout: Layout) -> _LeafPath:
        chain = (*self.chain, (layout.name, self.offset)) if layout.name else self.chain
        return _LeafPath(self.path, self.offset, chain, (*self.entered, Entered(layout.id, self.offset, self.path)))

    def at(self, member: Member) -> _LeafPath:
        path = f"{self.path}.{member.name}" if self.path and member.name else self.path or member.name
        return self.moved(path, self.offset + member.offset)

    def moved(self, path: str, offset: int) -> _LeafPath:
        return _LeafPath(path, offset, self.chain, self.entered)


def flatten(layout: Layout, layouts: Layouts) -> tuple[Leaf, ...]:
    """Every leaf of ``layout`` in declaration order; unions give all their alternatives.

    Anonymous records leave no trace in the path. A record that is one word in the end (``atomic_t``, ``rb_root``,
    ``spinlock_t``) is one leaf under the name of the member that holds it. Of an array of records the first element
    is given, as ``name[0].x``; ``leaves_at`` resolves the others. ``Leaf.member`` is the member the path ends in.
    """
    return tuple(islice(_walk(layout, layouts, _LeafPath("", 0, (), ()).inside(layout)), MOST_LEAVES))


def leaves_at(layout: Layout, layouts: Layouts, offset: int, most: int = MOST_LEAVES) -> tuple[Leaf, ...]:
    """The leaves that hold byte ``offset``, alternatives of unions included; empty in a hole or outside.

    ``most`` alternatives are looked at. Elements of arrays are resolved: the leaf is one element,
    ``vec[97].count``, with its own offset. Bytes behind the record's end belong to the open array that it ends in
    (``name[]``, ``name[0]``), if it does. Only these leaves tell the records inside a word.
    """
    start = _LeafPath("", 0, (), ()).inside(layout)
    return tuple(islice(_walk_at(layout, layouts, start, offset), most))


def leaf_at(layout: Layout, layouts: Layouts, offset: int) -> Leaf | None:
    """The first leaf that holds byte ``offset``; ``None`` in a hole or outside. See ``leaves_at``."""
    return next(iter(leaves_at(layout, layouts, offset)), None)


def leaves_within(layout: Layout, layouts: Layouts, offset: int, width: int) -> Iterator[Leaf]:
    """The leaves that ``width`` bytes from ``offset`` on touch, by offset: of a union one alternative.

    ``width`` 0 stands for a width that is not known: what begins there.
    """
    at, end = max(offset, 0), offset + min(max(width, 1), WIDEST)
    while at < end:
        # Of alternatives the one that begins there and has this width, else one that begins there, else any.
        alternatives = leaves_at(layout, layouts, at, ALTERNATIVES)
        leaf = min(alternatives, key=lambda one: (one.offset != at, one.size != width), default=None)
        if leaf is not None:
            yield leaf
        at = max(at + 1, leaf.offset + leaf.size if leaf else 0)


def _walk(layout: Layout, layouts: Layouts, place: _LeafPath) -> Iterator[Leaf]:
    for member in layout.members:
        here = place.at(member)
        inner = _record_of(member, layouts, here)
        if inner is None or (member.name and _is_word(inner, layouts)):
            yield _leaf(here, member, member.size, inner)
        else:
            index = "[0]" * len(member.dimensions)
            yield from _walk(inner, layouts, here.moved(here.path + index, here.offset).inside(inner))


def _walk_at(layout: Layout, layouts: Layouts, place: _LeafPath, offset: int) -> Iterator[Leaf]:
    for member, inside in _members_at(layout, layouts, offset - place.offset):
        here = place.at(member)
        inner = _record_of(member, layouts, here)
        step = stride(member, layouts)
        if not inside and member.is_open_array and not step:
            continue
        element, size = _element(here, member, offset, step)
        if inner is None or (member.name and _is_word(inner, layouts)):
            yield _with_wrappers(_leaf(element, member, size, inner), inner, layouts)
        else:
            yield from _walk_at(inner, layouts, element.inside(inner), offset)


def _members_at(layout: Layout, layouts: Layouts, offset: int) -> Iterator[tuple[Member, bool]]:
    """The members that hold the byte, with ``True``, and those that go on behind their ends and so up to it.

    Written for the many members that do neither: an access map asks about a hundred thousand bytes of large records.
    """
    last = None if layout.kind is RecordKind.UNION or not layout.members else layout.members[-1]
    for member in layout.members:
        if member.bit_size is not None:
            inside = not member.flexible and member.first_bit // 8 <= offset < member.used_end
        elif offset < member.offset:
            continue
        else:
            inside = offset < member.offset + member.size and not member.flexible
        if inside:
            yield member, True
        elif (last is None or member is last) and offset >= member.offset and is_open(member, layouts):
            yield member, False


def _record_of(member: Member, layouts: Layouts, place: _LeafPath) -> Layout | None:
    """The record held by value; ``None`` for scalars, empty records, and where nesting goes round or too deep."""
    entered = (one.record for one in place.entered)
    if member.record is None or member.record in entered or len(place.entered) > MOST_LEVELS:
        return None
    layout = layouts.by_id(member.record)
    return layout if layout.members else None


def _leaf(place: _LeafPath, member: Member, size: int, word: Layout | None) -> Leaf:
    chain = (*place.chain, (word.name, place.offset)) if word and word.name else place.chain
    bit_offset = None if member.bit_offset is None else member.bit_offset + 8 * (place.offset - member.offset)
    return Leaf(place.path, place.offset, size, member, chain, bit_offset, member.bit_size, place.entered)


def _with_wrappers(leaf: Leaf, word: Layout | None, layouts: Layouts) -> Leaf:
    """The leaf with the records that its word is wrapped in (``spinlock``, ``raw_spinlock``, ``qspinlock``)."""
    if word is None:
        return leaf
    wrappers, frontier = [word.id], [word.id]
    for _ in range(MOST_WRAPPERS):
        front = [member for one in frontier for member in layouts.by_id(one).members if member.offset == 0]
        frontier = [one.record for one in front if one.record is not None and one.record not in wrappers]
        wrappers += dict.fromkeys(frontier)
    inside = (Entered(record, leaf.offset, leaf.path) for record in dict.fromkeys(wrappers))
    return replace(leaf, entered=(*leaf.entered, *inside))


def stride(member: Member, layouts: Layouts) -> int:
    """Bytes from one element to the next; the member's size when it is no array, 0 when it is not known."""
    count = prod(member.dimensions)
    if count and not member.flexible:
        return member.size // count
    # The debug information gives no size of the element; scalars and pointers are as long as they are aligned.
    return layouts.by_id(member.record).size if member.record is not None else member.natural_alignment


def is_open(member: Member, layouts: Layouts) -> bool:
    """Whether the member goes on behind its end: an open array, or a record that ends in one."""
    waiting, seen = [member], set[int]()
    for one in waiting:  # grows while it is walked
        if one.is_open_array:
            return True
        if one.record is not None and not one.dimensions and one.record not in seen:
            seen.add(one.record)
            inner = layouts.by_id(one.record)
            waiting += inner.members if inner.kind is RecordKind.UNION else inner.members[-1:]
    return False


def _element(place: _LeafPath, member: Member, offset: int, step: int) -> tuple[_LeafPath, int]:
    """The array element that holds ``offset`` and its size; the member itself when it is no array."""
    if not (member.dimensions or member.flexible) or not step:
        return place, member.size
    number = (offset - place.offset) // step
    path = place.path + "".join(f"[{index}]" for index in _indices(number, member.dimensions))
    return place.moved(path, place.offset + number * step), step


def _indices(number: int, dimensions: tuple[int, ...]) -> tuple[int, ...]:
    """Index per dimension of element ``number``; the first dimension is open, as in a flexible array."""
    indices: list[int] = []
    for extent in reversed(dimensions[1:]):
        number, index = divmod(number, max(1, extent))
        indices.insert(0, index)
    return (number, *indices)


def _is_word(layout: Layout, layouts: Layouts, depth: int = 0) -> bool:
    """Whether the record is one scalar in the end, seen perhaps in parts (the bytes of a spin lock)."""
    if depth == MOST_WRAPPERS or (len(layout.members) != 1 and layout.kind is not RecordKind.UNION):
        return False
    filling = (one for one in layout.members if one.size == layout.size and not (one.offset or one.dimensions))
    words = (one for one in filling if one.record is None or _is_word(layouts.by_id(one.record), layouts, depth + 1))
    whole = next((one for one in words if not one.is_bit_field), None)
    return whole is not None and all(other is whole or _is_view(other, layouts) for other in layout.members)


def _is_view(member: Member, layouts: Layouts) -> bool:
    """Whether a union's alternative only names parts of a word: scalars, or a struct of nothing but scalars."""
    if member.record is None:
        return member.category is MemberCategory.SCALAR
    parts = layouts.by_id(member.record).members
    return not member.name and all(part.category is MemberCategory.SCALAR for part in parts)


@dataclass(frozen=True, slots=True)
class Named:
    """A member called ``path`` from the record it is looked at; ``base`` is where the record that declares it begins.

    ``span`` are the bytes it lies on in the outermost record: of a bit-field those that its bits touch.
    """

    path: str
    base: int
    member: Member
    span: Span

    @property
    def offset(self) -> int:
        """Its first byte."""
        return self.span.offset

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.span.offset + self.span.size


def nameable(layout: Layout, layouts: Layouts) -> Iterator[Named]:
    """The members that ``object->name`` reaches, in order; an empty anonymous record is called by its number."""
    kept = _KEPT.setdefault(layouts, {})
    found = kept.get(layout.id)
    if found is not None and found[0] is layout:
        return iter(found[1])
    members = tuple(_nameable(layout, layouts, 0, frozenset({layout.id}), iter(range(MOST_MEMBERS))))
    if found is None:  # else it is another order of the members of the one that is kept
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[layout.id] = layout, members
    return iter(members)


def named(layout: Layout, layouts: Layouts, path: str) -> Named | None:
    """The member called ``i_data.i_mmap`` or ``vec[3].count``; ``None`` where there is none."""
    first, dot, rest = path.partition(".")
    match = _PART.fullmatch(first)
    if match is None or rest.count(".") > MOST_PARTS:
        return None
    whole = next((one for one in nameable(layout, layouts) if one.path == match[1]), None)
    found = _indexed_element(whole, tuple(map(int, _INDEX.findall(match[2])))) if whole else None
    if found is None or not dot:
        return found and replace(found, path=path)
    if found.member.record is None:
        return None
    inner = named(layouts.by_id(found.member.record), layouts, rest)
    if inner is None:
        return None
    start = found.offset
    return Named(path, start + inner.base, inner.member, Span(start + inner.offset, inner.span.size))


def _nameable(
    layout: Layout, layouts: Layouts, base: int, entered: frozenset[int], left: Iterator[int]
) -> Iterator[Named]:
    """``left`` counts members, also those that give no name: of empty records in each other there may be no end."""
    for number, member in enumerate(layout.members):
        if next(left, None) is None:
            return
        if member.name or member.record is None or member.record in entered or len(entered) > MOST_LEVELS:
            first = member.first_bit // 8
            span = Span(base + first, member.used_end - first)
            yield Named(member.name or f"({number})", base, member, span)
        else:
            inner = layouts.by_id(member.record)
            yield from _nameable(inner, layouts, base + member.offset, entered | {inner.id}, left)


def _indexed_element(whole: Named, indices: tuple[int, ...]) -> Named | None:
    """One element of an array; ``None`` where there are fewer dimensions or elements."""
    shape = whole.member.dimensions
    if not indices:
        return whole
    if len(indices) > len(shape) or any(index >= extent for index, extent in zip(indices, shape, strict=False)):
        return None
    place, size = whole.span.offset, whole.span.size
    for index, extent in zip(indices, shape, strict=False):
        size //= extent
        place += index * size
    return Named(whole.path, whole.base, whole.member, Span(place, size))
