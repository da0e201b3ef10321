# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts as JSON (docs/json.md), and what the source shows of a record, as text.

Offsets and sizes are in bytes, names with ``bit`` count bits, lines are numbers of 64-byte cache lines from 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import Reading
from linesmith.analyzer.layouts.gaps import (
    Gaps,
    gaps,
    inferred_alignments,
    inferred_packed,
    inferred_record_alignment,
    line_of,
    lines,
    straddles,
)
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.model import Dependency, Layout, LineMap, MemberSource, RecordSource, SourceScan
from linesmith.analyzer.report.prose import Json, counted, cut, fields_of, json_text, known

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


# What the source shows: where members stand, and what relies on their order.

_MOST_BINDING = 5
_MOST_OTHERS = 2
_MOST_NAMES = 4
_MOST_TEXT = 90
_ROW = "    {}{:>6}  {:>6}  {}"


def source_text(scan: SourceScan) -> str:
    """One record: its declarations, then the places that rely on the order, those that bind first."""
    failed = f", {len(scan.failed)} of them with errors" if scan.failed else ""
    parsed = f"{counted(scan.units, 'unit')} parsed{failed}"
    none = "the build at hand compiled no unit that uses it; only text was searched"
    rows = [f"source of {scan.record}: {parsed if scan.units else none}"]
    uses = Counter(use.member for use in scan.uses)
    for source in scan.sources:
        rows += [f"  declared at {source.span.file}:{source.span.line}", _ROW.format("", "line", "uses", "member")]
        rows += [_member(source, member, uses[member.name]) for member in source.members if member.name]
    if not scan.units:
        rows.append("  build the tree once, or name its build with --build: then it is known what relies on the order")
    elif not scan.dependencies:
        rows.append("  nothing that was parsed relies on the order of its members")
    for binds, most, what in (
        (True, _MOST_BINDING, "where the order is relied upon"),
        (False, _MOST_OTHERS, "with offsets that the compiler works out anew for another order"),
    ):
        if found := [one for one in scan.dependencies if one.binds is binds]:
            rows += [f"  {counted(len(found), 'place')} {what}", *_listed(found, most)]
    return "".join(f"{row}\n" for row in rows)


def _member(source: RecordSource, member: MemberSource, uses: int) -> str:
    """One member, the place where its atom begins, and what comes with it."""
    elsewhere = f"{member.span.file}:" if member.span.file != source.span.file else ""
    remarks = [f"made by {member.macro}()"] if member.macro else []
    if member.others:
        remarks.append(f"declared with {', '.join(member.others)}")
    notes = f"  ({'; '.join(remarks)})" if remarks else ""
    return _ROW.format(elsewhere, member.span.line, uses, f"{member.name}{notes}")


def _listed(found: Sequence[Dependency], most: int) -> Iterator[str]:
    """Up to ``most`` places of each kind with the same members, and how many more there are."""
    for kind, members in dict.fromkeys((one.kind, one.members) for one in found):
        alike = [one for one in found if (one.kind, one.members) == (kind, members)]
        for one in alike[:most]:
            asserted = f" {one.relation} {one.bytes}" if one.bytes is not None and one.relation else ""
            yield f"    {one.place}: {kind.value}{_of(members)}{asserted}"
            if one.text:
                yield f"        {cut(one.text, _MOST_TEXT)}"
        if len(alike) > most:
            yield f"    … and {counted(len(alike) - most, 'further place')}: {kind.value}{_of(members)}"


def _of(members: Sequence[str]) -> str:
    if not members:
        return " of the whole"
    if len(members) <= _MOST_NAMES:
        return f" of {', '.join(members)}"
    return f" of {members[0]} … {members[-1]} ({len(members)} members)"
