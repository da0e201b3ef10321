# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of a recording: ``struct perf_event_attr``, and which fields their samples have."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag

ATTRIBUTE_BYTES = 128  # PERF_ATTR_SIZE_VER7


class Field(IntFlag):
    """Fields of a sample (``enum perf_event_sample_format``)."""

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
    TRANSACTION = 1 << 17
    REGS_INTR = 1 << 18
    PHYS_ADDR = 1 << 19
    CGROUP = 1 << 21
    DATA_PAGE_SIZE = 1 << 22
    CODE_PAGE_SIZE = 1 << 23
    WEIGHT_STRUCT = 1 << 24


NOTHING_MORE = Field(0)
# What ``perf c2c record`` asks for.
ALWAYS = (
    Field.IP
    | Field.TID
    | Field.TIME
    | Field.ADDR
    | Field.CPU
    | Field.PERIOD
    | Field.DATA_SRC
    | Field.PHYS_ADDR
    | Field.IDENTIFIER
)

# Fields that other options of ``perf record`` bring along.
ODD_FIELDS = (
    Field.ID,
    Field.STREAM_ID,
    Field.READ,
    Field.RAW,
    Field.BRANCH_STACK,
    Field.REGS_USER,
    Field.STACK_USER,
    Field.TRANSACTION,
    Field.REGS_INTR,
    Field.CGROUP,
    Field.DATA_PAGE_SIZE,
    Field.CODE_PAGE_SIZE,
)
EVERY_ODD_FIELD = Field(sum(ODD_FIELDS))
# What the fields hold that no reader of memory samples looks at.
_ANY_BRANCH = 1 << 3
REGISTERS = 0b1000_0001  # two of them
STACK_BYTES = 16
# Bits of an event's flags.
_MMAP, _COMM, _FREQUENCY, _TASK, _PRECISE = 8, 9, 10, 13, 15
_MMAP_DATA, _ID_ALL, _MMAP2, _COMM_EXEC, _BUILD_ID = 17, 18, 23, 24, 34


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
        """The fields of its samples."""
        weight = Field.WEIGHT_STRUCT if self.weight_struct else Field.WEIGHT
        return (ALWAYS | self.more | weight) & ~self.without

    def attribute(self) -> bytes:
        """The ``perf_event_attr`` that perf would have asked the kernel with."""
        flags = 1 << _ID_ALL | 1 << _MMAP | 1 << _COMM | 1 << _TASK | 1 << _MMAP2 | 1 << _COMM_EXEC | 1 << _BUILD_ID
        flags |= 1 << _MMAP_DATA | self.precise << _PRECISE | (0 if self.period else 1 << _FREQUENCY)
        start = struct.pack(
            "<IIQQQQQIIQQ",
            self.type,
            ATTRIBUTE_BYTES,
            self.config,
            self.period or 4000,
            int(self.fields),
            0x4,  # read_format: ids
            flags,
            0,
            0,
            self.config1,
            0,
        )
        more = struct.pack("<QQIiQ", _ANY_BRANCH, REGISTERS, STACK_BYTES, 0, REGISTERS)
        return (start + more).ljust(ATTRIBUTE_BYTES, b"\0")
