# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts as JSON; docs/schema-layout.md documents it and a test keeps the two equal.

Offsets and sizes are in bytes, names with ``bit`` count bits, lines are numbers of 64-byte cache lines from 0.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from linesmith.analyzer.layouts.alignment import inferred_alignments, inferred_packed, inferred_record_alignment
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import Reading
from linesmith.analyzer.layouts.gaps import Gaps, gaps, line_of, lines, straddles
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.model import (
    AccessCounts,
    ElfIdentity,
    Finding,
    FunctionCounts,
    Layout,
    Leaf,
    LineMap,
    LineMember,
    Member,
    SourceScan,
)
from linesmith.analyzer.report.pahole import Beside, Rendering
from linesmith.analyzer.report.prose import counted

if TYPE_CHECKING:
    from linesmith.analyzer.access.access_map import AccessMap


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
    from linesmith.analyzer.access.questions import touching  # imports numpy, which layouts do without

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


# The part of a layout that matters to a change, in pahole's style: some members, their neighbours, their lines.

NEIGHBOURS = 1
_CLOSE = re.compile(r"\t[^\t].*/\* +\d+(?::[ \d]+)? +\d+ \*/(?: /\* .* \*/)?$")
_REMARK = re.compile(r"\t/\* XXX ")
_MEMBER = re.compile(r"\t+[^\t/]")
_BOUNDARY = re.compile(r"\t/\* --- cacheline")


def excerpt(
    layout: Layout,
    layouts: Layouts,
    shown: frozenset[str],
    marked: frozenset[str],
    heat: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Lines of the layout with the members ``shown`` and their neighbours; those ``marked`` begin with ``>``.

    What is left out in between is told by one line with an ellipsis. ``heat`` stands behind the members it names.
    """
    text = Rendering(layouts, beside=lambda _layout: _beside(heat)).text(layout).splitlines()
    owners = _owners(text)
    wanted = [index for index, member in enumerate(layout.members) if _is_one_of(member, shown, layouts)]
    near = {index + step for index in wanted for step in range(-NEIGHBOURS, NEIGHBOURS + 1)}
    flagged = {index for index, member in enumerate(layout.members) if _is_one_of(member, marked, layouts)}
    keep = [owner is None or owner in near for owner in owners]
    return list(_elided(text, _without_idle(text, keep), [owner in flagged for owner in owners]))


def _beside(heat: Mapping[str, str]) -> Beside:
    return lambda _offset, member: heat.get(member.name, "")


def _is_one_of(member: Member, names: frozenset[str], layouts: Layouts) -> bool:
    """Whether the member, or one inside it when it is anonymous, has one of the names."""
    if member.name or member.record is None:
        return member.name in names
    leaves = flatten(layouts.by_id(member.record), layouts)
    return any(leaf.path.partition(".")[0].partition("[")[0] in names for leaf in leaves)


def _owners(text: Sequence[str]) -> list[int | None]:
    """For each line of ``text`` the member it shows; ``None`` for the head, boundaries and the trailer.

    The lines of a nested record belong to the member that closes it, remarks on a hole to the member before it.
    """
    closes = [number for number, line in enumerate(text) if _CLOSE.match(line)]
    return [_owner(line, bisect_left(closes, number), len(closes)) for number, line in enumerate(text)]


def _owner(line: str, closed: int, members: int) -> int | None:
    """The member that ``line`` shows, of which ``closed`` have been written before it."""
    behind = not line or _REMARK.match(line)
    outside = (closed == members and not _REMARK.match(line)) or line[:1].strip()
    if outside or _BOUNDARY.match(line):
        return None
    return closed - 1 if behind else closed


def _elided(text: Sequence[str], keep: Sequence[bool], flagged: Sequence[bool]) -> Iterator[str]:
    skipping = False
    for line, kept, mark in zip(text, keep, flagged, strict=True):
        if kept:
            yield f"{'>' if mark and line and not _REMARK.match(line) else ' '} {line}".expandtabs(8).rstrip()
        elif not skipping:
            yield "          ..."
        skipping = not kept


def _without_idle(text: Sequence[str], keep: Sequence[bool]) -> list[bool]:
    """Leaves out boundaries between which nothing is shown, but for the last one before a member that is."""
    kept = list(keep)
    seen = False
    for place in range(len(text) - 1, -1, -1):
        if not keep[place]:
            continue
        boundary = bool(_BOUNDARY.match(text[place]))
        if boundary and not seen:
            kept[place] = False
        seen = not boundary and (bool(_MEMBER.match(text[place])) or seen)
    return kept


# How hot the members of a record were seen, in a few words to stand behind each in its layout.

# Of so many hot members the excerpt of a layout shows those that were sampled most.
MOST_HOT = 12


def member_heat(finding: Finding, findings: Iterable[Finding]) -> dict[str, str]:
    """By member of the finding's first object what was sampled on all its lines, the most contended first."""
    record = finding.objects[0].layout if finding.objects else None
    same = [one for one in findings if one is not finding and one.objects and one.objects[0].layout == record]
    grouped: dict[str, list[LineMember]] = {}
    for one in (finding, *same):
        for member in one.members:
            if member.object_offset is not None and member.offset - member.object_offset == one.objects[0].start:
                grouped.setdefault(member.top, []).append(member)
    ranked = sorted(grouped.items(), key=lambda pair: (-_contended(pair[1]), -_accesses(pair[1])))
    return {name: _said(members) for name, members in ranked if _accesses(members) or _contended(members)}


def _contended(members: Iterable[LineMember]) -> int:
    return sum(function.contended for member in members for function in member.functions)


def _accesses(members: Iterable[LineMember]) -> int:
    return sum(member.reads + member.writes for member in members)


def _said(members: Iterable[LineMember]) -> str:
    """``661 contended, written``; reads where nothing waited."""
    group = list(members)
    contended, stores = _contended(group), sum(member.writes for member in group)
    reads = sum(member.reads for member in group)
    parts = [f"{contended:,} contended"] if contended else [counted(reads, "read")] if reads else []
    if stores:
        parts.append(counted(stores, "store"))
    elif any(member.written for member in group):
        parts.append("written")
    return ", ".join(parts)
