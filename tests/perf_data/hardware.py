# SPDX-License-Identifier: GPL-2.0-or-later
"""What machines tell of a memory access, each in its own words.

Sources: ``include/uapi/linux/perf_event.h``, ``arch/x86/events/intel/ds.c``, ``arch/x86/events/amd/ibs.c``,
``arch/powerpc/perf/isa207-common.c`` and ``tools/perf/util/arm-spe.c`` of Linux 6.1 and 6.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from perf_data.records import Event


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


# How loads and stores of contended members are served; of memory that one CPU has for itself; of memory seldom used.
CONTENDED: Mapping[Served, float] = {
    Served.MODIFIED_HERE: 25, Served.MODIFIED_AWAY: 35, Served.L3: 15, Served.L1: 15, Served.CLEAN_AWAY: 10,
}  # fmt: skip
CONTENDED_STORES: Mapping[Served, float] = {Served.STORE_HIT: 55, Served.STORE_MISS: 45}
QUIET: Mapping[Served, float] = {Served.L1: 90, Served.L2: 8, Served.L3: 2}
FROM_MEMORY: Mapping[Served, float] = {Served.L1: 50, Served.RAM: 35, Served.RAM_AWAY: 15}


# The words of ``union perf_mem_data_src`` by the field's first bit: bits, or numbers (level number and hops).
_FIELDS: Mapping[int, Mapping[str, int]] = {
    0: {"load": 2, "store": 4},
    5: {
        "lvl-na": 0x1, "hit": 0x2, "miss": 0x4, "L1": 0x8, "L2": 0x20, "L3": 0x40, "ram": 0x80, "ram-remote": 0x100,
        "cache-remote": 0x400, "cache-remote-2": 0x800,
    },
    19: {"snoop-na": 1, "snoop-none": 2, "snoop-hit": 4, "snoop-miss": 8, "hitm": 16},
    24: {"lock-na": 1, "locked": 2},
    26: {"tlb-na": 1, "tlb-hit": 2, "tlb-miss": 4, "tlb-L1": 8, "tlb-L2": 16, "tlb-walker": 32},
    33: {"num-L1": 1, "num-L2": 2, "num-L3": 3, "num-cache": 11, "num-ram": 13, "num-na": 15},
    37: {"remote": 1},
    38: {"forward": 1, "peer": 2},
    40: {"blocked-na": 1},
    43: {"hop-core": 1, "hop-node": 2, "hop-socket": 3},
}  # fmt: skip
_WORDS = {word: value << first for first, words in _FIELDS.items() for word, value in words.items()}


def encoded(text: str) -> int:
    found = 0
    for word in text.split():
        found |= _WORDS[word]
    return found


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


def _sources(loads: str, stores: str, table: str) -> dict[Served, int]:
    """The rows of a table, one for each way to be served, with what all loads or all stores have."""
    found = {}
    for served, row in zip(Served, table.strip().splitlines(), strict=True):
        found[served] = encoded(row) | encoded(stores if "STORE" in served.name else loads)
    return found


_INTEL_LOADS = "load hit tlb-hit tlb-L1 tlb-L2 blocked-na"  # block information is as before Sapphire Rapids
_SKYLAKE = _sources(_INTEL_LOADS, "store snoop-na L1 lock-na tlb-na", """
    L1 num-L1 snoop-none
    L2 num-L2 snoop-none
    L3 num-L3 snoop-none
    L3 num-L3 hitm
    num-cache remote hitm
    num-cache remote forward
    ram num-ram snoop-hit
    num-ram remote snoop-none
    hit
    miss
""")  # fmt: skip
# Store latency sampling says where a store was served, in the words of a load.
_STORE_LATENCY = {
    Served.STORE_HIT: encoded("store hit L1 num-L1 snoop-none tlb-hit tlb-L1 tlb-L2 blocked-na"),
    Served.STORE_MISS: encoded("store hit L3 num-L3 hitm tlb-hit tlb-L1 tlb-L2 blocked-na"),
}
_LOADS = Event("cpu/mem-loads,ldlat=30/P", type=4, config=0x1CD, config1=30, precise=3)
_STORES = Event("cpu/mem-stores/P", type=4, config=0x82D0, precise=3)
_LOCKED, _UNLOCKED = encoded("locked"), encoded("lock-na")
_ALL_STORES = frozenset((Served.STORE_HIT, Served.STORE_MISS))
_X86 = "x86_64"

INTEL = Hardware("intel", _X86, "GenuineIntel,6,85,7", _LOADS, _STORES, _SKYLAKE, _LOCKED, untimed=_ALL_STORES)
# Sapphire Rapids samples loads only together with another event, which comes first.
INTEL_AUX = Hardware(
    "intel-aux",
    _X86,
    "GenuineIntel,6,143,8",
    _LOADS,
    Event("cpu/mem-stores/P", type=4, config=0x2CD, precise=3),
    _SKYLAKE | _STORE_LATENCY,
    _LOCKED,
    silent=(Event("cpu/mem-loads-aux/P", type=4, config=0x8203, precise=3),),
)

# Zen 4 as Linux 6.12 has it.
_IBS = Event("ibs_op//", type=10, config=0, period=0x4000, precise=2)
_IBS_ZEN4 = _sources("load tlb-L1 tlb-hit hit", "store tlb-L1 tlb-hit snoop-na", """
    L1 num-L1 snoop-na
    L2 num-L2 snoop-na
    L3 num-L3 snoop-na
    L3 num-L3 hitm
    cache-remote-2 num-cache remote hop-node hitm
    cache-remote-2 num-cache remote hop-node snoop-na
    ram num-ram snoop-na
    ram-remote num-ram remote hop-node snoop-na
    L1 hit num-L1
    lvl-na num-na
""")  # fmt: skip
_NO_MISS = _ALL_STORES | {Served.L1}  # IBS knows the latency of loads that miss L1
AMD = Hardware("amd", _X86, "AuthenticAMD,25,17,1", _IBS, _IBS, _IBS_ZEN4, _LOCKED, _UNLOCKED, _NO_MISS)

# What perf makes of SPE records: an event "memory" for loads and stores, without HITM but with peers.
_SPE = Event("memory", type=0, config=0, period=1, weight_struct=False)
_SPE_SOURCES = _sources("load tlb-walker", "store lvl-na num-na snoop-na tlb-walker tlb-hit", """
    L1 hit num-L1 snoop-none tlb-hit
    L2 hit num-L2 snoop-none tlb-hit
    L3 hit num-L3 snoop-hit tlb-hit
    L3 hit num-L3 peer tlb-hit
    lvl-na num-na remote peer tlb-hit
    lvl-na num-na remote peer tlb-hit
    ram hit num-ram snoop-none tlb-miss
    ram hit num-ram snoop-none tlb-miss
    store
    store
""")  # fmt: skip
ARM = Hardware("arm", "aarch64", "0x00000000410fd0c0", _SPE, _SPE, _SPE_SOURCES)

# POWER10: "remote" with no hop outside the core is another core of the same node.
POWER = Hardware(
    "power",
    "ppc64le",
    "0x800200",
    Event("cpu/mem-loads/", type=4, config=0x35340401E0, period=10_000),
    Event("cpu/mem-stores/", type=4, config=0x353C0401E0, period=10_000),
    _sources("load hit", "store L1", """
        L1 num-L1 snoop-hit
        L2 num-L2 snoop-hit
        L3 num-L3 snoop-hit
        L3 num-L3 remote hop-core hitm
        cache-remote num-cache remote hop-socket hitm
        cache-remote num-cache remote hop-socket snoop-hit
        ram num-ram snoop-hit
        ram-remote num-ram remote hop-socket snoop-hit
        hit num-L1 snoop-hit
        miss
    """),
)  # fmt: skip

ALL: Mapping[str, Hardware] = {one.name: one for one in (INTEL, INTEL_AUX, AMD, ARM, POWER)}
