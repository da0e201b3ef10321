# SPDX-License-Identifier: GPL-2.0-or-later
"""Which record a pointer within a record of known type points to, by DWARF."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import drgn

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
