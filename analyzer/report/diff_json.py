# SPDX-License-Identifier: GPL-2.0-or-later
"""Layout changes as JSON; docs/schema-diff.md documents it and a test keeps the two equal."""

from __future__ import annotations

import msgspec

from linesmith.analyzer.diff import HoleChange, RecordChange, Spot
from linesmith.analyzer.model import ElfIdentity, Layout

SCHEMA_VERSION = 1


class SideView(msgspec.Struct, frozen=True):
    """One record as one of the files has it: bytes, cache lines, and where it is declared."""

    size: int
    lines: int
    padding: int
    alignment: int | None
    file: str | None
    line: int | None


class MemberView(msgspec.Struct, frozen=True):
    """One changed member; ``kinds`` are words such as ``moved``, ``grew``, ``crossed a line``."""

    path: str
    kinds: tuple[str, ...]
    old: Spot | None
    new: Spot | None


class RecordView(msgspec.Struct, frozen=True):
    """One changed record; ``old`` or ``new`` is ``null`` when only one file has it. Holes are told by member."""

    title: str
    old: SideView | None
    new: SideView | None
    members: tuple[MemberView, ...]
    holes: tuple[HoleChange, ...]
    bit_holes: tuple[HoleChange, ...]


class DiffDocument(msgspec.Struct, frozen=True):
    """What ``linesmith diff --format json`` writes."""

    schema: int
    old: ElfIdentity
    new: ElfIdentity
    records: tuple[RecordView, ...]


def render_json(changes: tuple[RecordChange, ...], old: ElfIdentity, new: ElfIdentity) -> str:
    """Every change as one indented JSON document that ends in a newline."""
    document = DiffDocument(SCHEMA_VERSION, old, new, tuple(map(_record, changes)))
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(DiffDocument)


def _record(change: RecordChange) -> RecordView:
    members = tuple(MemberView(one.path, one.kinds, one.old, one.new) for one in change.members)
    return RecordView(
        change.title,
        _side(change, change.old, 0),
        _side(change, change.new, 1),
        members,
        change.holes,
        change.bit_holes,
    )


def _side(change: RecordChange, layout: Layout | None, side: int) -> SideView | None:
    if layout is None:
        return None
    return SideView(layout.size, change.lines[side], change.padding[side], layout.alignment, layout.file, layout.line)
