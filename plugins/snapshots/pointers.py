# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds out what untyped memory holds by the typed pointers to it.

Nothing in a slab page of ``kmalloc-192`` says which records its objects are. What the kernel reaches, though, it
reaches through a pointer, and the declaration of that pointer is in DWARF: variables, per-CPU variables and objects
of caches that hold one type only are searched for words that are the start of such an object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import drgn

from linesmith.analyzer.model import ObjectArea
from linesmith.plugins.snapshots.cache_types import RecordSize

WORD_BYTES = 8
BUCKET_BYTES = 64

# Records that a word at an address may point to.
Declared = Callable[[int], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TypedMemory:
    """Contiguous memory from ``address`` on, and how its words are declared."""

    address: int
    content: bytes
    declared: Declared


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


def words_where(source: TypedMemory, wanted: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Address and value of every word (8 bytes, little-endian) of ``source`` whose value is ``wanted``."""
    words = memoryview(source.content)[: len(source.content) & -WORD_BYTES].cast("Q")
    return ((source.address + index * WORD_BYTES, word) for index, word in enumerate(words) if wanted(word))


class Records(Protocol):
    """What the records of a kernel say about the memory that they take."""

    def size(self, record: str, /) -> int | None:
        """Bytes of the record; none when the kernel has no such record."""

    def grows(self, record: str, /) -> bool:
        """Whether the record ends in a flexible array."""


def believed(votes: Counter[str], object_bytes: int, records: Records) -> tuple[str, ...]:
    """Records of ``votes`` that fill the object, most voted first.

    Smaller ones are rather its first member (a list node, a lock): the allocator would have served a record of up to
    half the size from a smaller cache, unless its end is flexible.
    """
    fitting = ((-count, record) for record, count in votes.items() if _fills(record, object_bytes, records))
    return tuple(record for _, record in sorted(fitting))


def _fills(record: str, object_bytes: int, records: Records) -> bool:
    size = records.size(record) or 0
    return 0 < size <= object_bytes and (object_bytes < 2 * size or records.grows(record))


def as_array(votes: Counter[str], size_of: RecordSize) -> tuple[str, int] | None:
    """The small record that memory of many is an array of (the buckets of a hash table), and its size in bytes."""
    small = ((-count, record) for record, count in votes.items() if 0 < (size_of(record) or 0) <= BUCKET_BYTES)
    record = next((record for _, record in sorted(small)), None)
    return (record, size_of(record) or 0) if record else None


def split(area: ObjectArea, types: Mapping[int, tuple[str, ...]]) -> tuple[ObjectArea, ...]:
    """``area`` with the objects whose index is in ``types`` as areas of their own."""
    pieces, first = [], 0
    for index in sorted(types):
        if index > first:
            pieces.append(_part(area, first, index - first, area.types))
        pieces.append(_part(area, index, 1, tuple(dict.fromkeys((*types[index], *area.types)))))
        first = index + 1
    if first < area.count:
        pieces.append(_part(area, first, area.count - first, area.types))
    return tuple(pieces)


def _part(area: ObjectArea, first: int, count: int, types: tuple[str, ...]) -> ObjectArea:
    address = area.address + first * area.stride
    return ObjectArea(
        area.kind, area.name, address, area.size, area.stride, count, types, area.merged, area.cpu, area.detail
    )


# Which record a pointer within a record of known type points to, by DWARF.

_RECORDS = (drgn.TypeKind.STRUCT, drgn.TypeKind.UNION, drgn.TypeKind.CLASS)


def record_name(kind: drgn.Type) -> str | None:
    """The tag of a record, or the typedef that names one without a tag; none for what is no record."""
    alias = None
    while kind.kind == drgn.TypeKind.TYPEDEF:
        alias, kind = kind.name, kind.type
    return (kind.tag or alias) if kind.kind in _RECORDS else None


class Pointees:
    """Pointer members of the records of one program."""

    def __init__(self, program: drgn.Program) -> None:
        """Looks members up as they are asked for."""
        self._program = program
        self.of_record = cache(self._of_record)

    def _of_record(self, record: str, offset: int) -> tuple[str, ...]:
        """Records that the pointer at ``offset`` bytes of ``record`` may point to; several within a union."""
        for tag in ("struct", "union"):
            try:
                return tuple(dict.fromkeys(pointees(self._program.type(f"{tag} {record}"), offset)))
            except (LookupError, drgn.BadDataError):
                continue
        return ()


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
    elif kind.kind in _RECORDS and kind.is_complete():
        for member in kind.members:
            yield from _in_member(member, offset)


def _in_member(member: drgn.TypeMember, offset: int) -> Iterator[str]:
    if member.bit_field_size is not None:
        return
    inside, kind = offset - member.offset, member.type
    # A flexible array has no end, so it holds everything behind its beginning.
    flexible = kind.kind == drgn.TypeKind.ARRAY and not kind.length
    if inside >= 0 and (flexible or inside < drgn.sizeof(kind)):
        yield from pointees(kind, inside)


# Sizes of a kernel's records by name.


class KernelRecords:
    """Records as DWARF declares them; where several share a name, any one of them."""

    def __init__(self, program: drgn.Program) -> None:
        """Looks records up as they are asked for."""
        self._program = program
        self.size = cache(self._size)
        self.grows = cache(self._grows)

    def _size(self, record: str) -> int | None:
        kind = self._declared(record)
        return kind.size if kind is not None else None

    def _grows(self, record: str) -> bool:
        kind = self._declared(record)
        if kind is None or not kind.members:
            return False
        last = kind.members[-1].type
        return last.kind == drgn.TypeKind.ARRAY and not last.length

    def _declared(self, record: str) -> drgn.Type | None:
        for tag in ("struct", "union"):
            try:
                kind = self._program.type(f"{tag} {record}")
            except (LookupError, drgn.BadDataError):
                continue
            if kind.is_complete():
                return kind
        return None
