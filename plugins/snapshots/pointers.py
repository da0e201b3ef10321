# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds out what untyped memory holds by the typed pointers to it.

Nothing in a slab page of ``kmalloc-192`` says which records its objects are. What the kernel reaches, though, it
reaches through a pointer, and the declaration of that pointer is in DWARF: variables, per-CPU variables and objects
of caches that hold one type only are searched for words that are the start of such an object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import drgn

from linesmith.plugins.snapshots.cache_types import RecordSize

WORD_BYTES = 8
BUCKET_BYTES = 64

# Records that a word at an address may point to.
Declared = Callable[[int], tuple[str, ...]]

_RECORD_KINDS = (drgn.TypeKind.STRUCT, drgn.TypeKind.UNION, drgn.TypeKind.CLASS)


@dataclass(frozen=True, slots=True)
class TypedMemory:
    """Contiguous memory from ``address`` on, and how its words are declared."""

    address: int
    content: bytes
    declared: Declared


class Records(Protocol):
    """What the records of a kernel say about the memory that they take."""

    def size(self, record: str, /) -> int | None:
        """Bytes of the record; none when the kernel has no such record."""

    def grows(self, record: str, /) -> bool:
        """Whether the record ends in a flexible array."""


def words_where(source: TypedMemory, wanted: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Address and value of every word (8 bytes, little-endian) of ``source`` whose value is ``wanted``."""
    words = memoryview(source.content)[: len(source.content) & -WORD_BYTES].cast("Q")
    return ((source.address + index * WORD_BYTES, word) for index, word in enumerate(words) if wanted(word))


def votes_for(targets: Iterable[int], sources: Iterable[TypedMemory]) -> dict[int, Counter[str]]:
    """How often each record is declared to lie at each of ``targets`` (values of pointers)."""
    wanted = frozenset(targets)
    votes: dict[int, Counter[str]] = {}
    for source in sources:
        for address, value in words_where(source, wanted.__contains__):
            records = source.declared(address)
            if records:
                votes.setdefault(value, Counter()).update(records)
    return votes


def likely_records(votes: Counter[str], object_bytes: int, records: Records) -> tuple[str, ...]:
    """Records of ``votes`` that fill the object, most voted first.

    Smaller ones are rather its first member (a list node, a lock): the allocator would have served a record of up to
    half the size from a smaller cache, unless its end is flexible.
    """
    fitting = []
    for record, count in votes.items():
        size = records.size(record) or 0
        if 0 < size <= object_bytes and (object_bytes < 2 * size or records.grows(record)):
            fitting.append((-count, record))
    return tuple(record for _, record in sorted(fitting))


def as_array(votes: Counter[str], size_of: RecordSize) -> tuple[str, int] | None:
    """The small record that memory of many is an array of (the buckets of a hash table), and its size in bytes."""
    sizes = {record: size_of(record) or 0 for record in votes}
    small = ((-count, record) for record, count in votes.items() if 0 < sizes[record] <= BUCKET_BYTES)
    _, first = min(small, default=(0, None))
    return (first, sizes[first]) if first else None


class KernelRecords:
    """The records of one program by name, as DWARF declares them; where several share a name, any one of them."""

    def __init__(self, program: drgn.Program) -> None:
        """Looks records up as they are asked for."""
        self._program = program
        self._declared = cache(self._find)
        self.pointees = cache(self._pointees)

    def size(self, record: str) -> int | None:
        """Bytes of the record; none when the kernel has no such record."""
        kind = self._declared(record)
        return None if kind is None else kind.size

    def grows(self, record: str) -> bool:
        """Whether the record ends in a flexible array."""
        kind = self._declared(record)
        return kind is not None and bool(kind.members) and _is_flexible(kind.members[-1].type)

    def _pointees(self, record: str, offset: int) -> tuple[str, ...]:
        """Records that the pointer at ``offset`` bytes of ``record`` may point to; several within a union."""
        kind = self._declared(record)
        try:
            return () if kind is None else tuple(dict.fromkeys(pointees(kind, offset)))
        except (LookupError, drgn.BadDataError):
            return ()

    def _find(self, record: str) -> drgn.Type | None:
        for tag in ("struct", "union"):
            try:
                kind = self._program.type(f"{tag} {record}")
            except (LookupError, drgn.BadDataError):
                continue
            if kind.is_complete():
                return kind
        return None


def record_name(kind: drgn.Type) -> str | None:
    """The tag of a record, or the typedef that names one without a tag; none for what is no record."""
    alias = None
    while kind.kind == drgn.TypeKind.TYPEDEF:
        alias, kind = kind.name, kind.type
    return (kind.tag or alias) if kind.kind in _RECORD_KINDS else None


def pointees(kind: drgn.Type, offset: int) -> Iterator[str]:
    """Names of the records that pointers at byte ``offset`` of ``kind`` point to."""
    while kind.kind == drgn.TypeKind.TYPEDEF:
        kind = kind.type
    if kind.kind == drgn.TypeKind.POINTER:
        name = record_name(kind.type) if offset == 0 else None
        if name is not None:
            yield name
    elif kind.kind == drgn.TypeKind.ARRAY:
        element = drgn.sizeof(kind.type)
        if element:
            yield from pointees(kind.type, offset % element)
    elif kind.kind in _RECORD_KINDS and kind.is_complete():
        for member in kind.members:
            if member.bit_field_size is not None or offset < member.offset:
                continue
            inside = offset - member.offset
            # A flexible array has no end, so it holds everything behind its beginning.
            if _is_flexible(member.type) or inside < drgn.sizeof(member.type):
                yield from pointees(member.type, inside)


def _is_flexible(kind: drgn.Type) -> bool:
    return kind.kind == drgn.TypeKind.ARRAY and not kind.length
