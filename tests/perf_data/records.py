# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of a perf.data stream other than samples (``enum perf_event_type``), and the events that samples are of."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag

# Types of records; those from 64 are perf's own.
Kind = IntEnum(
    "Kind",
    {
        "MMAP": 1, "LOST": 2, "COMM": 3, "FORK": 7, "SAMPLE": 9, "MMAP2": 10, "LOST_SAMPLES": 13,
        "HEADER_ATTR": 64, "BUILD_ID": 67, "FINISHED_ROUND": 68, "FEATURE": 80, "COMPRESSED": 81, "COMPRESSED2": 83,
    },
)  # fmt: skip
# Whose code ran (``PERF_RECORD_MISC_CPUMODE_MASK``).
Mode = IntEnum("Mode", "KERNEL USER HYPERVISOR GUEST_KERNEL GUEST_USER")


@dataclass(frozen=True, slots=True)
class Moment:
    """When and by whom a record was made: what ``sample_id_all`` puts behind it. Time is in nanoseconds."""

    pid: int = 0
    tid: int = 0
    time: int = 0
    cpu: int = 0
    id: int = 0

    def trailer(self) -> bytes:
        """The fields of ``event.ALWAYS`` that go with records that are no samples."""
        return struct.pack("<IIQIIQ", self.pid, self.tid, self.time, self.cpu, 0, self.id)


SYNTHESIZED = Moment()
EXECUTABLE, WRITABLE = 5, 3  # PROT_READ with PROT_EXEC, with PROT_WRITE
_DATA = 1 << 13  # PERF_RECORD_MISC_MMAP_DATA
_BUILD_ID = 1 << 14  # PERF_RECORD_MISC_MMAP_BUILD_ID
_BUILD_ID_SIZE = 1 << 15


def record(kind: int, misc: int, body: bytes) -> bytes:
    """A record with its header; bodies are padded to 8 bytes."""
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def name(text: str) -> bytes:
    """A string that ends with a zero and is padded to 8 bytes."""
    raw = text.encode("utf-8", "surrogateescape") + b"\0"
    return raw + bytes(-len(raw) % 8)


def kernel_map(text: int, length: int, guest: bool = False) -> bytes:
    """Where the kernel's code lies; ``text`` is the address of ``_text`` as it ran, from which perf solves KASLR."""
    mode, label = (Mode.GUEST_KERNEL, "[guest.kernel.kallsyms]") if guest else (Mode.KERNEL, "[kernel.kallsyms]")
    body = struct.pack("<iIQQQ", -1, 0, text, length, text) + name(f"{label}_text")
    return record(Kind.MMAP, mode, body + SYNTHESIZED.trailer())


@dataclass(frozen=True, slots=True)
class Mapping:
    """A file in a process's memory: ``length`` bytes at ``start``, from byte ``offset`` of it."""

    pid: int
    start: int
    length: int
    offset: int
    path: str
    protection: int = EXECUTABLE
    build_id: bytes = b""

    def record(self, when: Moment = SYNTHESIZED) -> bytes:
        """MMAP2, with the build-id if it has one, otherwise with the file's numbers."""
        misc = int(Mode.USER) | (0 if self.protection & 4 else _DATA)
        if self.build_id:
            identity = struct.pack("<BBH20s", len(self.build_id), 0, 0, self.build_id)
            misc |= _BUILD_ID
        else:
            identity = struct.pack("<IIQQ", 8, 1, 4711, 0)
        body = struct.pack("<IIQQQ", self.pid, self.pid, self.start, self.length, self.offset) + identity
        return record(
            Kind.MMAP2, misc, body + struct.pack("<II", self.protection, 2) + name(self.path) + when.trailer()
        )


def comm(pid: int, tid: int, text: str, when: Moment = SYNTHESIZED) -> bytes:
    return record(Kind.COMM, 0, struct.pack("<II", pid, tid) + name(text) + when.trailer())


def fork(pid: int, parent: int, tid: int, parent_thread: int, when: Moment) -> bytes:
    return record(Kind.FORK, 0, struct.pack("<IIIIQ", pid, parent, tid, parent_thread, when.time) + when.trailer())


def lost(event_id: int, count: int, when: Moment) -> bytes:
    """Records that the ring buffer had no room for."""
    return record(Kind.LOST, 0, struct.pack("<QQ", event_id, count) + when.trailer())


def lost_samples(count: int, when: Moment) -> bytes:
    """Samples that the hardware's buffer had no room for."""
    return record(Kind.LOST_SAMPLES, 0, struct.pack("<Q", count) + when.trailer())


def finished_round() -> bytes:
    """No later record is older than those before the last round's end."""
    return record(Kind.FINISHED_ROUND, 0, b"")


def build_id(mode: Mode, path: str, identity: bytes) -> bytes:
    """The build-id of a file, as the feature section of that name lists it; ``pid`` -1 is the host."""
    body = struct.pack("<i20sB3x", -1, identity, len(identity)) + name(path)
    return record(Kind.BUILD_ID, int(mode) | _BUILD_ID_SIZE, body)


ATTRIBUTE_BYTES = 128  # PERF_ATTR_SIZE_VER7


# Fields of a sample (``enum perf_event_sample_format``), by bit.
Field = IntFlag(
    "Field",
    "IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC "
    "IDENTIFIER TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT",
)
NOTHING_MORE = Field(0)


def fields(names: str) -> Field:
    return Field(sum(Field[name] for name in names.split()))


# What ``perf c2c record`` asks for, and what other options of ``perf record`` bring along.
ALWAYS = fields("IP TID TIME ADDR CPU PERIOD DATA_SRC PHYS_ADDR IDENTIFIER")
EVERY_ODD_FIELD = fields(
    "ID STREAM_ID READ RAW BRANCH_STACK REGS_USER STACK_USER TRANSACTION REGS_INTR CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE"
)
ODD_FIELDS = tuple(EVERY_ODD_FIELD)
# What the fields hold that no reader of memory samples looks at.
_ANY_BRANCH = 1 << 3
REGISTERS = 0b1000_0001  # two of them
STACK_BYTES = 16
# Bits of an event's flags.
_MMAP, _COMM, _FREQUENCY, _TASK, _PRECISE = 8, 9, 10, 13, 15
_MMAP_DATA, _ID_ALL, _MMAP2, _COMM_EXEC, _WITH_BUILD_ID = 17, 18, 23, 24, 34


@dataclass(frozen=True, slots=True)
class Event:
    """One event; ``precise`` is 0 (skids) to 3 (exact), ``period`` 0 stands for a frequency of 4,000 a second.

    ``more`` are fields of its samples beside those that all have, ``without`` those that they lack.
    """

    name: str
    type: int
    config: int
    config1: int = 0
    precise: int = 0
    period: int = 0
    weight_struct: bool = True
    more: Field = NOTHING_MORE
    without: Field = NOTHING_MORE

    @property
    def fields(self) -> Field:
        weight = Field.WEIGHT_STRUCT if self.weight_struct else Field.WEIGHT
        return (ALWAYS | self.more | weight) & ~self.without

    def attribute(self) -> bytes:
        """The ``perf_event_attr`` that perf would have asked the kernel with."""
        flags = (
            1 << _ID_ALL | 1 << _MMAP | 1 << _COMM | 1 << _TASK | 1 << _MMAP2 | 1 << _COMM_EXEC | 1 << _WITH_BUILD_ID
        )
        flags |= 1 << _MMAP_DATA | self.precise << _PRECISE | (0 if self.period else 1 << _FREQUENCY)
        asked = (self.type, ATTRIBUTE_BYTES, self.config, self.period or 4000, int(self.fields))
        read_format = 0x4  # ids
        start = struct.pack("<IIQQQQQIIQQ", *asked, read_format, flags, 0, 0, self.config1, 0)
        more = struct.pack("<QQIiQ", _ANY_BRANCH, REGISTERS, STACK_BYTES, 0, REGISTERS)
        return (start + more).ljust(ATTRIBUTE_BYTES, b"\0")
