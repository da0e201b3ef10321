# SPDX-License-Identifier: GPL-2.0-or-later
"""What a perf.data file says of itself: its events, the machine, the builds (tools/perf/util/header.c)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import IO

from linesmith.plugins.profiles.perf_data.records import PerfRecord, text_of, unpack
from linesmith.plugins.profiles.samples import cpus_of

_PIPE_BYTES = 16
_FILE_BYTES = 104
_LEAST_ATTRIBUTE = 64
# More than any machine has; a file that says more is damaged.
_MOST_SECTION_BYTES = 256 << 20
_SIZED_BUILD_ID = 1 << 15


class Feature(IntEnum):
    """Sections behind the data that are read; the others are not."""

    BUILD_ID = 2
    OSRELEASE = 4
    ARCH = 6
    NRCPUS = 7
    CMDLINE = 11
    EVENT_DESC = 12
    NUMA_TOPOLOGY = 14


class SampleField(IntFlag):
    """Fields of a sample (``enum perf_event_sample_format``), as far as they lie in front of the data source."""

    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    ADDR = 1 << 3
    READ = 1 << 4
    CALLCHAIN = 1 << 5
    ID = 1 << 6
    CPU = 1 << 7
    PERIOD = 1 << 8
    STREAM_ID = 1 << 9
    RAW = 1 << 10
    BRANCH_STACK = 1 << 11
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    WEIGHT = 1 << 14
    DATA_SRC = 1 << 15
    IDENTIFIER = 1 << 16
    WEIGHT_STRUCT = 1 << 24


@dataclass(frozen=True, slots=True)
class PerfEvent:
    """A ``perf_event_attr``, as far as the form of its samples depends on it."""

    fields: int
    read_format: int = 0
    branches: int = 0
    registers: int = 0
    type: int = 0
    config: int = 0


class _SectionReader:
    """Reads one thing after the other; raises ``struct.error`` behind the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def numbers(self, form: str) -> tuple[int, ...]:
        """The next numbers."""
        found = unpack(form, self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def counted(self) -> str:
        """The next string with its length in front (``do_write_string``)."""
        (length,) = self.numbers("I")
        if self.at + length > len(self.data):
            raise struct.error("a string ends after its section")
        self.at += length
        return text_of(self.data[self.at - length : self.at])

    def each(self) -> range:
        """As many numbers as the next count says; no section holds more than it has bytes."""
        return range(min(self.numbers("I")[0], len(self.data)))


@dataclass(slots=True)
class PerfHeader:
    """The file's own words; ``ids`` are those of each event, ``builds`` the build-id of each path.

    The records lie from ``begin`` to ``end``. perf writes how long they are, and what the sections hold, when it ends:
    ``unfinished`` if it did not.
    """

    begin: int
    end: int
    unfinished: bool = False
    events: list[PerfEvent] = field(default_factory=list)
    ids: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    builds: dict[str, str] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    release: str | None = None
    machine: str | None = None
    cpus: int | None = None
    command: str = ""

    def take(self, kind: int, record: bytes) -> None:
        """Take in a record of a pipe, in which the parts of the header are records too; others are passed over."""
        match kind:
            case PerfRecord.HEADER_ATTR:
                ids_at = 8 + unpack("I", record, 12)[0]
                self.add_event(record[8:ids_at], record[ids_at:])
            case PerfRecord.FEATURE:
                self.add_feature(unpack("Q", record, 8)[0], record[16:])
            case PerfRecord.BUILD_ID:
                self._add_builds(record)

    def add_event(self, attribute: bytes, ids: bytes) -> None:
        """Take in an event with its ids."""
        self.events.append(_event(attribute))
        for (number,) in struct.iter_unpack("<Q", ids[: len(ids) & ~7]):
            self.ids[number] = len(self.events) - 1

    def add_feature(self, feature: int, data: bytes) -> None:
        """Take in a section; those that are not known are passed over. Raises ``struct.error``."""
        reading = _SectionReader(data)
        match feature:
            case Feature.OSRELEASE:
                self.release = reading.counted()
            case Feature.ARCH:
                self.machine = reading.counted()
            case Feature.NRCPUS:
                self.cpus = reading.numbers("II")[0]
            case Feature.CMDLINE:
                self.command = " ".join([reading.counted() for _ in reading.each()])
            case Feature.EVENT_DESC:
                self._add_names(reading)
            case Feature.NUMA_TOPOLOGY:
                for _ in reading.each():
                    node, _, _ = reading.numbers("IQQ")
                    self.nodes |= dict.fromkeys(cpus_of(reading.counted()), node)
            case Feature.BUILD_ID:
                self._add_builds(data)

    def _add_build(self, record: bytes) -> None:
        """Take in a build-id record: header, pid, 20 bytes of id with its length behind them, path."""
        length = record[32] if unpack("H", record, 4)[0] & _SIZED_BUILD_ID else 20
        path = text_of(record[36:])
        if path and 0 < length <= 20 and any(record[12 : 12 + length]):
            self.builds.setdefault(path, record[12 : 12 + length].hex())

    def _add_names(self, reading: _SectionReader) -> None:
        """Every event's name by one of its ids."""
        count, size = reading.numbers("II")
        for number in range(min(count, len(reading.data))):
            reading.at += size
            (ids,) = reading.numbers("I")
            name = reading.counted()
            found = reading.numbers(f"{min(ids, len(reading.data))}Q")
            self.names[self.ids.get(found[0], number) if found else number] = name

    def _add_builds(self, data: bytes) -> None:
        at = 0
        while at + 36 <= len(data):
            size = unpack("H", data, at + 6)[0]
            if size <= 36:
                return
            self._add_build(data[at : at + size])
            at += size


def open_header(file: IO[bytes], size: int) -> PerfHeader:
    """Read the header of ``size`` bytes of a file, or of what came out of a pipe.

    Raises ``struct.error`` or ``ValueError`` for a damaged one.
    """
    start = file.read(_FILE_BYTES)
    if unpack("Q", start, 8)[0] == _PIPE_BYTES:
        return PerfHeader(_PIPE_BYTES, size)
    entry, attributes_at, attributes, begin, length = unpack("5Q", start, 16)
    if begin + length > size or attributes_at + attributes > size:
        raise ValueError("it is cut off")
    if entry < _LEAST_ATTRIBUTE + 16 or attributes % entry:
        raise ValueError("its list of events has an invalid size")
    header = PerfHeader(begin, begin + length)
    _read_events(file, header, (attributes_at, attributes, entry))
    if not length:
        header.end, header.unfinished = size, True
        return header
    _read_features(file, header, begin + length, int.from_bytes(start[72:_FILE_BYTES], "little"), size)
    return header


def _read_events(file: IO[bytes], header: PerfHeader, where: tuple[int, int, int]) -> None:
    at, length, entry = where
    entries = _section(file, at, length)
    for start in range(0, length, entry):
        ids_at, ids = unpack("QQ", entries, start + entry - 16)
        header.add_event(entries[start : start + entry - 16], _section(file, ids_at, ids))


def _read_features(file: IO[bytes], header: PerfHeader, at: int, bits: int, size: int) -> None:
    numbers = [number for number in range(256) if bits >> number & 1]
    table = _section(file, at, 16 * len(numbers))
    for place, number in enumerate(numbers):
        start, length = unpack("QQ", table, 16 * place)
        if number in set(Feature) and start + length <= size:
            header.add_feature(number, _section(file, start, length))


def _section(file: IO[bytes], at: int, length: int) -> bytes:
    if length > _MOST_SECTION_BYTES:
        raise ValueError(f"a section says that it has {length} bytes")
    file.seek(at)
    data = file.read(length)
    if len(data) < length:
        raise ValueError("it is cut off")
    return data


def _event(attribute: bytes) -> PerfEvent:
    """What the first 104 bytes of a ``perf_event_attr`` say; older ones are shorter, the rest is 0."""
    whole = attribute.ljust(_FILE_BYTES, b"\0")
    kind = unpack("I", whole)[0]
    config, _, fields, read_format = unpack("4Q", whole, 8)
    branches, registers = unpack("2Q", whole, 72)
    return PerfEvent(fields, read_format, branches, registers, kind, config)
