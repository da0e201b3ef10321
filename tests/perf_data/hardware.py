# SPDX-License-Identifier: GPL-2.0-or-later
"""How each kind of hardware tells where a memory access was served, as its driver encodes it.

Sources: ``arch/x86/events/intel/ds.c``, ``arch/x86/events/amd/ibs.c``, ``arch/powerpc/perf/isa207-common.c`` and
``tools/perf/util/arm-spe.c`` of Linux 6.1 and 6.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from perf_data.data_source import (
    Blocked,
    Hops,
    Level,
    LevelNumber,
    Lock,
    Op,
    Remote,
    Snoop,
    SnoopX,
    Tlb,
    encoded,
)
from perf_data.event import Event


class Served(StrEnum):
    """Where an access was served, in words that hold for all hardware."""

    L1 = "load from L1"
    L2 = "load from L2"
    L3 = "load from L3"
    MODIFIED_HERE = "load of a line modified in a cache of this node"
    MODIFIED_AWAY = "load of a line modified in a cache of another node"
    CLEAN_AWAY = "load from a cache of another node"
    RAM = "load from RAM"
    RAM_AWAY = "load from RAM of another node"
    STORE_HIT = "store that hit L1"
    STORE_MISS = "store that missed L1"


@dataclass(frozen=True, slots=True)
class Hardware:
    """A machine's way to sample memory accesses.

    ``loads`` and ``stores`` are the events that sample each (one event may do both). ``sources`` are without the bits
    of an atomic instruction, which are ``locked`` or ``unlocked``. Of ``untimed`` accesses it tells no latency.
    ``silent`` events are recorded with the others, but have no samples.
    """

    name: str
    machine: str
    cpu: str
    loads: Event
    stores: Event
    sources: Mapping[Served, int]
    locked: int = 0
    unlocked: int = 0
    untimed: frozenset[Served] = frozenset()
    silent: tuple[Event, ...] = ()

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of a recording, each once."""
        return (*self.silent, *dict.fromkeys((self.loads, self.stores)))

    def source(self, served: Served, atomic: bool) -> int:
        """The data source of an access; one that the hardware cannot tell is what it tells instead."""
        return self.sources[served] | (self.locked if atomic else self.unlocked)


_LOAD_HIT = encoded(Op.LOAD, Level.HIT)
_TLB_HIT = encoded(Tlb.HIT, Tlb.L1, Tlb.L2)
_LOADS = Event("cpu/mem-loads,ldlat=30/P", type=4, config=0x1CD, config1=30, precise=3)
_STORES = Event("cpu/mem-stores/P", type=4, config=0x82D0, precise=3)


def _load(*parts: Level | LevelNumber | Snoop | SnoopX | Remote) -> int:
    """A load latency event of Intel; block information is as of processors before Sapphire Rapids."""
    return _LOAD_HIT | _TLB_HIT | encoded(Blocked.NA, *parts)


_SANDY_BRIDGE: dict[Served, int] = {
    Served.L1: _load(Level.L1, LevelNumber.L1, Snoop.NONE),
    Served.L2: _load(Level.L2, LevelNumber.L2, Snoop.NONE),
    Served.L3: _load(Level.L3, LevelNumber.L3, Snoop.NONE),
    Served.MODIFIED_HERE: _load(Level.L3, LevelNumber.L3, Snoop.HITM),
    Served.MODIFIED_AWAY: _load(Level.REMOTE_CACHE_1, Remote.REMOTE, LevelNumber.L3, Snoop.HITM),
    Served.CLEAN_AWAY: _load(Level.REMOTE_CACHE_1, Remote.REMOTE, LevelNumber.L3, Snoop.HIT),
    Served.RAM: _load(Level.LOCAL_RAM, LevelNumber.RAM, Snoop.HIT),
    Served.RAM_AWAY: _load(Level.REMOTE_RAM_1, LevelNumber.RAM, Remote.REMOTE, Snoop.NONE, Snoop.MISS),
}
# Precise stores of Sandy Bridge know a second-level translation and atomic instructions, later ones neither.
_OLD_STORES: dict[Served, int] = {
    Served.STORE_HIT: encoded(Op.STORE, Snoop.NA, Level.L1, Level.HIT, Tlb.L2, Tlb.HIT),
    Served.STORE_MISS: encoded(Op.STORE, Snoop.NA, Level.L1, Level.MISS, Tlb.L2, Tlb.HIT),
}
_STORES_KNOWN_BY_L1: dict[Served, int] = {
    Served.STORE_HIT: encoded(Op.STORE, Snoop.NA, Level.L1, Level.HIT, Lock.NA, Tlb.NA),
    Served.STORE_MISS: encoded(Op.STORE, Snoop.NA, Level.L1, Level.MISS, Lock.NA, Tlb.NA),
}
_SKYLAKE: dict[Served, int] = _SANDY_BRIDGE | {
    Served.MODIFIED_AWAY: _load(LevelNumber.ANY_CACHE, Remote.REMOTE, Snoop.HITM),
    Served.CLEAN_AWAY: _load(LevelNumber.ANY_CACHE, Remote.REMOTE, SnoopX.FORWARD),
    Served.RAM_AWAY: _load(LevelNumber.RAM, Remote.REMOTE, Snoop.NONE),
}
# Store latency sampling says where a store was served, in the words of a load.
_STORE_LATENCY: dict[Served, int] = {
    Served.STORE_HIT: encoded(
        Op.STORE, Level.HIT, Level.L1, LevelNumber.L1, Snoop.NONE, Tlb.HIT, Tlb.L1, Tlb.L2, Blocked.NA
    ),
    Served.STORE_MISS: encoded(
        Op.STORE, Level.HIT, Level.L3, LevelNumber.L3, Snoop.HITM, Tlb.HIT, Tlb.L1, Tlb.L2, Blocked.NA
    ),
}
_LOCKED = encoded(Lock.LOCKED)
_ALL_STORES = frozenset((Served.STORE_HIT, Served.STORE_MISS))

INTEL = Hardware(
    "intel",
    "x86_64",
    "GenuineIntel,6,85,7",
    _LOADS,
    _STORES,
    _SKYLAKE | _STORES_KNOWN_BY_L1,
    _LOCKED,
    untimed=_ALL_STORES,
)
INTEL_OLD = Hardware(
    "intel-old",
    "x86_64",
    "GenuineIntel,6,45,7",
    _LOADS,
    _STORES,
    _SANDY_BRIDGE | _OLD_STORES,
    _LOCKED,
    untimed=_ALL_STORES,
)
INTEL_HYBRID = Hardware(
    "intel-hybrid",
    "x86_64",
    "GenuineIntel,6,151,2",
    Event("cpu_core/mem-loads,ldlat=30/P", type=4, config=0x4_0000_01CD, config1=30, precise=3),
    Event("cpu_core/mem-stores/P", type=4, config=0x4_0000_02CD, precise=3),
    _SKYLAKE | _STORE_LATENCY,
    _LOCKED,
)
# Sapphire Rapids samples loads only together with another event, which comes first.
INTEL_AUX = Hardware(
    "intel-aux",
    "x86_64",
    "GenuineIntel,6,143,8",
    _LOADS,
    Event("cpu/mem-stores/P", type=4, config=0x2CD, precise=3),
    _SKYLAKE | _STORE_LATENCY,
    _LOCKED,
    silent=(Event("cpu/mem-loads-aux/P", type=4, config=0x8203, precise=3),),
)


def _ibs(operation: Op, *parts: Level | LevelNumber | Snoop | Remote | Hops) -> int:
    return encoded(operation, Tlb.L1, Tlb.HIT, *parts)


_IBS = Event("ibs_op//", type=10, config=0, period=0x4000, precise=2)
_IBS_STORES: dict[Served, int] = {
    Served.STORE_HIT: _ibs(Op.STORE, Level.L1, Level.HIT, Snoop.NA),
    Served.STORE_MISS: _ibs(Op.STORE, Level.NA, Snoop.NA),
}
# Zen 4 as Linux 6.1 has it: the level field alone.
_IBS_ZEN4: dict[Served, int] = _IBS_STORES | {
    Served.L1: _ibs(Op.LOAD, Level.L1, Level.HIT, Snoop.NA),
    Served.L2: _ibs(Op.LOAD, Level.L2, Level.HIT, Snoop.NA),
    Served.L3: _ibs(Op.LOAD, Level.L3, Level.HIT, Snoop.NA),
    Served.MODIFIED_HERE: _ibs(Op.LOAD, Level.L3, Level.HIT, Snoop.HITM),
    Served.MODIFIED_AWAY: _ibs(Op.LOAD, Level.REMOTE_CACHE_2, Level.HIT, Snoop.HITM),
    Served.CLEAN_AWAY: _ibs(Op.LOAD, Level.REMOTE_CACHE_2, Level.HIT, Snoop.NA),
    Served.RAM: _ibs(Op.LOAD, Level.LOCAL_RAM, Level.HIT, Snoop.NA),
    Served.RAM_AWAY: _ibs(Op.LOAD, Level.REMOTE_RAM_1, Level.HIT, Snoop.NA),
}
# As Linux 6.12 has it: level number, remote and hops too.
_IBS_ZEN4_NEW: dict[Served, int] = {
    Served.STORE_HIT: _ibs(Op.STORE, Level.L1, Level.HIT, LevelNumber.L1, Snoop.NA),
    Served.STORE_MISS: _ibs(Op.STORE, Level.NA, LevelNumber.NA, Snoop.NA),
    Served.L1: _ibs(Op.LOAD, Level.L1, Level.HIT, LevelNumber.L1, Snoop.NA),
    Served.L2: _ibs(Op.LOAD, Level.L2, Level.HIT, LevelNumber.L2, Snoop.NA),
    Served.L3: _ibs(Op.LOAD, Level.L3, Level.HIT, LevelNumber.L3, Snoop.NA),
    Served.MODIFIED_HERE: _ibs(Op.LOAD, Level.L3, Level.HIT, LevelNumber.L3, Snoop.HITM),
    Served.MODIFIED_AWAY: _ibs(
        Op.LOAD, Level.REMOTE_CACHE_2, Level.HIT, LevelNumber.ANY_CACHE, Remote.REMOTE, Hops.NODE, Snoop.HITM
    ),
    Served.CLEAN_AWAY: _ibs(
        Op.LOAD, Level.REMOTE_CACHE_2, Level.HIT, LevelNumber.ANY_CACHE, Remote.REMOTE, Hops.NODE, Snoop.NA
    ),
    Served.RAM: _ibs(Op.LOAD, Level.LOCAL_RAM, Level.HIT, LevelNumber.RAM, Snoop.NA),
    Served.RAM_AWAY: _ibs(Op.LOAD, Level.REMOTE_RAM_1, Level.HIT, LevelNumber.RAM, Remote.REMOTE, Hops.NODE, Snoop.NA),
}
_UNLOCKED = encoded(Lock.NA)
# IBS knows the latency of loads that miss L1.
_NO_MISS = _ALL_STORES | {Served.L1}
AMD = Hardware("amd", "x86_64", "AuthenticAMD,25,17,1", _IBS, _IBS, _IBS_ZEN4, _LOCKED, _UNLOCKED, _NO_MISS)
AMD_NEW = Hardware("amd-new", "x86_64", "AuthenticAMD,25,17,1", _IBS, _IBS, _IBS_ZEN4_NEW, _LOCKED, _UNLOCKED, _NO_MISS)

# What perf makes of SPE records: an event "memory" for loads and stores, without HITM but with peers.
_SPE = Event("memory", type=0, config=0, period=1, weight_struct=False)
_PEER_STORE = encoded(Op.STORE, Level.NA, LevelNumber.NA, Snoop.NA)
ARM = Hardware(
    "arm",
    "aarch64",
    "0x00000000410fd0c0",
    _SPE,
    _SPE,
    {
        Served.L1: encoded(Op.LOAD, Level.L1, Level.HIT, LevelNumber.L1, Snoop.NONE, Tlb.WALKER, Tlb.HIT),
        Served.L2: encoded(Op.LOAD, Level.L2, Level.HIT, LevelNumber.L2, Snoop.NONE, Tlb.WALKER, Tlb.HIT),
        Served.L3: encoded(Op.LOAD, Level.L3, Level.HIT, LevelNumber.L3, Snoop.HIT, Tlb.WALKER, Tlb.HIT),
        Served.MODIFIED_HERE: encoded(Op.LOAD, Level.L3, Level.HIT, LevelNumber.L3, SnoopX.PEER, Tlb.WALKER, Tlb.HIT),
        Served.MODIFIED_AWAY: encoded(
            Op.LOAD, Level.NA, LevelNumber.NA, Remote.REMOTE, SnoopX.PEER, Tlb.WALKER, Tlb.HIT
        ),
        Served.CLEAN_AWAY: encoded(Op.LOAD, Level.NA, LevelNumber.NA, Remote.REMOTE, SnoopX.PEER, Tlb.WALKER, Tlb.HIT),
        Served.RAM: encoded(Op.LOAD, Level.LOCAL_RAM, Level.HIT, LevelNumber.RAM, Snoop.NONE, Tlb.WALKER, Tlb.MISS),
        Served.RAM_AWAY: encoded(
            Op.LOAD, Level.LOCAL_RAM, Level.HIT, LevelNumber.RAM, Snoop.NONE, Tlb.WALKER, Tlb.MISS
        ),
        Served.STORE_HIT: _PEER_STORE | encoded(Tlb.WALKER, Tlb.HIT),
        Served.STORE_MISS: _PEER_STORE | encoded(Tlb.WALKER, Tlb.HIT),
    },
)

# POWER10: "remote" with no hop outside the core is another core of the same node.
POWER = Hardware(
    "power",
    "ppc64le",
    "0x800200",
    Event("cpu/mem-loads/", type=4, config=0x35340401E0, period=10_000),
    Event("cpu/mem-stores/", type=4, config=0x353C0401E0, period=10_000),
    {
        Served.L1: encoded(Op.LOAD, Level.HIT, Level.L1, LevelNumber.L1, Snoop.HIT),
        Served.L2: encoded(Op.LOAD, Level.HIT, Level.L2, LevelNumber.L2, Snoop.HIT),
        Served.L3: encoded(Op.LOAD, Level.HIT, Level.L3, LevelNumber.L3, Snoop.HIT),
        Served.MODIFIED_HERE: encoded(
            Op.LOAD, Level.HIT, Level.L3, LevelNumber.L3, Remote.REMOTE, Hops.CORE, Snoop.HITM
        ),
        Served.MODIFIED_AWAY: encoded(
            Op.LOAD, Level.HIT, Level.REMOTE_CACHE_1, LevelNumber.ANY_CACHE, Remote.REMOTE, Hops.SOCKET, Snoop.HITM
        ),
        Served.CLEAN_AWAY: encoded(
            Op.LOAD, Level.HIT, Level.REMOTE_CACHE_1, LevelNumber.ANY_CACHE, Remote.REMOTE, Hops.SOCKET, Snoop.HIT
        ),
        Served.RAM: encoded(Op.LOAD, Level.HIT, Level.LOCAL_RAM, LevelNumber.RAM, Snoop.HIT),
        Served.RAM_AWAY: encoded(
            Op.LOAD, Level.HIT, Level.REMOTE_RAM_1, LevelNumber.RAM, Remote.REMOTE, Hops.SOCKET, Snoop.HIT
        ),
        Served.STORE_HIT: encoded(Op.STORE, Level.HIT, Level.L1, LevelNumber.L1, Snoop.HIT),
        Served.STORE_MISS: encoded(Op.STORE, Level.MISS, Level.L1),
    },
)

ALL: Mapping[str, Hardware] = {
    one.name: one for one in (INTEL, INTEL_OLD, INTEL_HYBRID, INTEL_AUX, AMD, AMD_NEW, ARM, POWER)
}
