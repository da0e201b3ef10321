# SPDX-License-Identifier: GPL-2.0-or-later
"""Arithmetic of one record on cache lines: unused bytes and bits, counted as pahole does, lines covered, and phases.

A phase is where an object starts in its line: two members of it meet where a byte of each is on one line.

Gaps tell of alignment and packing that the source asked for, where no producer does. clang and every DWARF 4 producer
leave DW_AT_alignment out; BTF has no such field. gcc states it also of a record which embeds an aligned one. No
producer tells of unnamed bit-fields; one of width 0, which closes a storage unit (C11 6.7.2.1p12), shows by the next
bit-field beginning at the next unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import gcd, prod

from linesmith.analyzer.layouts.collection import MOST_LEVELS, MOST_MEMBERS, Layouts
from linesmith.analyzer.layouts.placement import BYTE, bit_field_start, round_up, shape_of
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member, RecordKind


@dataclass(frozen=True, slots=True)
class Hole:
    """``size`` unused bytes at byte ``offset``; ``after`` is the index of the member before, -1 at the front."""

    offset: int
    size: int
    after: int


@dataclass(frozen=True, slots=True)
class BitHole:
    """``bits`` unused bits at bit ``bit_offset`` of the record, next to a bit-field; ``after`` as in ``Hole``."""

    bit_offset: int
    bits: int
    after: int


@dataclass(frozen=True)
class Gaps:
    """All gaps of a record; ``padding`` is in bytes, ``bit_padding`` in bits, both behind the last member."""

    holes: tuple[Hole, ...]
    bit_holes: tuple[BitHole, ...]
    padding: int
    bit_padding: int

    def hole_after(self, index: int) -> int:
        """Bytes of the hole behind member ``index`` (-1: before the first member); 0 for none."""
        return self._after[0][index]

    def bits_after(self, index: int) -> int:
        """Bits of the bit hole behind member ``index`` (-1: before the first member); 0 for none."""
        return self._after[1][index]

    @cached_property
    def _after(self) -> tuple[Counter[int], Counter[int]]:
        """The bytes and the bits that are unused behind each member."""
        found = Counter[int](), Counter[int]()
        for hole in self.holes:
            found[0][hole.after] += hole.size
        for bits in self.bit_holes:
            found[1][bits.after] += bits.bits
        return found


class _Sweep:
    """Walks the members in order; ``seen`` is the first bit behind everything passed so far.

    ``last`` is the index of the member passed last, ``unit_end`` the last bit (exclusive) of the bit-field storage unit
    being filled, if one is.
    """

    def __init__(self) -> None:
        self.last = -1
        self.seen = 0
        self.unit_bits = 0
        self.unit_end = 0
        self.in_unit = False
        self.holes: list[Hole] = []
        self.bit_holes: list[BitHole] = []

    def close_unit(self, limit: int) -> int:
        """Bits left over in the open storage unit, which ends at ``limit`` at the latest."""
        if not self.in_unit:
            return 0
        end = min(limit, self.unit_end)
        left, self.seen = end - self.seen, end
        return left

    def step(self, index: int, member: Member) -> None:
        """Record the gaps between what was seen and ``member``, then pass it."""
        start = member.first_bit
        bits = self.close_unit(start)
        self._note_bits(self.seen - bits, bits)
        if member.bit_size is None:
            self._note_bytes(start // 8 - self.seen // 8)
            self.in_unit, self.unit_bits = False, 0
            self.seen = self.unit_end = start + member.size * 8
        else:
            self._enter_bit_field(member, start)
            self.seen = start + member.bit_size
        self.last = index

    def _enter_bit_field(self, member: Member, start: int) -> None:
        unit_start = member.offset * 8
        if self.seen < unit_start <= start:
            self._note_bytes(member.offset - self.seen // 8)
            self.seen = unit_start
        self._note_bits(self.seen, start - self.seen)
        end = start + (member.bit_size or 0)
        if not self.in_unit or end > self.unit_end or member.size * 8 > self.unit_bits:
            self.unit_bits = member.size * 8
            self.unit_end = unit_start + self.unit_bits
            if end > self.unit_end:  # a packed bit-field that runs over into the next unit
                self.unit_end = -(-end // 8) * 8
        self.in_unit = True

    def _note_bytes(self, size: int) -> None:
        if size > 0:
            self.holes.append(Hole(self.seen // 8, size, self.last))

    def _note_bits(self, bit_offset: int, bits: int) -> None:
        if bits > 0:
            self.bit_holes.append(BitHole(bit_offset, bits, self.last))


def gaps(layout: Layout) -> Gaps:
    """Holes and padding of a struct; a union has none, because its members all start at its first byte.

    Members that lie in another order than they were declared in (Rust) are walked as they lie. Overlapping members
    (damaged debug information) give no negative gaps.
    """
    if layout.kind is RecordKind.UNION:
        return Gaps((), (), 0, 0)
    sweep = _Sweep()
    places = [(one.first_bit, one.size) for one in layout.members]
    order: Iterable[int] = range(len(places))
    for index in order if places == sorted(places) else sorted(order, key=places.__getitem__):
        sweep.step(index, layout.members[index])
    bit_padding = max(0, sweep.close_unit(layout.size * 8))
    padding = max(0, layout.size - sweep.seen // 8)
    return Gaps(tuple(sweep.holes), tuple(sweep.bit_holes), padding, bit_padding)


def line_of(offset: int, line_bytes: int = CACHE_LINE_BYTES) -> int:
    """Number of the line that holds byte ``offset``, counted from 0; offsets may be negative."""
    return offset // line_bytes


def lines(layout: Layout, line_bytes: int = CACHE_LINE_BYTES) -> int:
    """How many lines the record covers when it starts on a line boundary; 0 for an empty record."""
    return -(-layout.size // line_bytes)


def lines_touched(offset: int, size: int, line_bytes: int = CACHE_LINE_BYTES) -> range:
    """Numbers of the lines that the bytes ``[offset, offset + size)`` lie on; empty when ``size`` is 0."""
    if size <= 0:
        return range(0)
    return range(offset // line_bytes, (offset + size - 1) // line_bytes + 1)


def straddles(offset: int, size: int, line_bytes: int = CACHE_LINE_BYTES) -> bool:
    """Whether bytes that would fit on one line lie on two; what is larger than a line never straddles."""
    return size <= line_bytes and len(lines_touched(offset, size, line_bytes)) > 1


@dataclass(frozen=True, slots=True)
class Span:
    """``size`` bytes from ``offset`` on, counted from the object's first byte."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ObjectStarts:
    """Where objects may start: at byte ``first`` of a pair of lines, and any number of ``step`` bytes from there."""

    step: int
    first: int = 0


def phases(granule: int, line_bytes: int, first: int = 0) -> range:
    """Every phase of an object that may start any multiple of ``granule`` bytes from ``first``, each equally likely."""
    step = gcd(granule, line_bytes)
    return range(first % step, line_bytes, step)


def meet(first: Span, second: Span, line_bytes: int, phase: int) -> bool:
    """Whether a byte of ``first`` and a byte of ``second`` are on one line when the object has ``phase``."""
    mine = lines_touched(first.offset + phase, first.size, line_bytes)
    other = lines_touched(second.offset + phase, second.size, line_bytes)
    return max(mine.start, other.start) < min(mine.stop, other.stop)


def meeting_phases(first: Span, second: Span, line_bytes: int, granule: int, begin: int = 0) -> float:
    """Share (0 … 1, exact for lines of a power of two) of all phases in which the two spans meet.

    Objects start any multiple of ``granule`` bytes from ``begin``. Spans made of whole granules never meet wherever
    they begin if and only if the gap between them is ``line_bytes - granule`` or more.
    """
    starts = phases(granule, line_bytes, begin)
    return sum(meet(first, second, line_bytes, phase) for phase in starts) / len(starts)


def record_alignment(layout: Layout) -> int:
    """Alignment of the record in bytes: every object starts at a multiple of it."""
    return max([layout.natural_alignment, layout.alignment or 1, *(member.alignment or 1 for member in layout.members)])


def inferred_alignments(layout: Layout) -> tuple[int | None, ...]:
    """Alignment in bytes that explains the gap before each member, by index; ``None`` when nature explains it.

    Gives the largest power of two that fits the offset, the end of the members before and the record's size. A
    member that states its alignment, a bit-field and a member at offset 0 are never inferred.
    """
    ends = accumulate((member.used_end for member in layout.members), max, initial=0)
    return tuple(_inferred(layout, member, end) for member, end in zip(layout.members, ends, strict=False))


def _inferred(layout: Layout, member: Member, end: int) -> int | None:
    """Of one member behind others that end at byte ``end``."""
    if member.alignment or member.is_bit_field or not member.offset or layout.kind is RecordKind.UNION:
        return None
    if round_up(end, member.natural_alignment) >= member.offset:
        return None
    found = _largest_alignment(end, member.offset, layout.size)
    return found if found > member.natural_alignment else None


def inferred_record_alignment(layout: Layout) -> int | None:
    """Alignment in bytes that explains the padding; ``None`` when the members' needs explain it."""
    if layout.alignment or not layout.size:
        return None
    known = [one or 1 for one in inferred_alignments(layout)]
    stated = [member.alignment or 1 for member in layout.members]
    needed = max([layout.natural_alignment, *known, *stated])
    end = max((member.used_end for member in layout.members), default=0)
    if round_up(end, needed) >= layout.size:
        return None
    found = _largest_alignment(end, layout.size, layout.size)
    return found if found > needed else None


def _largest_alignment(end: int, place: int, size: int) -> int:
    """Largest power of two that carries byte ``end`` to byte ``place`` and divides the record's ``size``; 1 if none."""
    largest = (place | size) & -(place | size)
    powers = (1 << power for power in range(largest.bit_length()))
    return max((power for power in powers if round_up(end, power) == place), default=1)


def inferred_packed(layout: Layout) -> bool:
    """Whether a member, or the record's end, lies where only ``__attribute__((packed))`` puts it."""
    for member in layout.members:
        if member.bit_offset is not None and member.bit_size is not None and member.size:
            unit = member.size * BYTE
            if member.bit_offset // unit != (member.bit_offset + member.bit_size - 1) // unit:
                return True
        elif member.offset % _need(member):
            return True
    return layout.size % max((_need(member) for member in layout.members), default=1) != 0


def _need(member: Member) -> int:
    """Alignment of the member's type; a packed record needs less than its members do by nature.

    A size that is no multiple of the natural alignment tells of a packed record.
    """
    natural = max(1, member.natural_alignment)
    element = member.size // max(1, prod(member.dimensions))
    return member.alignment or (natural if element % natural == 0 else 1)


def with_inferred_alignment(layout: Layout) -> Layout:
    """``layout`` with the alignments of its members and its own that explain where they are."""
    members = list(layout.members)
    for index, found in enumerate(inferred_alignments(layout)):
        alignment = _closed_unit(layout, index) if members[index].is_bit_field else found
        if alignment:
            members[index] = replace(members[index], alignment=alignment)
    record = inferred_record_alignment(layout)
    return replace(layout, members=tuple(members), alignment=record or layout.alignment)


def _closed_unit(layout: Layout, index: int) -> int | None:
    """Bytes of the storage unit that a bit-field opens although it would have fitted into the one before."""
    member, before = layout.members[index], layout.members[index - 1]
    if not index or not before.is_bit_field:
        return None
    end = before.first_bit + (before.bit_size or 0)
    opened = round_up(end, member.natural_alignment * BYTE)
    closed = member.first_bit == opened and bit_field_start(shape_of(member), end) < opened
    return member.natural_alignment if closed else None


def inferences(said: Layout, explained: Layout) -> tuple[str, ...]:
    """Names of the members, and of the record itself, whose alignment is in ``explained`` only."""
    pairs = zip(said.members, explained.members, strict=True)
    members = tuple(one.name for one, other in pairs if one.alignment != other.alignment)
    return members if said.alignment == explained.alignment else (*members, said.title)


@dataclass(frozen=True, slots=True)
class AskedAlignment:
    """What is asked for, in bytes, and by what: a member called ``path``, or the unnamed ``part`` that begins with it.

    The record itself has the path ``""``. ``stated`` is what the debug information says, also where a type inside
    brings it; ``asked`` is 1 where nothing is asked for. ``around`` is the most that a part around it states.
    """

    path: str
    stated: int
    asked: int
    part: bool = False
    around: int = 1


def asked_alignments(layout: Layout, layouts: Layouts) -> Iterator[AskedAlignment]:
    """Of the record, then of each member that C code can name and of each part without a name, in their order."""
    yield AskedAlignment("", layout.alignment or 1, _asked_of_record(layout))
    yield from _of_members(layout, layouts, 1, MOST_LEVELS, iter(range(MOST_MEMBERS)))


def asked_at_least(least: int, layout: Layout, layouts: Layouts) -> list[AskedAlignment]:
    """Those of the same that ask for ``least`` bytes, at least 2, or more; few records have any."""
    if not _states(least, layout, layouts):
        return []
    return [one for one in asked_alignments(layout, layouts) if one.asked >= least]


def _states(least: int, layout: Layout, layouts: Layouts) -> bool:
    """Whether the record, a member or a part without a name states such an alignment: nothing else asks for it."""
    waiting, seen = [layout], {layout.id}
    for one in waiting:  # grows while it is walked
        if (one.alignment or 1) >= least or any((member.alignment or 1) >= least for member in one.members):
            return True
        inner = {member.record for member in one.members if not member.name and member.record is not None} - seen
        seen |= inner
        waiting += [layouts.by_id(part) for part in inner]
    return False


def _of_members(
    layout: Layout, layouts: Layouts, around: int, levels: int, left: Iterator[int]
) -> Iterator[AskedAlignment]:
    """``left`` counts members, also those that ask for nothing."""
    for member in layout.members:
        if next(left, None) is None:
            return
        stated = member.alignment or 1
        if member.name or member.record is None:
            yield AskedAlignment(member.name, stated, _asked_of_member(member, layouts), around=around)
            continue
        inner = layouts.by_id(member.record)
        inside = _of_members(inner, layouts, max(around, stated), levels - 1, left) if levels else iter(())
        first = next(inside, None)
        if first is not None:
            asked = max(_asked_of_member(member, layouts), _asked_of_record(inner))
            yield AskedAlignment(first.path, stated, asked, part=True, around=around)
            yield first
        yield from inside


def _asked_of_member(member: Member, layouts: Layouts) -> int:
    """1 where the member's type asks for as much."""
    stated = member.alignment or 1
    if stated == 1:
        return 1  # most members: their types need not be read
    inner = (layouts.by_id(member.record).alignment or 1) if member.record is not None else 1
    return stated if stated > inner else 1


def _asked_of_record(layout: Layout) -> int:
    """1 where a member asks for as much."""
    stated = layout.alignment or 1
    inner = max((max(member.natural_alignment, member.alignment or 1) for member in layout.members), default=1)
    return stated if stated > inner else 1
