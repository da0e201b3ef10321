# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts as JSON; docs/schema-layout.md documents it and a test keeps the two equal.

Offsets and sizes are in bytes, names with ``bit`` count bits, lines are numbers of 64-byte cache lines from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.geometry import (
    Gaps,
    flatten,
    gaps,
    inferred_alignments,
    inferred_packed,
    inferred_record_alignment,
    line_of,
    lines,
    straddles,
)
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import AccessCounts, ElfIdentity, FunctionCounts, Layout, Leaf, LineMap, SourceScan

if TYPE_CHECKING:
    from linesmith.analyzer.access import AccessMap

SCHEMA_VERSION = 1


class AccessesView(msgspec.Struct, frozen=True):
    """Who touches a member's bytes, the function with the most accesses first."""

    counts: AccessCounts
    functions: tuple[FunctionCounts, ...]


class MemberView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One member; ``hole_after`` and ``bit_hole_after`` are the gaps behind it.

    ``inferred_alignment`` is read off the offsets where the debug information states no alignment; ``accesses`` are
    there when asked for.
    """

    name: str
    type: str
    declarator: str
    offset: int
    size: int
    line: int
    bit_offset: int | None = None
    bit_size: int | None = None
    alignment: int | None = None
    inferred_alignment: int | None = None
    straddles: bool = False
    hole_after: int = 0
    bit_hole_after: int = 0
    accesses: AccessesView | None = None


class PathView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One access path through nested records, as C code writes it."""

    path: str
    type: str
    offset: int
    size: int
    line: int
    bit_offset: int | None = None
    bit_size: int | None = None


class HoleView(msgspec.Struct, frozen=True):
    """Unused bytes; ``after`` names the member before them (``null`` at the front of the record)."""

    offset: int
    size: int
    after: str | None


class BitHoleView(msgspec.Struct, frozen=True):
    """Unused bits beside a bit-field; ``bit_offset`` counts from the record's first bit."""

    bit_offset: int
    bits: int
    after: str | None


class RecordView(msgspec.Struct, frozen=True):
    """One record; ``file`` and ``line`` say where it is declared, ``units`` how many compile units have it.

    ``lines`` is the number of cache lines it covers when it starts on one; ``paths`` flattens nested records.
    """

    name: str
    title: str
    kind: str
    size: int
    lines: int
    file: str | None
    line: int | None
    units: int
    alignment: int | None
    inferred_alignment: int | None
    packed: bool
    padding: int
    bit_padding: int
    holes: tuple[HoleView, ...]
    bit_holes: tuple[BitHoleView, ...]
    members: tuple[MemberView, ...]
    paths: tuple[PathView, ...]


class LayoutDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """What ``linesmith layout --format json`` writes; ``reader`` is ``DWARF`` or ``BTF``.

    ``sources`` are there when a source tree was given, ``maps`` of the same records when a profile was.
    """

    schema: int
    elf: ElfIdentity
    reader: str
    records: tuple[RecordView, ...]
    sources: tuple[SourceScan, ...] = ()
    maps: tuple[LineMap, ...] = ()


def render_json(
    chosen: tuple[Layout, ...],
    reading: Reading,
    accesses: AccessMap | None = None,
    sources: tuple[SourceScan, ...] = (),
    maps: tuple[LineMap, ...] = (),
) -> str:
    """The chosen records as one indented JSON document that ends in a newline.

    It has who touches what, what the source shows, and the maps of a profile, where these are known.
    """
    records = tuple(record_view(layout, reading.layouts, accesses) for layout in chosen)
    document = LayoutDocument(SCHEMA_VERSION, reading.identity, reading.reader, records, sources, maps)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(LayoutDocument)


def record_view(layout: Layout, layouts: Layouts, accesses: AccessMap | None = None) -> RecordView:
    """One record with everything that follows from its layout, and who touches its members, if that is known."""
    found, touched = gaps(layout), _touched(layout, accesses)
    names = [member.name or member.type for member in layout.members]
    return RecordView(
        name=layout.name,
        title=layout.title,
        kind=layout.kind.value,
        size=layout.size,
        lines=lines(layout),
        file=layout.file,
        line=layout.line,
        units=layout.units,
        alignment=layout.alignment,
        inferred_alignment=inferred_record_alignment(layout),
        packed=inferred_packed(layout),
        padding=found.padding,
        bit_padding=found.bit_padding,
        holes=tuple(HoleView(hole.offset, hole.size, _before(names, hole.after)) for hole in found.holes),
        bit_holes=tuple(
            BitHoleView(hole.bit_offset, hole.bits, _before(names, hole.after)) for hole in found.bit_holes
        ),
        members=tuple(_member_views(layout, found, touched)),
        paths=tuple(_path_view(leaf) for leaf in flatten(layout, layouts)),
    )


def _before(names: list[str], index: int) -> str | None:
    return names[index] if index >= 0 else None


def _touched(layout: Layout, accesses: AccessMap | None) -> Callable[[int, int], AccessesView | None]:
    if accesses is None:
        return lambda _offset, _size: None
    from linesmith.analyzer.access import touching  # imports numpy, which layouts do without

    touched = touching(layout, accesses)

    def view(offset: int, size: int) -> AccessesView:
        one = touched(offset, size)
        return AccessesView(one.counts, one.functions)

    return view


def _member_views(
    layout: Layout, found: Gaps, touched: Callable[[int, int], AccessesView | None]
) -> Iterator[MemberView]:
    pairs = zip(layout.members, inferred_alignments(layout), strict=True)
    for index, (member, inferred) in enumerate(pairs):
        yield MemberView(
            name=member.name,
            type=member.type,
            declarator=member.declarator,
            offset=member.offset,
            size=member.size,
            line=line_of(member.offset),
            bit_offset=member.bit_offset,
            bit_size=member.bit_size,
            alignment=member.alignment,
            inferred_alignment=inferred,
            straddles=straddles(member.offset, member.size),
            hole_after=found.hole_after(index),
            bit_hole_after=found.bits_after(index),
            accesses=touched(member.offset, member.size),
        )


def _path_view(leaf: Leaf) -> PathView:
    return PathView(
        leaf.path, leaf.member.type, leaf.offset, leaf.size, line_of(leaf.offset), leaf.bit_offset, leaf.bit_size
    )
