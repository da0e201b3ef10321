# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles: accesses on shared cache lines, as the source counted them, and how they were sampled or recorded.

What changed between two of them: which members still meet, which do so no more, which are new on a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.access import CallPath
from linesmith.analyzer.model.layout import CACHE_LINE_BYTES
from linesmith.analyzer.model.slab import ObjectArea


class SampleOutcome(StrEnum):
    """Where a sample of a profile ended before anything was attributed; every one ends in exactly one."""

    SHARED_LINE = "on a shared line"
    UNSHARED_LINE = "on a line without contention"
    NO_ADDRESS = "without a data address"
    NO_ACCESS = "no memory access"
    GUEST = "in a guest"
    NOT_READ = "not understood"
    LOST = "lost while recording"


@dataclass(frozen=True, slots=True)
class CpuCounts:
    """Samples of one access by the CPU that made it; ``cycles`` adds up the latencies of ``timed`` loads.

    ``node`` is ``None`` where the source does not say which node the CPU belongs to.
    """

    cpu: int
    node: int | None
    loads: int = 0
    stores: int = 0
    contended: int = 0
    cycles: int = 0
    timed: int = 0


@dataclass(frozen=True, slots=True)
class ObjectBuild:
    """The build-id that a profile tells of a file (``[kernel.kallsyms]``, ``/usr/bin/x``); hexadecimal."""

    path: str
    build_id: str


@dataclass(frozen=True, slots=True)
class FileMapping:
    """Where a part of a file lay in a process: addresses from ``start`` to before ``end``, from byte ``offset`` on."""

    pid: int
    path: str
    start: int
    end: int
    offset: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sampled profile's circumstances.

    ``builds`` are the files that code or data lay in. ``outcomes`` add up to the samples that were recorded, those
    lost included. ``anchor`` is a kernel symbol with its address at run time, of which the ELF file's own address is
    the KASLR offset away. ``mappings`` are those of the processes that lines and code of user space are of.
    ``build_id`` is that of the ELF file whose addresses the code addresses are, once they are.
    """

    outcomes: tuple[tuple[SampleOutcome, int], ...] = ()
    builds: tuple[ObjectBuild, ...] = ()
    anchor: tuple[str, int] | None = None
    release: str | None = None
    machine: str | None = None
    cpus: int | None = None
    command: str = ""
    mappings: tuple[FileMapping, ...] = ()
    build_id: str | None = None

    @property
    def samples(self) -> int:
        """Every sample, however it ended."""
        return sum(count for _, count in self.outcomes)


@dataclass(frozen=True, slots=True)
class Recording:
    """The circumstances of a simulated profile; its counts are exact numbers of events, no samples.

    ``on`` is ``qemu`` or ``qemu-user``. ``nodes`` holds the NUMA node of each CPU. ``cache_bytes`` is the size of the
    private cache of a CPU, 0 for one without bound. ``quantum`` is in guest instructions. ``interleave`` is ``exact``
    (one host thread, deterministic), ``turns`` or ``host``. ``counts`` holds totals (accesses, instructions) and
    everything that was dropped, by name. ``moved`` is by how many bytes the data of the program or kernel lay above the
    addresses in its file; those of code are as in the file. ``trace`` is the digest of the trace recorded with it.
    """

    on: str
    command: tuple[str, ...]
    nodes: tuple[int, ...]
    machine: str
    line_bytes: int = CACHE_LINE_BYTES
    ring: str = "kernel"
    quantum: int = 0
    interleave: str = "exact"
    seed: int | None = None
    cache_bytes: int = 0
    adjacent: bool = False
    kernel_release: str | None = None
    build_id: str | None = None
    versions: tuple[tuple[str, str], ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    moved: int | None = None
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Cycles that one miss of each kind takes; only their proportions matter for a comparison.

    The defaults are round figures of the order measured on two-socket x86 servers (Molka et al., "Cache Coherence
    Protocol and Memory Performance of the Intel Haswell-EP Architecture", ICPP 2015), not of any one machine.
    """

    hitm_local: int = 120
    hitm_remote: int = 300
    shared: int = 80
    upgrade: int = 80
    taken_local: int = 120
    taken_remote: int = 300


@dataclass(frozen=True, slots=True)
class Misses:
    """Misses that happen because several CPUs use a line, by kind; first touches (``cold``) are counted apart.

    ``hitm_*`` are loads of lines modified elsewhere, ``taken_*`` stores to them, ``upgrade`` stores to a copy that
    others share, ``shared`` accesses without a copy where others have clean ones.
    """

    hitm_local: int = 0
    hitm_remote: int = 0
    shared: int = 0
    upgrade: int = 0
    taken_local: int = 0
    taken_remote: int = 0
    cold: int = 0

    @property
    def total(self) -> int:
        """All but the cold ones."""
        hitm, taken = self.hitm_local + self.hitm_remote, self.taken_local + self.taken_remote
        return hitm + taken + self.shared + self.upgrade

    def cycles(self, latencies: Latencies = Latencies()) -> int:
        """What all but the cold ones take together."""
        names = ("hitm_local", "hitm_remote", "shared", "upgrade", "taken_local", "taken_remote")
        return sum(getattr(self, name) * getattr(latencies, name) for name in names)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Misses of one instruction for which one writer is to blame: it had taken the line from the victim's CPU.

    Offsets and widths are bytes in the line. ``true_sharing`` tells that the victim's own bytes had been written
    elsewhere since it last held the line; otherwise only its neighbours had. ``local`` and ``remote`` count misses
    by whether both CPUs are of one NUMA node. ``shadowed`` counts accesses that hit only because a miss elsewhere on
    the line had just brought it back: apart from the bytes that missed, they would have missed themselves.
    """

    offset: int
    width: int
    function: str | None
    writer_offset: int
    writer_width: int
    writer_function: str | None
    true_sharing: bool
    local: int
    remote: int = 0
    stores: bool = False
    shadowed: int = 0
    code_address: int | None = None
    writer_code_address: int | None = None

    @property
    def misses(self) -> int:
        """Misses of both kinds."""
        return self.local + self.remote


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCounts:
    """What a source counts of a line, or of one access to it.

    Counts are sample counts; where the source gives shares of a line's total they are rounded back to counts.
    ``None`` means that the source has no such column, which is not the same as zero. ``taken`` counts stores and
    atomic updates that took the line from another CPU's cache; only recordings have it.
    """

    hitm_remote: int | None = None
    hitm_local: int | None = None
    peer_remote: int | None = None
    peer_local: int | None = None
    stores_l1_hit: int | None = None
    stores_l1_miss: int | None = None
    stores_na: int | None = None
    records: int | None = None
    taken: int | None = None

    @property
    def contended(self) -> int:
        """Accesses served from a line modified elsewhere: HITM loads, or peer snoops where there is no HITM.

        A recording also knows the stores that took the line from another CPU.
        """
        hitm = (self.hitm_remote or 0) + (self.hitm_local or 0)
        return (hitm or (self.peer_remote or 0) + (self.peer_local or 0)) + (self.taken or 0)

    @property
    def stores(self) -> int:
        """Stores sampled on any level."""
        return (self.stores_l1_hit or 0) + (self.stores_l1_miss or 0) + (self.stores_na or 0)


@dataclass(frozen=True, slots=True)
class Access(LineCounts):
    """One row of a profile: accesses by one instruction (or function) to one offset of one line.

    ``width`` is in bytes; only recordings have it.
    ``by_cpu`` are the same samples by CPU, where the source has them one by one. ``call_paths`` say who called the code
    of the contended ones, the most frequent first; those of further callers, or of none that is known, are the rest.
    """

    offset: int | None
    function: str | None
    cpus: int | None = None
    cycles_remote: int | None = None
    cycles_local: int | None = None
    cycles_load: int | None = None
    code_address: int | None = None
    object_file: str | None = None
    source: str | None = None
    nodes: str | None = None
    process: str | None = None
    kernel: bool | None = None
    symbol_cut: bool = False
    text_line: int | None = None
    width: int | None = None
    by_cpu: tuple[CpuCounts, ...] = ()
    call_paths: tuple[CallPath, ...] = ()

    @property
    def code(self) -> str:
        """The function; where it has no name, the file that it is of: ``[libc.so.6]``, or ``[unknown]``."""
        file = (self.object_file or "").rpartition("/")[2].strip("[]")
        return self.function or f"[{file or 'unknown'}]"


@dataclass(frozen=True, slots=True)
class CacheLine(LineCounts):
    """One cache line of a profile with everything sampled on it; ``bytes`` is 64, 128 (double line) or 256.

    ``nominal`` tells that the text has shares only: counts are then as of 10,000 samples a column, and can be
    compared within the line, not with other lines. ``conflicts`` say which writer took the line from whom, and
    ``misses`` are all of the line's, by kind; only recordings have them. ``pid`` is the process of an address.
    """

    rank: int
    address: int | None
    accesses: tuple[Access, ...]
    bytes: int = CACHE_LINE_BYTES
    loads: int | None = None
    share: float | None = None
    text_line: int | None = None
    nominal: bool = False
    conflicts: tuple[Conflict, ...] = ()
    misses: Misses | None = None
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a reader has to say about its input; ``text_line`` counts from 1."""

    text: str
    text_line: int | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """One report of shared cache lines, hottest first; a text may hold several (before, after).

    ``title`` is the words that stood above the report. ``display`` is ``hitm`` or ``peer``. ``events`` are the
    perf events recorded, where the text lists them (``ibs_op/ldlat=0/``). A simulated profile says how it was
    recorded, and ``areas`` holds the objects that lay on its lines, by address. One read from samples says how those
    were taken in ``sampling``. ``excerpt`` tells that a text quotes lines without the totals of the whole.
    """

    source: str
    title: str
    display: str
    lines: tuple[CacheLine, ...]
    remarks: tuple[Remark, ...] = ()
    has_offsets: bool = True
    has_stores: bool = True
    totals: tuple[tuple[str, int], ...] = ()
    events: tuple[str, ...] = ()
    recording: Recording | None = None
    areas: tuple[ObjectArea, ...] = ()
    sampling: Sampling | None = None
    excerpt: bool = False
