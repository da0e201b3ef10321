# SPDX-License-Identifier: GPL-2.0-or-later
"""The names by which C code reaches the bytes of a record, found without the code that is being judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout


@dataclass(frozen=True)
class Named:
    """Bytes ``start`` to ``end`` of a record, under the name that ``object->name`` reaches them by."""

    name: str
    start: int
    end: int


def named(layout: Layout, layouts: Layouts) -> list[Named]:
    """Every name once, members of anonymous records included; bit-fields with the bytes that they touch."""
    found: dict[str, Named] = {}
    for one in _named(layout, layouts, 0, 0):
        found.setdefault(one.name, one)
    return list(found.values())


def _named(layout: Layout, layouts: Layouts, base: int, depth: int) -> Iterator[Named]:
    for member in layout.members:
        start, end = base + member.offset, base + member.offset + member.size
        if member.bit_offset is not None:
            start = base + member.bit_offset // 8
            end = base + (member.bit_offset + (member.bit_size or 1) - 1) // 8 + 1
        if member.name:
            yield Named(member.name, start, end)
        elif member.record is not None and depth < 16:
            yield from _named(layouts.by_id(member.record), layouts, start, depth + 1)
