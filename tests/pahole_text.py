# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what pahole prints: the other side of the parity test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_TOP = re.compile(r"^(struct|union|class) (\S+) \{$")
_NESTED = re.compile(r"^\t+(?:const |volatile )*(struct|union|enum) (?:\S+ )?\{$")
_PLACED = re.compile(r"^\t+(.*?);? +/\* +(\d+)(?:: *(\d+))? +(\d+) \*/$")
_HOLE = re.compile(r"^\t+/\* XXX (\d+) (byte|bit)s? hole, try to pack \*/$")
_TRAILER = re.compile(r"^\t/\* (size|padding|bit_padding): (\d+)")
_ATTRIBUTE = re.compile(r" __attribute__\(\(.*\)\)$")
# A part that has a tag and no name (-fms-extensions).
_TAGGED_PART = re.compile(r"^(?:const |volatile )*(?:struct|union) \w+ *$")
_NAME = re.compile(r"\(\*+ *(?:const )?(\w+)|(\w+)(?:\[\d*\])*$")


@dataclass
class PaholeMember:
    """One line of a record, or a braced record; ``bit_start`` counts from ``offset``, ``hole`` follows the member."""

    name: str
    offset: int
    size: int
    bit_start: int | None = None
    bit_size: int | None = None
    hole: int = 0
    bit_hole: int = 0
    record: PaholeRecord | None = None


@dataclass
class PaholeRecord:
    """One record as printed; ``size`` is ``None`` where pahole prints none (unions, braced records)."""

    kind: str
    name: str
    size: int | None = None
    padding: int = 0
    bit_padding: int = 0
    first_hole: int = 0
    members: list[PaholeMember] = field(default_factory=list)


def records(text: Iterable[str]) -> Iterator[PaholeRecord]:
    """Every record of the output, in order."""
    open_records: list[PaholeRecord] = []
    for line in text:
        line = line.rstrip("\n")
        top, nested = _TOP.match(line), _NESTED.match(line)
        if top:
            open_records = [PaholeRecord(top[1], top[2])]
        elif nested:
            open_records.append(PaholeRecord(nested[1], ""))
        elif line.startswith("}"):
            yield open_records.pop()
        elif open_records:
            _inside(line, open_records)


def _inside(line: str, open_records: list[PaholeRecord]) -> None:
    record = open_records[-1]
    if hole := _HOLE.match(line):
        _note_hole(record, int(hole[1]), hole[2])
    elif trailer := _TRAILER.match(line):
        setattr(record, trailer[1], int(trailer[2]))
    elif placed := _PLACED.match(line):
        member = _member(*placed.groups())
        if placed[1].startswith("}"):
            closed = open_records.pop()
            record = open_records[-1]
            member.record = None if closed.kind == "enum" else closed
        record.members.append(member)


def _note_hole(record: PaholeRecord, amount: int, unit: str) -> None:
    if not record.members:
        record.first_hole = amount
    elif unit == "byte":
        record.members[-1].hole = amount
    else:
        record.members[-1].bit_hole = amount


def _member(text: str, offset: str, bit_start: str | None, size: str) -> PaholeMember:
    text = _ATTRIBUTE.sub("", text.strip().lstrip("}").strip())
    declared, colon, bits = text.partition(":")
    name = None if _TAGGED_PART.match(declared) else _NAME.search(declared)
    member = PaholeMember((name[1] or name[2]) if name else "", int(offset), int(size))
    if colon:
        member.bit_start, member.bit_size = int(bit_start or 0), int(bits)
    return member
