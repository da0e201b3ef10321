# SPDX-License-Identifier: GPL-2.0-or-later
"""Digests of layouts: two builds whose records have equal digests lay them out alike.

What changes from build to build without moving a byte is left out: ids, lines, files, compile units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import msgspec

DIGEST_BYTES = 8
# Damaged debug information can nest anonymous records without end.
_MOST_LEVELS = 128


class _Member(msgspec.Struct, frozen=True):
    type: str
    declarator: str
    offset: int
    size: int
    name: str = ""
    alignment: int | None = None
    bit_offset: int | None = None
    bit_size: int | None = None
    record: int | None = None


class _Record(msgspec.Struct, frozen=True):
    name: str
    kind: str
    size: int
    alignment: int | None = None
    members: tuple[_Member, ...] = ()


def digests(documents: Sequence[bytes]) -> tuple[bytes, ...]:
    """``DIGEST_BYTES`` bytes per record, by id; ``documents`` are the records as JSON, by id.

    Anonymous records count for those that hold them; the insides of named ones do not, only their sizes.
    """
    decoder = msgspec.json.Decoder(_Record)
    records = [decoder.decode(document) for document in documents]
    return tuple(_digest(record, records) for record in records)


def _digest(record: _Record, records: Sequence[_Record]) -> bytes:
    content = msgspec.msgpack.encode(tuple(_shape(record, records, 0)))
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def _shape(record: _Record, records: Sequence[_Record], level: int) -> Iterator[object]:
    yield record.kind, record.size, record.alignment
    for member in record.members:
        yield (
            member.name,
            member.type,
            member.declarator,
            member.offset,
            member.size,
            member.alignment,
            member.bit_offset,
            member.bit_size,
        )
        inner = records[member.record] if member.record is not None else None
        if inner is not None and not inner.name and level < _MOST_LEVELS:
            yield tuple(_shape(inner, records, level + 1))
