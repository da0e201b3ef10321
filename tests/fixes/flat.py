# SPDX-License-Identifier: GPL-2.0-or-later
"""A record without its anonymous structs: a person may move members into and out of them, a candidate does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member, RecordKind


class Replaced:
    """The layouts of a file with another one in place of that with the same id."""

    def __init__(self, layouts: Layouts, layout: Layout) -> None:
        self._layouts = layouts
        self._layout = layout

    def by_id(self, layout_id: int) -> Layout:
        """The layout with this id; raises ``KeyError`` when there is none."""
        return self._layout if layout_id == self._layout.id else self._layouts.by_id(layout_id)

    def variants(self, name: str) -> tuple[Layout, ...]:
        """Every layout of records called ``name``."""
        return tuple(self.by_id(layout.id) for layout in self._layouts.variants(name))

    def names(self) -> tuple[str, ...]:
        """Every record name once, sorted."""
        return self._layouts.names()

    def __iter__(self) -> Iterator[Layout]:
        """Every layout, by id."""
        return (self.by_id(layout.id) for layout in self._layouts)


def flattened(layout: Layout, layouts: Layouts) -> Layout:
    """``layout`` with the members of its anonymous structs in their place, where they are now.

    Where such a struct begins or ends at a larger alignment than its members ask for, a member without size keeps it.
    """
    return replace(layout, members=tuple(_members(layout, layouts)))


def _members(layout: Layout, layouts: Layouts) -> Iterator[Member]:
    after = 1
    for member in layout.members:
        inner = _anonymous(member, layouts)
        alignment = 1 if inner is None else max(member.natural_alignment, member.alignment or 1)
        held = [member] if inner is None else [_moved(one, member.offset) for one in _members(inner, layouts)]
        yield from _boundary(held[0], max(after, alignment))
        yield from held
        after = alignment


def _anonymous(member: Member, layouts: Layouts) -> Layout | None:
    if member.name or member.record is None or member.dimensions:
        return None
    inner = layouts.by_id(member.record)
    return inner if inner.kind is RecordKind.STRUCT and inner.members else None


def _moved(member: Member, by: int) -> Member:
    bits = None if member.bit_offset is None else member.bit_offset + 8 * by
    return replace(member, offset=member.offset + by, bit_offset=bits)


def _boundary(member: Member, alignment: int) -> Iterator[Member]:
    """What keeps ``member`` at its place if only the alignment of the struct around it does."""
    natural = max(member.natural_alignment, member.alignment or 1)
    if alignment > natural and member.offset % alignment == 0:
        yield Member("", "boundary", "", member.offset, 0, 1, alignment)
