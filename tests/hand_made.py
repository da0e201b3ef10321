# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts and findings written by hand, for tests that need neither an ELF file nor a profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    ConflictPair,
    Finding,
    Layout,
    LineMember,
    LineObject,
    Member,
    MemberCategory,
    MemberFunction,
    Outcome,
    RecordKind,
    Triage,
    TriageKind,
)

_IDS = count(1)


def scalar(name: str, size: int = 8, align: int | None = None, dimensions: tuple[int, ...] = ()) -> Member:
    """A member of ``size`` bytes, naturally aligned up to 8; ``align`` is an explicit alignment."""
    natural = next(step for step in (8, 4, 2, 1) if size % step == 0)
    return Member(name, "type", name, 0, size, natural, align, dimensions=dimensions)


def bits(name: str, width: int, size: int = 4) -> Member:
    """A bit-field of ``width`` bits in a type of ``size`` bytes."""
    return Member(name, "type", name, 0, size, size, bit_offset=0, bit_size=width)


def flexible(name: str, element: int = 8) -> Member:
    """A flexible array of elements of ``element`` bytes."""
    return Member(name, "type", f"{name}[]", 0, 0, element, flexible=True)


def held(name: str, layout: Layout) -> Member:
    """A member that holds ``layout`` by value; the name ``""`` makes it anonymous."""
    align = max(layout.natural_alignment, layout.alignment or 1)
    title = layout.title if layout.name else layout.kind.value
    return Member(name, title, name, 0, layout.size, align, category=MemberCategory.RECORD, record=layout.id)


def struct(name: str, *members: Member, align: int | None = None) -> Layout:
    """A struct with its members placed by C's rules; ``align`` is its own explicit alignment."""
    bare = Layout(next(_IDS), name, RecordKind.STRUCT, 0, (), 1, align)
    return lay_out(bare, members)


def union(name: str, *members: Member) -> Layout:
    """A union of ``members``."""
    align = max(member.natural_alignment for member in members)
    size = -(-max(member.size for member in members) // align) * align
    return Layout(next(_IDS), name, RecordKind.UNION, size, members, align)


def lock(name: str, size: int, record: str = "rw_semaphore") -> tuple[Member, Layout]:
    """A lock of ``size`` bytes as a member, with the record it holds."""
    words = [scalar(f"word{number}") for number in range(size // 8)] or [scalar("word", size)]
    layout = struct(record, *words)
    return held(name, layout), layout


def table(*layouts: Layout) -> LayoutTable:
    """The layouts as the later stages ask for them."""
    return LayoutTable(layouts)


def offsets(layout: Layout) -> dict[str, int]:
    """Offset in bytes by member name."""
    return {member.name: member.offset for member in layout.members}


def hot(path: str, offset: int, size: int, reads: int = 0, writes: int = 0, lock: bool = False) -> LineMember:
    """A member seen hot, at byte ``offset`` of an object that starts on a line."""
    place = offset % CACHE_LINE_BYTES
    function = MemberFunction("function", reads, writes)
    return LineMember(path, place, offset, size, reads, writes, (function,), lock=lock)


def finding(
    layout: Layout, members: Iterable[LineMember], pairs: Sequence[ConflictPair] = (), phase: int = 0, rank: int = 0
) -> Finding:
    """A line on which ``members`` of an object of type ``layout`` meet; the object has ``phase``."""
    seen = tuple(members)
    first = min((member.object_offset or 0) for member in seen)
    start = phase - (first + phase) // CACHE_LINE_BYTES * CACHE_LINE_BYTES
    placed = tuple(replace(one, offset=(one.object_offset or 0) + start) for one in seen)
    contended = sum(one.reads for one in seen)
    target = LineObject(layout.name, layout.id, start, 1.0, Outcome.RESOLVED, 0.9)
    kind = TriageKind.FALSE_SHARING if pairs else TriageKind.TRUE_SHARING
    triage = Triage((kind,), tuple(pairs), f"{kind.value} in {layout.name}")
    return Finding(rank, None, 1.0, contended, sum(one.writes for one in seen), (target,), placed, triage)


def meeting(layout: Layout, writer: str, *readers: str, phase: int = 0, samples: int = 100) -> Finding:
    """A line on which ``writer`` disturbs each of ``readers``, ``samples`` times each."""
    by_name = {member.name: member for member in layout.members}
    places = [hot(name, by_name[name].offset, by_name[name].size, samples) for name in readers]
    written = by_name[writer]
    places.append(hot(writer, written.offset, written.size, writes=samples, lock="lock" in writer or "sem" in writer))
    pairs = [ConflictPair(name, writer, writer, samples) for name in readers]
    return finding(layout, places, pairs, phase)
