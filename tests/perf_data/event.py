# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of a recording: ``struct perf_event_attr``, and which fields their samples have."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag

ATTRIBUTE_BYTES = 128  # PERF_ATTR_SIZE_VER7


# Fields of a sample (``enum perf_event_sample_format``), by bit.
Field = IntFlag(
    "Field",
    "IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC "
    "IDENTIFIER TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT",
)
NOTHING_MORE = Field(0)


def fields(names: str) -> Field:
    """These fields."""
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
        asked = (self.type, ATTRIBUTE_BYTES, self.config, self.period or 4000, int(self.fields))
        read_format = 0x4  # ids
        start = struct.pack("<IIQQQQQIIQQ", *asked, read_format, flags, 0, 0, self.config1, 0)
        more = struct.pack("<QQIiQ", _ANY_BRANCH, REGISTERS, STACK_BYTES, 0, REGISTERS)
        return (start + more).ljust(ATTRIBUTE_BYTES, b"\0")
