# SPDX-License-Identifier: GPL-2.0-or-later
"""What hardware tells of a memory access, as perf keeps it: a 64-bit word (``union perf_mem_data_src``)."""

from __future__ import annotations

from enum import IntFlag


class Op(IntFlag):
    """What the instruction does."""

    NA = 1
    LOAD = 2
    STORE = 4
    PREFETCH = 8
    EXECUTE = 16


class Level(IntFlag):
    """Where it was served, in the older field."""

    NA = 0x1
    HIT = 0x2
    MISS = 0x4
    L1 = 0x8
    FILL_BUFFER = 0x10
    L2 = 0x20
    L3 = 0x40
    LOCAL_RAM = 0x80
    REMOTE_RAM_1 = 0x100
    REMOTE_RAM_2 = 0x200
    REMOTE_CACHE_1 = 0x400
    REMOTE_CACHE_2 = 0x800
    IO = 0x1000
    UNCACHED = 0x2000


class Snoop(IntFlag):
    """What other caches answered."""

    NA = 1
    NONE = 2
    HIT = 4
    MISS = 8
    HITM = 16


class Lock(IntFlag):
    """Whether the instruction was atomic."""

    NA = 1
    LOCKED = 2


class Tlb(IntFlag):
    """Where the address was translated."""

    NA = 1
    HIT = 2
    MISS = 4
    L1 = 8
    L2 = 16
    WALKER = 32


class LevelNumber(IntFlag):
    """Where it was served, in the newer field: a number, not bits."""

    L1 = 1
    L2 = 2
    L3 = 3
    L4 = 4
    CXL = 9
    IO = 10
    ANY_CACHE = 11
    FILL_BUFFER = 12
    RAM = 13
    PERSISTENT = 14
    NA = 15


class Remote(IntFlag):
    """Whether it was served outside of this node (or core, where ``Hops`` says so)."""

    REMOTE = 1


class SnoopX(IntFlag):
    """More answers of other caches."""

    FORWARD = 1
    PEER = 2


class Blocked(IntFlag):
    """Why a load had to wait for a store."""

    NA = 1
    DATA = 2
    ADDRESS = 4


class Hops(IntFlag):
    """How far away: a number, not bits."""

    CORE = 1
    NODE = 2
    SOCKET = 3
    BOARD = 4


_FIRST_BIT: dict[type[IntFlag], int] = {
    Op: 0,
    Level: 5,
    Snoop: 19,
    Lock: 24,
    Tlb: 26,
    LevelNumber: 33,
    Remote: 37,
    SnoopX: 38,
    Blocked: 40,
    Hops: 43,
}


def encoded(*parts: IntFlag) -> int:
    """The word with these parts."""
    word = 0
    for part in parts:
        word |= int(part) << _FIRST_BIT[type(part)]
    return word
