# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether somebody cared for the layout of a record, as its declaration or the history of the kernel shows."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.geometry import asked_at_least, nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint.kernel_types import KERNEL_TYPES
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member
from linesmith.analyzer.rules.pads import pads

_GROUP = "__cacheline_group_begin__"
# Empty members that are aligned to a line: ZONE_PADDING() up to 6.1, CACHELINE_PADDING() since.
_PADDINGS = frozenset(("struct cacheline_padding", "struct zone_padding", "struct memcg_padding"))
_KERNEL = "task_struct"


def tuned(layout: Layout, layouts: Layouts) -> str:
    """A clause with the reason to count the record as tuned, empty where there is none.

    Markings come first: groups of members, paddings, alignments to lines that the record or a member of it asks for
    itself, arrays that fill a line. An alignment that comes from a type that is embedded is none of its own. Records of
    a kernel that are known to be tuned without a mark in their debug information follow.
    """
    marked = _marked(layout, layouts)
    if marked or layout.typedef or not layouts.variants(_KERNEL):
        return marked
    return KERNEL_TYPES.get(layout.name, "")


def _marked(layout: Layout, layouts: Layouts) -> str:
    for member in _members(layout, layouts):
        if member.name.startswith(_GROUP):
            return f"marks the group {member.name.removeprefix(_GROUP)}"
        if member.type in _PADDINGS:
            return f"has the padding {member.name}"
    pad = next((one.name for one in pads(layout)), "")
    return _aligned(layout, layouts) or (f"pads a line with {pad}" if pad else "")


def _members(layout: Layout, layouts: Layouts) -> Iterator[Member]:
    """The record's own members and those of its parts without a name; most records have no such part."""
    for member in layout.members:
        if member.name or member.record is None:
            yield member
        else:
            yield from (one.member for one in nameable(layouts.by_id(member.record), layouts))


def _aligned(layout: Layout, layouts: Layouts) -> str:
    if (layout.alignment or 0) < CACHE_LINE_BYTES and not any(member.alignment for member in layout.members):
        return ""
    asking = asked_at_least(CACHE_LINE_BYTES, layout, layouts)
    inside = next((one for one in asking if one.path), None)
    if inside is None:
        return f"is aligned to {asking[0].asked} bytes" if asking else ""
    what = f"a part without a name, at {inside.path}," if inside.part else inside.path
    return f"aligns {what} to {inside.asked} bytes"
