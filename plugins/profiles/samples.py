# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples one by one, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

# What a sampled access was, from the bits of its data source, and as which counts ``perf c2c`` takes it.

_LOAD, _STORE = 0x02, 0x04
_HIT, _MISS = 0x02, 0x04
_L1, _L2, _L3, _REMOTE_CACHE = 0x08, 0x20, 0x40, 0x400 | 0x800
_SNOOP_HIT, _SNOOP_HITM = 0x04, 0x10
_PEER = 0x02


@dataclass(frozen=True, slots=True)
class DataSource:
    """One access as ``perf c2c`` counts it; each count is 0 or 1, those of local peers 0 to 2.

    A load counts as HITM when the line was modified in another cache, as peer when another core gave it.
    ``stores_na`` are also those of another level than L1, for which perf has no column.
    """

    loads: int = 0
    stores: int = 0
    hitm_local: int = 0
    hitm_remote: int = 0
    peer_local: int = 0
    peer_remote: int = 0
    stores_l1_hit: int = 0
    stores_l1_miss: int = 0
    stores_na: int = 0


def decoded(bits: int) -> DataSource:
    """The access that ``bits``, a ``perf_mem_data_src``, stand for; the sample's address is not 0."""
    operation, level = bits & 0x1F, bits >> 5 & 0x3FFF
    if operation & _LOAD:
        return _load(bits, level)
    if operation & _STORE:
        hit, miss = bool(level & _HIT and level & _L1), bool(level & _MISS and level & _L1)
        return DataSource(stores=1, stores_l1_hit=int(hit), stores_l1_miss=int(miss), stores_na=int(not (hit or miss)))
    return DataSource()


def _load(bits: int, level: int) -> DataSource:
    snoop, peer = bits >> 19 & 0x1F, bool(bits >> 38 & _PEER)
    # The plain remote bit; with hops (PowerPC) it also stands for other cores of the own node.
    hit, remote = bool(level & _HIT), bool(bits >> 37 & 1) and not bits >> 43 & 7
    hitm, snoop_hit = bool(snoop & _SNOOP_HITM), bool(snoop & _SNOOP_HIT)
    l2, l3 = hit and bool(level & _L2), hit and bool(level & _L3)
    from_remote = bool(level & _REMOTE_CACHE) or remote
    remote_hitm = from_remote and hitm and not snoop_hit
    remote_peer = from_remote and peer and not (hitm or snoop_hit)
    return DataSource(
        loads=1,
        hitm_local=int(l3 and hitm),
        hitm_remote=int(remote_hitm),
        peer_local=int(l2 and peer) + int(l3 and peer),
        peer_remote=int(remote_peer),
    )


# Samples that are equal but for their latency. ``address`` is 0 where there is none, ``cpu`` and ``pid`` are -1 where
# they are not known, ``code`` is a number of ``Samples.code``, 0 for nothing but the address. Lines of two samples are
# one only if their ``space`` is the same: 0 for the kernel and all that processes share. ``first`` is the place of the
# first of them among all; ``weight`` is the sum of their latencies, ``timed`` how many have one.
_COLUMNS = [
    ("address", "u8"), ("ip", "u8"), ("source", "u8"), ("cpu", "i4"), ("pid", "i4"), ("code", "u4"), ("mode", "u4"),
    ("weight", "u8"),
]  # fmt: skip
_SUMMED = ("samples", "timed", "weight")
SAMPLE = np.dtype([*_COLUMNS, ("space", "u4"), ("first", "u4"), ("samples", "u4"), ("timed", "u4")], align=True)
# What equal samples are equal in, with the odd factor that spreads it over the slots of a table.
_SPREAD = {name: np.uint64(pow(0x9E3779B97F4A7C15, at, 1 << 64)) for at, (name, _) in enumerate(_COLUMNS[:-1], 1)}
_SLOT_BITS = 16
Rows = NDArray[np.void]
Columns = Mapping[str, NDArray[Any]]
Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]
_BATCH = 1 << 18
# So few samples are kept as they are: to add up the table would take longer.
_FEW = 1 << 10
_WORD = (1 << 64) - 1
_MOST_CPUS = 1 << 16
# Instructions with what called them.
_MOST_CODES = 1 << 19
# The kernel's half of the addresses of every 64-bit machine.
KERNEL = 1 << 63
_REGION_BITS = 36
# Of a data source: load or store, level, hit or HITM, lock, level's number, remote, peer, hops.
_TELLING = 0x06 | 0x3FFF << 5 | 0x14 << 19 | 0x2 << 24 | 0xF << 33 | 1 << 37 | 0x2 << 38 | 0x7 << 43


def ahead(values: Iterator[T]) -> Iterator[T]:
    """The values, each of which is made in a thread while the one before it is used: numpy lets both run."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, values, None)
        while (value := coming.result()) is not None:
            coming = pool.submit(next, values, None)
            yield value


class Mode(IntEnum):
    """Where the CPU was, as perf counts it (``PERF_RECORD_MISC_CPUMODE``)."""

    UNKNOWN = 0
    KERNEL = 1
    USER = 2
    HYPERVISOR = 3
    GUEST_KERNEL = 4
    GUEST_USER = 5


_MODES = {
    "K": Mode.KERNEL, "U": Mode.USER, "H": Mode.HYPERVISOR, "G": Mode.GUEST_KERNEL, "g": Mode.GUEST_USER,
}  # fmt: skip


def mode_of(letter: str, address: int | None) -> Mode:
    """Whose code it was: as ``-F misc`` says, or by the half of the addresses that the kernel has."""
    if letter in _MODES:
        return _MODES[letter]
    if address is None:
        return Mode.UNKNOWN
    return Mode.KERNEL if address >= KERNEL else Mode.USER


def cpus_of(ranges: str) -> Iterator[int]:
    """The CPUs of ``0-3,8``; raises ``ValueError`` where one is no such range, or of more than any machine has."""
    for part in filter(None, ranges.strip().split(",")):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()) or int(last or first) >= _MOST_CPUS:
            raise ValueError("its list of CPUs cannot be read")
        yield from range(int(first), int(last or first) + 1)


@dataclass(frozen=True, slots=True)
class Code:
    """What the source of the samples knows of an instruction besides its address; of its callers it has one of two."""

    function: str | None = None
    object_file: str | None = None
    callers: tuple[str, ...] = ()
    returns: tuple[int, ...] = ()


@dataclass(slots=True)
class Samples:
    """Samples on their way into a profile; ``unread`` and ``lost`` are those that are not among them."""

    code: list[Code] = field(default_factory=lambda: [Code()])
    commands: dict[int, str] = field(default_factory=dict)
    unread: int = 0
    lost: int = 0
    _count: int = 0
    _held: list[Rows] = field(default_factory=list)
    _table: dict[str, NDArray[Any]] = field(
        default_factory=lambda: {name: np.zeros(1 << _SLOT_BITS, SAMPLE[name]) for name in SAMPLE.names or ()}
    )
    _pending: list[tuple[object, ...]] = field(default_factory=list)
    _numbers: dict[Code, int] = field(default_factory=lambda: {Code(): 0})

    def add(
        self,
        address: int | None,
        source: int,
        ip: int | None,
        weight: int | None = None,
        cpu: int | None = None,
        pid: int | None = None,
        code: int = 0,
        mode: Mode = Mode.UNKNOWN,
    ) -> None:
        """Add one sample; ``source`` is its ``perf_mem_data_src``. Numbers beyond their column are cut to it."""
        self._pending.append((
            (address or 0) & _WORD, (ip or 0) & _WORD, source & _WORD, -1 if cpu is None else cpu & 0x7FFFFFFF,
            -1 if pid is None else pid & 0x7FFFFFFF, code, mode, min(weight or 0, 0xFFFFFFFF),
        ))  # fmt: skip
        if len(self._pending) >= _BATCH:
            self._flush()

    def number(self, code: Code) -> int:
        """The number of what is known of an instruction; 0 where there is no room for more."""
        if code not in self._numbers and len(self.code) < _MOST_CODES:
            self._numbers[code] = len(self.code)
            self.code.append(code)
        return self._numbers.get(code, 0)

    def add_columns(self, columns: Columns) -> None:
        """Add many samples at once: their columns by name, of the counts only ``weight``, in cycles."""
        self._flush()
        self._take(columns)

    def batches(self) -> Iterator[Rows]:
        """All samples, some at a time; may be asked for again."""
        self._flush()
        self._held.append(_rows_of(self._table, np.flatnonzero(self._table["samples"])))
        self._table["samples"][:] = 0
        yield from filter(len, self._held)

    def _flush(self) -> None:
        if self._pending:
            rows = np.array(self._pending, _COLUMNS)
            self._pending.clear()
            self._take({name: rows[name] for name, _ in _COLUMNS})

    def _take(self, columns: Columns) -> None:
        """Add to the rows of the table those that are equal to one of them, and keep the others as they are.

        The first of each slot is in the table: on contended lines the same code meets the same bytes again and again.
        """
        number = len(columns["weight"])
        first = np.arange(self._count, self._count + number)
        self._count += number
        columns = {"first": first, "samples": np.ones(number, np.uint32), "timed": columns["weight"] > 0, **columns}
        other = np.ones(number, np.bool_)
        if number >= _FEW:
            mixed = np.zeros(number, np.uint64)
            for name, factor in _SPREAD.items():
                mixed += columns[name].astype(np.uint64) * factor
            slots = (mixed >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
            free = np.flatnonzero(self._table["samples"].take(slots) == 0)
            taken, at = np.unique(slots[free], return_index=True)
            for name, column in columns.items():
                self._table[name][taken] = 0 if name in _SUMMED else column[free[at]]
            other[:] = False
            for name in _SPREAD:
                other |= self._table[name].take(slots) != columns[name]
            equal = np.flatnonzero(~other)
            for name in _SUMMED:
                sums = np.bincount(slots.take(equal), columns[name].take(equal), 1 << _SLOT_BITS)
                self._table[name] += sums.astype(SAMPLE[name])
        self._held.append(_rows_of(columns, np.flatnonzero(other)))


def _rows_of(columns: Columns, which: NDArray[np.intp]) -> Rows:
    rows = np.zeros(len(which), SAMPLE)
    for name, column in columns.items():
        rows[name] = column[which]
    return rows


class Numbering:
    """Gives every new value the next number: lines of address spaces, and data sources, are small values far apart."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self._numbers: dict[int, int] = {}

    def of(self, values: Words) -> Numbers:
        """The number of each value."""
        distinct, which = np.unique(values, return_inverse=True)
        self.values += [one for one in distinct.tolist() if one not in self._numbers]
        self._numbers.update(zip(self.values[len(self._numbers) :], count(len(self._numbers)), strict=False))
        return np.array([self._numbers[one] for one in distinct.tolist()], np.int64)[which]


class LineKeys:
    """One 64-bit key for a line of a space: the number of its 64 GiB of address space, then the line in them."""

    def __init__(self, line_bytes: int) -> None:
        self._shift = np.uint64(line_bytes.bit_length() - 1)
        self._regions = Numbering()
        self._mask = np.uint64((1 << _REGION_BITS) - 1)

    def of(self, address: Words, space: NDArray[np.uint32]) -> Words:
        """The key of the line that holds each address."""
        region = space.astype(np.uint64) << np.uint64(64 - _REGION_BITS) | address >> np.uint64(_REGION_BITS)
        number = self._regions.of(region).astype(np.uint64)
        return number << np.uint64(_REGION_BITS) | (address & self._mask) >> self._shift

    def regions(self, keys: Words) -> Words:
        """The space and the 64 GiB of each line in one number, by which lines of equal cost are in order."""
        found: Words = np.array(self._regions.values, np.uint64)[keys >> np.uint64(_REGION_BITS)]
        return found

    def place(self, key: int) -> tuple[int, int]:
        """The space and the address of a line."""
        region = self._regions.values[key >> _REGION_BITS]
        line = (key & int(self._mask)) << int(self._shift)
        return region >> (64 - _REGION_BITS), (region & ((1 << (64 - _REGION_BITS)) - 1)) << _REGION_BITS | line


class DataSources:
    """The data sources met, each decoded once."""

    def __init__(self) -> None:
        self._numbering = Numbering()
        self._decoded: list[DataSource] = []

    def of(self, bits: Words) -> Numbers:
        """The number of each data source."""
        found = self._numbering.of(bits & np.uint64(_TELLING))
        self._decoded += map(decoded, self._numbering.values[len(self._decoded) :])
        return found

    def column(self, name: str) -> Numbers:
        """A count of ``DataSource`` by number."""
        return np.array([getattr(one, name) for one in self._decoded], np.int64)
