# SPDX-License-Identifier: GPL-2.0-or-later
"""Arithmetic of one record on cache lines: unused bytes and bits, counted as pahole does, lines covered, and phases.

A phase is where an object starts in its line: two members of it meet where a byte of each is on one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member, RecordKind


@dataclass(frozen=True, slots=True)
class Hole:
    """``size`` unused bytes at byte ``offset``; ``after`` is the index of the member before, -1 at the front."""

    offset: int
    size: int
    after: int


@dataclass(frozen=True, slots=True)
class BitHole:
    """``bits`` unused bits at bit ``bit_offset`` of the record, beside a bit-field; ``after`` as in ``Hole``."""

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


def inner_padding(member: Member, layouts: Layouts) -> int:
    """Bytes of padding at the end of the struct that ``member`` holds by value; 0 when it holds none."""
    return 0 if member.record is None else gaps(layouts.by_id(member.record)).padding


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
