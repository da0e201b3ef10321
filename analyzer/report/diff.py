# SPDX-License-Identifier: GPL-2.0-or-later
"""Layout changes: as text with a line for each member, hole and total of a record that changed, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.layouts.diff import HoleChange, MemberDiff, RecordDiff, Spot
from linesmith.analyzer.model import ElfIdentity, Layout
from linesmith.analyzer.report.prose import Json, fields_of, json_text


def render_text(changes: tuple[RecordDiff, ...]) -> str:
    """Every change, records separated by an empty line; one sentence when there is none."""
    if not changes:
        return "no layout differs\n"
    return "\n".join("\n".join(_record(change)) + "\n" for change in changes)


def _record(change: RecordDiff) -> Iterator[str]:
    if change.old is None or change.new is None:
        one, word = (change.new, "added") if change.new else (change.old, "removed")
        declared = f", declared at {one.place}" if one and one.file else ""
        yield f"{change.title}: {word}{f', {one.size} bytes' if one else ''}{declared}"
        return
    yield f"{change.title}: {', '.join(_totals(change, change.old, change.new))}"
    yield from map(_member, change.members)
    yield from _holes(change.holes, "byte")
    yield from _holes(change.bit_holes, "bit")


def _totals(change: RecordDiff, old: Layout, new: Layout) -> Iterator[str]:
    growth = new.size - old.size
    if growth:
        word = "grew" if growth > 0 else "shrank"
        yield f"{word} by {abs(growth)} bytes ({old.size} -> {new.size})"
    else:
        yield f"{new.size} bytes as before"
    if change.lines[0] != change.lines[1]:
        yield f"cache lines {change.lines[0]} -> {change.lines[1]}"
    if change.alignment[0] != change.alignment[1]:
        yield f"alignment {change.alignment[0] or 'natural'} -> {change.alignment[1] or 'natural'}"
    if change.padding[0] != change.padding[1]:
        yield f"padding {change.padding[0]} -> {change.padding[1]}"


def _member(change: MemberDiff) -> str:
    if change.new is None and change.old is not None:
        return f"  - {change.path}: removed from {_place(change.old)}, {change.old.type}"
    if change.old is None and change.new is not None:
        return f"  + {change.path}: added at {_place(change.new)}, {change.new.type}, {_size(change.new)}"
    return f"  ~ {change.path}: {', '.join(_details(change))}"


def _details(change: MemberDiff) -> Iterator[str]:
    old, new = change.old, change.new
    if old is None or new is None:
        return
    texts = {
        "moved": f"moved {_offset(old)} -> {_offset(new)}",
        "grew": f"grew {_size(old)} -> {_size(new)}",
        "shrank": f"shrank {_size(old)} -> {_size(new)}",
        "retyped": f"type {old.type} -> {new.type}",
        "crossed a line": f"cache line {old.line} -> {new.line}",
        "straddles": "now straddles two cache lines",
        "no longer straddles": "no longer straddles two cache lines",
    }
    yield from (texts[kind] for kind in change.kinds)
    if not change.kinds:
        yield f"storage unit {old.size} -> {new.size} bytes"


def _offset(spot: Spot) -> str:
    return str(spot.offset) if spot.bit_offset is None else f"{spot.bit_offset // 8}:{spot.bit_offset % 8}"


def _place(spot: Spot) -> str:
    return f"{_offset(spot)} (cache line {spot.line})"


def _size(spot: Spot) -> str:
    return f"{spot.size} bytes" if spot.bit_size is None else f"{spot.bit_size} bits"


def _holes(changes: tuple[HoleChange, ...], unit: str) -> Iterator[str]:
    for change in changes:
        place = f"behind {change.after}" if change.after else "at the front"
        if not change.old:
            yield f"  {unit} hole opened {place}: {change.new} {unit}s"
        elif not change.new:
            yield f"  {unit} hole closed {place}: {change.old} {unit}s"
        else:
            yield f"  {unit} hole {place}: {change.old} -> {change.new} {unit}s"


# The same as JSON (docs/json.md).

SCHEMA_VERSION = 1


def render_json(changes: tuple[RecordDiff, ...], old: ElfIdentity, new: ElfIdentity) -> str:
    """Every change as one indented JSON document that ends in a newline."""
    records = [
        {
            "title": change.title,
            "old": _side(change, change.old, 0),
            "new": _side(change, change.new, 1),
            "members": [fields_of(one, "path", "kinds", "old", "new") for one in change.members],
            "holes": change.holes,
            "bit_holes": change.bit_holes,
        }
        for change in changes
    ]
    return json_text({"schema": SCHEMA_VERSION, "old": old, "new": new, "records": records})


def _side(change: RecordDiff, layout: Layout | None, side: int) -> Json | None:
    """The record as one of the files has it; ``None`` where it has none."""
    if layout is None:
        return None
    sums = {"size": layout.size, "lines": change.lines[side], "padding": change.padding[side]}
    return sums | fields_of(layout, "alignment", "file", "line")
