# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two namings of a place in memory, each a type and an offset into it, can be the same place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind

BYTES_OF_NUMBER = {
    "_Bool": 1,
    "char": 1,
    "signed char": 1,
    "unsigned char": 1,
    "short int": 2,
    "short unsigned int": 2,
    "int": 4,
    "unsigned int": 4,
    "long int": 8,
    "long unsigned int": 8,
    "long long int": 8,
    "long long unsigned int": 8,
    "float": 4,
    "double": 8,
}
NO_FIELD = "no field"
_QUALIFIERS = re.compile(r"\b(const|volatile|restrict|_Atomic)\b")
_POINTERS = (MemberCategory.POINTER, MemberCategory.FUNCTION_POINTER)


@dataclass(frozen=True, slots=True)
class Naming:
    """A type and bytes into it; ``field`` is the member there where the namer told it, ``width`` that of the access."""

    type: str
    offset: int
    field: str = NO_FIELD
    width: int = 0


class Relation(StrEnum):
    """How what perf says relates to what we say; the first four agree."""

    SAME = "same type and offset"
    INNER = "perf names a type that lies there in ours"
    OUTER = "perf names a type that has ours there"
    ALIKE = "perf names the typedef of a number or pointer"
    OFFSET = "same type, other offset"
    RECORDS = "two records, neither in the other"
    SCALARS = "two numbers or pointers"
    MIXED = "a record, and a number that it has not there"

    @property
    def agrees(self) -> bool:
        """Whether both can be right at once."""
        return self in (Relation.SAME, Relation.INNER, Relation.OUTER, Relation.ALIKE)


def relation(perf: Naming, ours: Naming, layouts: Layouts) -> Relation:
    """Compare the two; names are as perf and as the access map spell them."""
    theirs, own = _plain(perf.type), _plain(ours.type)
    inside_ours = set(_spots(own, ours.offset, layouts))
    if theirs == own or _nameless(theirs, own):
        return Relation.SAME if _within(theirs, perf.offset) == _within(own, ours.offset) else Relation.OFFSET
    if perf.field != NO_FIELD and not _variants(theirs, layouts):
        return _by_field(perf, ours, inside_ours)
    if (theirs, _within(theirs, perf.offset)) in inside_ours:
        return Relation.INNER
    if (own, _within(own, ours.offset)) in set(_spots(theirs, perf.offset, layouts)):
        return Relation.OUTER
    if _is_typedef(theirs, layouts):
        return Relation.ALIKE if _has_number(inside_ours) else Relation.MIXED
    if _shape(theirs) and (_shape(theirs), _within(theirs, perf.offset)) in inside_ours:
        return Relation.INNER if _variants(own, layouts) else Relation.ALIKE
    records = [bool(_variants(name, layouts)) for name in (theirs, own)]
    return Relation.RECORDS if all(records) else Relation.MIXED if any(records) else Relation.SCALARS


def _nameless(theirs: str, own: str) -> bool:
    """Both name a record that has no name, of the same kind; theirs is ``struct``, ours ``struct {...}``."""
    return theirs in ("struct", "union") and own in (f"{theirs} {{...}}", "{...}")


def _by_field(perf: Naming, ours: Naming, inside_ours: set[tuple[str, int]]) -> Relation:
    """perf names the typedef of a record: only the name of the member tells which record it is."""
    member = "." + re.split(r"[.:\[]", perf.field)[0]
    if (member, perf.offset) not in inside_ours:
        return Relation.RECORDS
    return Relation.SAME if perf.offset == ours.offset else Relation.INNER


def _spots(name: str, offset: int, layouts: Layouts) -> Iterator[tuple[str, int]]:
    """The place itself and every type that lies there inside of the type, each with the offset into it.

    A member adds ``.name`` with the offset into its record; what is no record adds its shape, ``pointer`` or
    ``number of 4``, since one side names typedefs and the other one what they stand for.
    """
    yield name, _within(name, offset)
    if shape := _shape(name):
        yield shape, _within(name, offset)
    for layout in _variants(name, layouts):
        yield from _inside(layout, offset, layouts)


def _inside(layout: Layout, offset: int, layouts: Layouts) -> Iterator[tuple[str, int]]:
    open_ended = bool(layout.members) and (layout.members[-1].flexible or not layout.members[-1].size)
    if layout.size and not open_ended:
        offset %= layout.size
    yield layout.title, offset
    for member in layout.members:
        into = offset - member.offset
        if 0 <= into < member.size or (into >= 0 and member.flexible):
            yield f".{member.name}", offset
            yield from _in_member(member, into, offset, layouts)


def _in_member(member: Member, into: int, offset: int, layouts: Layouts) -> Iterator[tuple[str, int]]:
    """What lies ``into`` bytes into a member that ``offset`` bytes into its record fall on."""
    count = prod(member.dimensions)
    element = member.size // count if count else 0
    into = into % element if element else into
    if member.record is None:
        yield _plain(member.type), into
        pointer = member.category in _POINTERS or "*" in member.type
        yield "pointer" if pointer else f"number of {element or member.size}", into
        return
    for name, inner in _inside(layouts.by_id(member.record), into, layouts):
        yield name, inner
        if not member.name and name.startswith(".") and inner == into:
            yield name, offset


def _shape(name: str) -> str | None:
    if name.endswith("*"):
        return "pointer"
    size = 4 if name.startswith("enum ") else BYTES_OF_NUMBER.get(name)
    return f"number of {size}" if size else None


def _within(name: str, offset: int) -> int:
    """Offsets of numbers and pointers count from the element of an array."""
    size = 8 if name.endswith("*") else BYTES_OF_NUMBER.get(name)
    return offset % size if size else offset


def _is_typedef(name: str, layouts: Layouts) -> bool:
    return " " not in name and not _shape(name) and not _variants(name, layouts)


def _has_number(spots: set[tuple[str, int]]) -> bool:
    return any((name == "pointer" or name.startswith("number of ")) and not offset for name, offset in spots)


def _variants(name: str, layouts: Layouts) -> tuple[Layout, ...]:
    kind, _, bare = name.rpartition(" ")
    if kind in list(RecordKind):
        return tuple(one for one in layouts.variants(bare) if not one.typedef and one.kind == kind)
    return () if kind else tuple(one for one in layouts.variants(name) if one.typedef)


def _plain(name: str) -> str:
    """Without qualifiers, array brackets, and blanks before stars."""
    return re.sub(r"\s+", " ", _QUALIFIERS.sub("", name)).replace(" *", "*").partition("[")[0].strip()
