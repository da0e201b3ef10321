# SPDX-License-Identifier: GPL-2.0-or-later
"""Members as C code names them from outside: through anonymous records, and by paths into named ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from linesmith.analyzer.geometry.phase import Span
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member

# Damaged debug information can nest anonymous records without end.
MOST_MEMBERS = 1 << 16
MOST_LEVELS = 128
# What somebody wrote has fewer parts.
MOST_PARTS = 32
# Whoever looks at a record asks for its members again and again, then goes on to the next one.
MOST_KEPT = 64

# The members of the records that were asked for last, by id: of each file for as long as its layouts are there.
_KEPT: WeakKeyDictionary[Layouts, dict[int, tuple[Layout, tuple[Named, ...]]]] = WeakKeyDictionary()
_PART = re.compile(r"(\w+)((?:\[\d{1,9}\])*)")
_INDEX = re.compile(r"\d+")


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
    found = _element(whole, tuple(map(int, _INDEX.findall(match[2])))) if whole else None
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
            yield Named(member.name or f"({number})", base, member, _span(member, base))
        else:
            inner = layouts.by_id(member.record)
            yield from _nameable(inner, layouts, base + member.offset, entered | {inner.id}, left)


def _span(member: Member, base: int) -> Span:
    if member.bit_offset is None or member.bit_size is None:
        return Span(base + member.offset, member.size)
    first, last = member.bit_offset // 8, (member.bit_offset + member.bit_size - 1) // 8
    return Span(base + first, last - first + 1)


def _element(whole: Named, indices: tuple[int, ...]) -> Named | None:
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
