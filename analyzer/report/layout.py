# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts as JSON (docs/json.md), and the part of one that matters to a change.

Offsets and sizes are in bytes, names with ``bit`` count bits, lines are numbers of 64-byte cache lines from 0.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from linesmith.analyzer.layouts.alignment import inferred_alignments, inferred_packed, inferred_record_alignment
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import Reading
from linesmith.analyzer.layouts.gaps import Gaps, gaps, line_of, lines, straddles
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.model import Finding, Layout, LineMap, LineMember, Member, SourceScan
from linesmith.analyzer.report.json_text import Json, fields_of, json_text, known
from linesmith.analyzer.report.pahole import Rendering
from linesmith.analyzer.report.prose import counted

if TYPE_CHECKING:
    from linesmith.analyzer.access.access_map import AccessMap


SCHEMA_VERSION = 1


def render_json(
    layouts: tuple[Layout, ...],
    reading: Reading,
    accesses: AccessMap | None = None,
    sources: tuple[SourceScan, ...] = (),
    maps: tuple[LineMap, ...] = (),
) -> str:
    """The records as one indented JSON document that ends in a newline.

    It has who touches what, what the source shows, and the maps of a profile, where these are known.
    """
    records = [_record(layout, reading.layouts, accesses) for layout in layouts]
    document = {"schema": SCHEMA_VERSION, "elf": reading.identity, "reader": reading.reader, "records": records}
    return json_text(document | known({"sources": sources, "maps": maps}))


def _record(layout: Layout, layouts: Layouts, accesses: AccessMap | None = None) -> Json:
    """One record with everything that follows from its layout, and who touches its members, if that is known.

    ``lines`` is the number of cache lines it covers when it starts on one; ``paths`` flattens nested records.
    """
    found = gaps(layout)
    names = [member.name or member.type for member in layout.members]
    return {
        **fields_of(layout, "name", "title", "kind", "size"),
        "lines": lines(layout),
        **fields_of(layout, "file", "line", "units", "alignment"),
        "inferred_alignment": inferred_record_alignment(layout),
        "packed": inferred_packed(layout),
        "padding": found.padding,
        "bit_padding": found.bit_padding,
        "holes": [fields_of(one, "offset", "size") | _before(names, one.after) for one in found.holes],
        "bit_holes": [fields_of(one, "bit_offset", "bits") | _before(names, one.after) for one in found.bit_holes],
        "members": _member_objects(layout, found, accesses),
        "paths": [
            {"path": leaf.path, "type": leaf.member.type, "offset": leaf.offset, "size": leaf.size}
            | {"line": line_of(leaf.offset), **known(fields_of(leaf, "bit_offset", "bit_size"))}
            for leaf in flatten(layout, layouts)
        ],
    }


def _before(names: list[str], index: int) -> Json:
    """The member before a hole; ``None`` at the front of the record."""
    return {"after": names[index] if index >= 0 else None}


def _member_objects(layout: Layout, found: Gaps, accesses: AccessMap | None) -> list[Json]:
    """The members; alignments, holes, bits and accesses where there are some."""
    touched = None
    if accesses is not None:
        from linesmith.analyzer.access.questions import touching  # imports numpy, which layouts do without

        touched = touching(layout, accesses)
    objects = []
    for index, (member, inferred) in enumerate(zip(layout.members, inferred_alignments(layout), strict=True)):
        optional = {
            **fields_of(member, "bit_offset", "bit_size", "alignment"),
            "inferred_alignment": inferred,
            "straddles": straddles(member.offset, member.size),
            "hole_after": found.hole_after(index) or None,
            "bit_hole_after": found.bits_after(index) or None,
            "accesses": fields_of(touched(member.offset, member.size), "counts", "functions") if touched else None,
        }
        place = fields_of(member, "name", "type", "declarator", "offset", "size") | {"line": line_of(member.offset)}
        objects.append(place | known(optional))
    return objects


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

    What is left out in between is one line with an ellipsis. ``heat`` stands behind the members it names.
    """
    rendering = Rendering(layouts, notes=lambda _layout: lambda _offset, member: heat.get(member.name, ""))
    text = rendering.text(layout).splitlines()
    closes = [number for number, line in enumerate(text) if _CLOSE.match(line)]
    owners = [_owner(line, bisect_left(closes, number), len(closes)) for number, line in enumerate(text)]
    indices = [index for index, member in enumerate(layout.members) if _is_one_of(member, shown, layouts)]
    near = {index + step for index in indices for step in range(-NEIGHBOURS, NEIGHBOURS + 1)}
    flagged = {index for index, member in enumerate(layout.members) if _is_one_of(member, marked, layouts)}
    keep = [owner is None or owner in near for owner in owners]
    return list(_elided(text, _without_idle(text, keep), [owner in flagged for owner in owners]))


def _is_one_of(member: Member, names: frozenset[str], layouts: Layouts) -> bool:
    """Whether the member, or one inside it when it is anonymous, has one of the names."""
    if member.name or member.record is None:
        return member.name in names
    leaves = flatten(layouts.by_id(member.record), layouts)
    return any(leaf.path.partition(".")[0].partition("[")[0] in names for leaf in leaves)


def _owner(line: str, closed: int, members: int) -> int | None:
    """The member that ``line`` shows, ``closed`` having been written before it; ``None``: head, boundary or trailer.

    The lines of a nested record belong to the member that closes it, remarks on a hole to the member before it.
    """
    behind = not line or _REMARK.match(line)
    outside = (closed == members and not _REMARK.match(line)) or line[:1].strip()
    if outside or _BOUNDARY.match(line):
        return None
    return closed - 1 if behind else closed


def _elided(text: Sequence[str], keep: Sequence[bool], flagged: Sequence[bool]) -> Iterator[str]:
    skipping = False
    for line, shown, mark in zip(text, keep, flagged, strict=True):
        if shown:
            yield f"{'>' if mark and line and not _REMARK.match(line) else ' '} {line}".expandtabs(8).rstrip()
        elif not skipping:
            yield "          ..."
        skipping = not shown


def _without_idle(text: Sequence[str], keep: Sequence[bool]) -> list[bool]:
    """Leaves out boundaries between which nothing is shown, but for the last one before a member that is."""
    shown = list(keep)
    seen = False
    for place in range(len(text) - 1, -1, -1):
        if not keep[place]:
            continue
        boundary = bool(_BOUNDARY.match(text[place]))
        if boundary and not seen:
            shown[place] = False
        seen = not boundary and (bool(_MEMBER.match(text[place])) or seen)
    return shown


# Of so many hot members the excerpt of a layout shows those that were sampled most.
MOST_HOT = 12


def member_heat(finding: Finding, findings: Iterable[Finding]) -> dict[str, str]:
    """By member of the finding's first object what was sampled on all its lines, the most contended first."""
    record = finding.objects[0].layout if finding.objects else None
    same = [one for one in findings if one is not finding and one.objects and one.objects[0].layout == record]
    grouped: dict[str, list[LineMember]] = {}
    for one in (finding, *same):
        for member in one.members:
            if member.begin == one.objects[0].start:
                grouped.setdefault(member.top, []).append(member)
    ranked = sorted(grouped.items(), key=lambda pair: _weight(pair[1]), reverse=True)
    return {name: _heat(members) for name, members in ranked if any(_weight(members))}


def _weight(members: Sequence[LineMember]) -> tuple[int, int]:
    """Contended samples, and accesses."""
    contended = sum(function.contended for member in members for function in member.functions)
    return contended, sum(member.reads + member.writes for member in members)


def _heat(members: Sequence[LineMember]) -> str:
    """``661 contended, written``; reads where nothing waited."""
    contended, _ = _weight(members)
    reads, stores = sum(member.reads for member in members), sum(member.writes for member in members)
    parts = [f"{contended:,} contended"] if contended else [counted(reads, "read")] if reads else []
    if stores:
        parts.append(counted(stores, "store"))
    elif any(member.written for member in members):
        parts.append("written")
    return ", ".join(parts)
