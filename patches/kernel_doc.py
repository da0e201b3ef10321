# SPDX-License-Identifier: GPL-2.0-or-later
"""The comment above a record that describes its members: its entries follow the order of the members.

Source: Documentation/doc-guide/kernel-doc.rst. Plain comments that describe members as ``@name:`` are taken alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from linesmith.patches.records import Record

_ENTRY = re.compile(rb"[ \t]*\*?[ \t]*@(?P<name>\w+)[\w.\[\]]*(?:\s*,\s*@?\w+)*\s*(?::|-\s)")
_BLANK = re.compile(rb"[ \t]*\*?[ \t]*\r?\n?\Z")
# After an empty line a text that is not indented describes the record again.
_UNINDENTED = re.compile(rb"[ \t]*\*[ \t]?[^\s@]")
_SECTION = re.compile(rb"[ \t]*\*[ \t]?(?:description|context|returns?|notes?|examples?|locking)[ \t]*:", re.IGNORECASE)
_BETWEEN = re.compile(rb"\s*(?:\#[^\n]*\n\s*)*(?:(?:typedef|static|const|volatile|__\w+)\s+)*\Z")
_MOST_COMMENTS = 3


@dataclass(frozen=True, slots=True)
class _Entry:
    """Whole lines ``start`` … ``end`` of the file that describe the member ``name``."""

    name: str
    start: int
    end: int


def followed(source: bytes, record: Record, before: Sequence[str], after: Sequence[str]) -> bytes:
    """``source`` with the entries of the comment above ``record`` in the order in which the members are now.

    ``before`` and ``after`` are all members of the record in the old and in the new order. Each entry takes the place
    of another one, so that following back gives the same bytes. Entries in another order than the members had stay.
    """
    entries = _entries(source, record, before)
    described = {entry.name for entry in entries}
    old, new = ([name for name in order if name in described] for order in (before, after))
    moved = {name for name, other in zip(old, new, strict=False) if name != other}
    slots = [entry for entry in entries if entry.name in moved]
    if not moved or len(described) < len(entries) or sorted(old) != sorted(new):
        return source
    if [entry.name for entry in slots] != [name for name in old if name in moved]:
        return source
    texts = {entry.name: source[entry.start : entry.end] for entry in slots}
    return _replaced(source, slots, [texts[name] for name in new if name in moved])


def _replaced(source: bytes, slots: Sequence[_Entry], texts: Sequence[bytes]) -> bytes:
    parts, position = [], 0
    for slot, text in zip(slots, texts, strict=True):
        parts += [source[position : slot.start], text]
        position = slot.end
    return b"".join((*parts, source[position:]))


def _entries(source: bytes, record: Record, names: Collection[str]) -> list[_Entry]:
    """The entries of members in the nearest comment above the record that has any."""
    position = record.start
    for _ in range(_MOST_COMMENTS):
        end = source.rfind(b"*/", 0, position)
        start = source.rfind(b"/*", 0, end)
        if start < 0 or not _BETWEEN.match(source, end + 2, position):
            return []
        found = list(_entries_of(source, start, end, names))
        if found:
            return found
        position = start
    return []


def _entries_of(source: bytes, start: int, end: int, names: Collection[str]) -> Iterator[_Entry]:
    """Entries between the line that opens a comment and the one that closes it."""
    opened: _Entry | None = None
    blank = False
    for first, last in _lines(source, start, end):
        line = source[first:last]
        match = _ENTRY.match(line)
        name = match["name"].decode() if match else ""
        if match and opened and name == opened.name:
            opened = _Entry(name, opened.start, last)
        elif match or (opened and (_SECTION.match(line) or (blank and _UNINDENTED.match(line)))):
            if opened:
                yield opened
            opened = _Entry(name, first, last) if name in names else None
        elif opened and not _BLANK.match(line):
            opened = _Entry(opened.name, opened.start, last)
        blank = bool(_BLANK.match(line))
    if opened:
        yield opened


def _lines(source: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The whole lines behind the one with ``/*`` and before the one with ``*/``."""
    first = source.find(b"\n", start, end) + 1
    while 0 < first <= end:
        last = source.find(b"\n", first, end) + 1
        if not last:
            return
        yield first, last
        first = last
