# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples one by one: columns, of which those beyond some millions are kept in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import IO

import numpy as np
from numpy.typing import NDArray

from linesmith.plugins.profiles.data_source import DataSource, decoded

# ``address`` is 0 where there is none, ``cpu`` and ``pid`` are -1 where they are not known, ``weight`` is the latency,
# 0 where there is none. Lines of two samples are one only if their ``space`` is the same: 0 for the kernel and all that
# processes share. ``code`` is a number of ``Samples.code``, 0 for nothing but the address.
_COLUMNS = [
    ("address", "u8"), ("ip", "u8"), ("source", "u8"), ("weight", "u4"), ("cpu", "i4"), ("pid", "i4"), ("space", "u4"),
    ("code", "u4"), ("mode", "u1"),
]  # fmt: skip
SAMPLE = np.dtype(_COLUMNS, align=True)
Rows = NDArray[np.void]
Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]
_BATCH = 1 << 18
# As many lie in memory, some 350 MB; the others in a file.
_MOST_HELD = 1 << 23
_WORD = (1 << 64) - 1
_MOST_CPUS = 1 << 16
# Instructions with what called them.
_MOST_CODES = 1 << 19
# The kernel's half of the addresses of every 64-bit machine.
KERNEL = 1 << 63
_REGION_BITS = 36
# Of a data source: load or store, level, hit or HITM, lock, level's number, remote, peer, hops.
_TELLING = 0x06 | 0x3FFF << 5 | 0x14 << 19 | 0x2 << 24 | 0xF << 33 | 1 << 37 | 0x2 << 38 | 0x7 << 43


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
    """What the source of the samples knows of an instruction beside its address; of its callers it has one of two."""

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
    _file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    _held: list[Rows] = field(default_factory=list)
    _room: int = _MOST_HELD
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
        code: Code = Code(),
        mode: Mode = Mode.UNKNOWN,
    ) -> None:
        """Add one sample; ``source`` is its ``perf_mem_data_src``. Numbers beyond their column are cut to it."""
        number = self.number(code)
        known = -1 if pid is None else pid & 0x7FFFFFFF
        space = known + 1 if mode is Mode.USER else 0
        self._pending.append(
            (
                (address or 0) & _WORD,
                (ip or 0) & _WORD,
                source & _WORD,
                min(weight or 0, 0xFFFFFFFF),
                -1 if cpu is None else cpu & 0x7FFFFFFF,
                known,
                space,
                number,
                mode,
            )
        )
        if len(self._pending) >= _BATCH:
            self._flush()

    def number(self, code: Code) -> int:
        """The number of what is known of an instruction; 0 where there is no room for more."""
        if code not in self._numbers and len(self.code) < _MOST_CODES:
            self._numbers[code] = len(self.code)
            self.code.append(code)
        return self._numbers.get(code, 0)

    def add_rows(self, rows: Rows) -> None:
        """Add many samples at once, an array of ``SAMPLE``."""
        self._flush()
        self._keep(rows)

    def batches(self) -> Iterator[Rows]:
        """All samples, some at a time; may be asked for again."""
        self._flush()
        yield from self._held
        self._file.seek(0)
        while data := self._file.read(_BATCH * SAMPLE.itemsize):
            yield np.frombuffer(data, SAMPLE)
        self._file.seek(0, 2)

    def _keep(self, rows: Rows) -> None:
        """In memory as long as there are few."""
        if self._room > len(rows):
            self._held.append(rows)
            self._room -= len(rows)
        else:
            self._room = 0
            self._file.write(rows.tobytes())

    def _flush(self) -> None:
        if self._pending:
            self._keep(np.array(self._pending, SAMPLE))
            self._pending.clear()


class Numbering:
    """Gives every new value the next number: lines of address spaces, and data sources, are small values far apart."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self._sorted = np.empty(0, np.uint64)
        self._numbers = np.empty(0, np.int64)

    def of(self, values: Words) -> Numbers:
        """The number of each value."""
        at, known = self._look_up(values)
        if not known.all():
            new = np.unique(values[~known])
            numbers = np.arange(len(self.values), len(self.values) + len(new))
            self.values += new.tolist()
            together = np.concatenate((self._sorted, new))
            order = np.argsort(together)
            self._sorted = together[order]
            self._numbers = np.concatenate((self._numbers, numbers))[order]
            at, _ = self._look_up(values)
        return self._numbers[at]

    def _look_up(self, values: Words) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        if not len(self._sorted):
            return np.zeros(len(values), np.intp), np.zeros(len(values), np.bool_)
        at = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return at, self._sorted[at] == values


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

    def __len__(self) -> int:
        return len(self._decoded)
