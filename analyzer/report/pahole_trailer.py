# SPDX-License-Identifier: GPL-2.0-or-later
"""The sums that pahole writes at the end of a struct."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.geometry import (
    Gaps,
    gaps,
    inferred_alignments,
    inferred_packed,
    inferred_record_alignment,
    lines,
)
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout
from linesmith.analyzer.report.pahole_gaps import last_struct_padding


def attributes(layout: Layout) -> str:
    """The attributes behind the closing brace, with a space before each."""
    packed = " __attribute__((__packed__))" if inferred_packed(layout) else ""
    return packed + aligned(layout.alignment)


def aligned(alignment: int | None) -> str:
    """The alignment attribute with a space before it; empty for ``None``."""
    return f" __attribute__((__aligned__({alignment})))" if alignment else ""


def trailer(layout: Layout, layouts: Layouts) -> Iterator[str]:
    """Comment lines: size, sums of members and gaps, padding, alignments, bytes on the last line."""
    found = gaps(layout)
    yield f"/* size: {layout.size}, cachelines: {lines(layout)}, members: {len(layout.members)} */"
    yield from _sums(layout, found)
    if found.padding:
        yield f"/* padding: {found.padding} */"
    inner = [padding for member in layout.members if (padding := last_struct_padding(member, layouts))]
    if inner:
        yield f"/* paddings: {len(inner)}, sum paddings: {sum(inner)} */"
    if found.bit_padding:
        yield f"/* bit_padding: {found.bit_padding} bits */"
    yield from _forced(layout, found)
    yield from _inferred(layout)
    if layout.size % CACHE_LINE_BYTES:
        yield f"/* last cacheline: {layout.size % CACHE_LINE_BYTES} bytes */"


def _sums(layout: Layout, found: Gaps) -> Iterator[str]:
    whole = sum(member.size for member in layout.members if not member.is_bit_field)
    bits = sum(member.bit_size or 0 for member in layout.members)
    if not found.holes and not found.bit_holes:
        return
    if whole:
        holes = f", holes: {len(found.holes)}, sum holes: {sum(hole.size for hole in found.holes)}"
        yield f"/* sum members: {whole}{holes if found.holes else ''} */"
    if bits:
        yield f"/* sum bitfield members: {bits} bits{_bit_holes(found, bits)} */"


def _bit_holes(found: Gaps, bits: int) -> str:
    if not found.bit_holes:
        return f" ({bits // 8} bytes)"
    return f", bit holes: {len(found.bit_holes)}, sum bit holes: {sum(hole.bits for hole in found.bit_holes)} bits"


def _forced(layout: Layout, found: Gaps) -> Iterator[str]:
    """Members with an explicit alignment, and the holes before them."""
    forced = [index for index, member in enumerate(layout.members) if member.alignment]
    if not forced:
        return
    holes = [size for index in forced if (size := found.hole_after(index - 1))]
    text = f", forced holes: {len(holes)}, sum forced holes: {sum(holes)}" if holes else ""
    yield f"/* forced alignments: {len(forced)}{text} */"


def _inferred(layout: Layout) -> Iterator[str]:
    """Alignments that explain the gaps where none is stated; pahole has no such line."""
    members = zip(layout.members, inferred_alignments(layout), strict=True)
    found = [(one.name, alignment) for one, alignment in members if alignment]
    whole = inferred_record_alignment(layout)
    texts = [f"{name} {alignment}" for name, alignment in found] + ([f"the whole {whole}"] if whole else [])
    if texts:
        yield f"/* inferred alignments: {', '.join(texts)} */"
