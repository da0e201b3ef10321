# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings: which object lies on a line, which members meet, and what kind of sharing that is.

With them: what sharing a line costs, how much of that a change of the layout can remove at most, and coherence steps,
who touches a line in turn and what each access makes the caches do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.access import CallPath
from linesmith.analyzer.model.layout import CACHE_LINE_BYTES, MemberPair, top_member


@dataclass(frozen=True, slots=True)
class Bounds:
    """An amount of which only limits are known; both are equal where it is known."""

    # Exact counts are whole numbers, and are so when they are read back.
    least: int | float = 0.0
    most: int | float = 0.0

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.least + other.least, self.most + other.most)

    def times(self, factor: float) -> Bounds:
        """Both limits multiplied by a factor that is not negative."""
        return Bounds(self.least * factor, self.most * factor)


@dataclass(frozen=True, slots=True)
class Side:
    """A member's part in a sharing: its samples, and the CPUs and nodes that they come from.

    ``cpus`` are numbers of CPUs, empty where they are not known; ``cpu_count`` is at least how many there are, ``None``
    where nothing tells. ``inferred`` tells that it is written although no store was sampled.
    """

    member: str
    reads: int
    writes: int
    functions: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    cpu_count: int | None = None
    nodes: tuple[int, ...] = ()
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class SharingCost:
    """Accesses to ``victim`` that waited because ``writer`` had been written on another CPU.

    Both may be one member: that is true sharing. ``span`` is how many aligned bytes hold both: 64, or 128 where each
    lies in its half of a pair of lines that are fetched together. ``cycles`` are those of the samples.
    """

    victim: Side
    writer: Side
    contended: Bounds
    cycles: Bounds
    span: int = CACHE_LINE_BYTES


@dataclass(frozen=True, slots=True)
class LineCost:
    """What a line costs, in contended accesses and in cycles of those sampled.

    ``cycles`` are those of contended accesses, ``slow_cycles`` what the line's other loads took more than hits do.
    ``removable`` is what no layout can exceed: all cost between different members gone, true sharing left in place.
    ``adjacent`` is the same for members in the other half of a 128-byte pair, not contained in ``removable``.
    ``share`` is the removable part of all cycles of the profile. ``exact`` tells that every miss names its writer,
    ``timed`` that the latencies are the profile's own. ``notes`` say what the limits rest on.
    """

    contended: int = 0
    cycles: int | float = 0.0
    slow_cycles: float = 0.0
    sharings: tuple[SharingCost, ...] = ()
    removable: Bounds = Bounds()
    removable_cycles: Bounds = Bounds()
    adjacent: Bounds = Bounds()
    adjacent_cycles: Bounds = Bounds()
    share: Bounds = Bounds()
    exact: bool = False
    timed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def waited(self) -> float:
        """All cycles that loads waited on the line."""
        return self.cycles + self.slow_cycles


class Outcome(StrEnum):
    """How the attribution of a line (or of one access) ended; every one ends in exactly one."""

    RESOLVED = "resolved"
    INNER_TYPE_ONLY = "inner type only"
    CANNOT_TELL = "cannot tell"
    NO_EVIDENCE = "no evidence"
    NO_OFFSETS = "no offsets"
    USER_SPACE = "user space"
    NO_TYPE = "no type"


class Agreement(StrEnum):
    """Who tells what an access of the ELF file's own build met: its address, its instruction, or both."""

    CONFIRMED = "confirmed"
    BY_ADDRESS = "inferred by address"
    BY_INSTRUCTION = "inferred by instruction"
    DISAGREE = "disagree"
    NEITHER = "known by neither"


@dataclass(frozen=True, slots=True)
class VariableRow:
    """Objects that a symbol of the ELF file puts where they are: ``count`` of them, ``stride`` bytes apart.

    The first begins at ``address``, one of run time: loaders move files by whole pages, so that its place in a line
    is that of the file.
    """

    name: str
    address: int
    stride: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class LineObject:
    """A type laid over a line of ``line_bytes``: ``start`` is its first byte counted from the line's, may be negative.

    ``score`` and ``margin`` (to the runner-up) are shares 0 … 1. Of an object that a snapshot knows, ``origin`` is what
    it calls the memory (``slab inode_cache``), ``variable`` the symbol of one whose type is no record, and ``size`` the
    bytes from ``start`` that belong to it; ``by_address`` tells that it names the type too, not only the place.
    ``doubt`` is the part of ``reason`` that speaks against an object which is taken for known all the same.
    ``misfits`` are offsets in the line whose functions are known to touch other places of the object than those there.
    ``row`` are the objects of the variable that it is, or is part of. Of one that is laid out otherwise in the build of
    the report, ``ways`` has the offsets of the line, each with where it would begin if it were laid out as here.
    """

    type: str
    layout: int | None
    start: int
    score: float
    outcome: Outcome
    margin: float = 0.0
    runner_up: LineObject | None = None
    containers: tuple[str, ...] = ()
    reason: str = ""
    origin: str = ""
    variable: str = ""
    size: int | None = None
    by_address: bool = False
    doubt: str = ""
    misfits: tuple[int, ...] = ()
    row: VariableRow | None = None
    ways: tuple[tuple[int, int], ...] = ()
    line_bytes: int = CACHE_LINE_BYTES

    @property
    def phase(self) -> int:
        """Where in its line the object begins, in bytes."""
        return self.start % self.line_bytes

    @property
    def laid_out_otherwise(self) -> bool:
        """Whether it is known, and its members are, or may be, at other offsets in the build of the report."""
        return self.outcome is Outcome.RESOLVED and bool(self.ways)

    def place(self, offset: int) -> int:
        """Where an offset of the line is in the object as it is laid out here."""
        return offset - next((start for one, start in self.ways if one == offset), self.start)


@dataclass(frozen=True, slots=True)
class MemberFunction:
    """A function seen on a member, with its samples; ``writes_inferred`` tells why it must write, if it must.

    ``source`` is where most of them were written, as ``mm/mmap.c:120``; ``""`` where that is not known.
    """

    name: str
    contended: int
    stores: int
    records: int | None = None
    cpus: int | None = None
    writes_inferred: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class LineMember:
    """A member met on a line. ``offset`` is in the line, ``object_offset`` in the object (``None``: not known).

    ``instructions`` are what the instructions sampled here touch (``struct inode.i_lock``) where they do not agree with
    the object or where no object is known. ``doubted`` tells that this is one of the object's misfits: the member is
    there in the ELF file, but what was sampled is probably another one. ``callers`` are who came to it, by contended
    accesses: not the helpers that take its lock or link it, but who called these, and who called that. ``moved`` is by
    how many bytes it lies elsewhere in the object than the ELF file lays it out. ``type`` is as declared.
    """

    path: str
    offset: int
    object_offset: int | None
    size: int | None
    reads: int
    writes: int
    functions: tuple[MemberFunction, ...]
    lock: bool = False
    write_inferred: str = ""
    instructions: tuple[str, ...] = ()
    doubted: bool = False
    callers: tuple[CallPath, ...] = ()
    moved: int = 0
    type: str = ""

    @property
    def begin(self) -> int | None:
        """Where the object begins that the member is of, counted from the line; ``None`` where that is not known."""
        return None if self.object_offset is None else self.offset - self.object_offset - self.moved

    @property
    def called(self) -> str:
        """The path, with a question mark where it is uncertain."""
        return f"{self.path} (?)" if self.doubted else self.path

    @property
    def top(self) -> str:
        """The member of the outermost record that ``path`` begins with; words of a lock without a type are one."""
        name = top_member(self.path)
        return name.partition("+0x")[0] if self.lock else name

    @property
    def written(self) -> bool:
        """Whether a store was sampled or must have happened."""
        return self.writes > 0 or bool(self.write_inferred)


class TriageKind(StrEnum):
    """The diagnosis of a line, before any advice."""

    FALSE_SHARING = "false sharing"
    TRUE_SHARING = "true sharing"
    LOCK_CONTENTION = "lock contention"
    ADJACENT_LINE = "adjacent-line sharing"
    STRADDLE = "straddling member"
    SEVERAL_OBJECTS = "several objects"
    NO_WRITER = "no writer seen"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ConflictPair(MemberPair):
    """Two members of one object that meet on a line, at least one of them written; paths are top-level members.

    ``weight`` is the contended samples that the meeting can explain; of a recording, the misses that it caused and
    those that it would cause on members fetched by another one's miss.
    """

    writer: str
    weight: int

    @property
    def reader(self) -> str:
        """The member that waits for stores to the written one."""
        return self.second if self.writer == self.first else self.first


@dataclass(frozen=True, slots=True)
class Triage:
    """A diagnosis with its reasons; ``kinds`` holds the main one first, then those that also hold."""

    kinds: tuple[TriageKind, ...]
    pairs: tuple[ConflictPair, ...]
    sentence: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Protected:
    """A member that a lock probably protects: ``held`` of the ``writers`` that write it take the lock.

    ``named_alike`` tells that its name and the lock's begin alike (``i_mmap``, ``i_mmap_rwsem``).
    """

    member: str
    writers: int
    held: int
    named_alike: bool = False


@dataclass(frozen=True, slots=True)
class ContendedLock:
    """A lock that a line's cost comes from: a member of ``type``, itself a ``record``.

    ``members`` are what it probably protects; ``holders`` are functions that ran, take it and write them, ``taken_by``
    the inlined functions by which they take it (empty: they touch its words themselves). ``remedies`` are changes of
    the structure that can help where moving members cannot. ``possible`` are functions that hand it to one that locks,
    those that ran first; only where the profile does not say who took it.
    """

    type: str
    name: str
    record: str
    members: tuple[Protected, ...] = ()
    holders: tuple[str, ...] = ()
    taken_by: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One hot line explained: the object, its members, who touches them, and the diagnosis.

    ``apart`` is the owner of objects that emulation makes hotter than hardware does (``timekeeping``, ``RCU``,
    ``the scheduler``) where they are what is met here, known by address or by the code.
    ``simulated`` says on what the caches were simulated; empty for a profile of real ones. ``agreements`` count the
    accesses by what shows what they met; empty where their code addresses are of no use. ``samples`` are those of the
    line by outcome, ``cost`` is what it costs and how much of that a layout can remove. ``lock`` is the one that is
    contended, if its type is known. ``quoted`` tells that ``share`` is of the lines that a text quotes, which says
    nothing of the whole profile. ``stores_sampled`` tells that the profile has stores, if perhaps none on this line.
    """

    rank: int
    address: int | None
    share: float
    contended: int
    stores: int
    objects: tuple[LineObject, ...]
    members: tuple[LineMember, ...]
    triage: Triage
    bytes: int = CACHE_LINE_BYTES
    outcomes: tuple[tuple[Outcome, int], ...] = ()
    apart: str = ""
    simulated: str = ""
    agreements: tuple[tuple[Agreement, int], ...] = ()
    samples: tuple[tuple[Outcome, int], ...] = ()
    cost: LineCost = LineCost()
    lock: ContendedLock | None = None
    quoted: bool = False
    stores_sampled: bool = True

    @property
    def whole(self) -> str:
        """What ``share`` is of, as a noun."""
        return "lines of the report" if self.quoted else "profile"

    @property
    def unit(self) -> str:
        """What is counted, as a noun: loads of a line that another CPU had modified; of simulated caches all misses."""
        return "misses" if self.simulated else "contended loads"


class LineState(StrEnum):
    """State of a line in one CPU's cache. Source: the MESI protocol (Papamarcos and Patel, ISCA 1984)."""

    MODIFIED = "M"
    EXCLUSIVE = "E"
    SHARED = "S"
    INVALID = "I"


@dataclass(frozen=True, slots=True)
class CoherenceStep:
    """One access of ``cpu`` (``A``, ``B``) by ``function`` to ``member``, which lies on line ``line`` of the object.

    ``states`` are those of that line after the access, by CPU. ``what`` says what happened (``hit``, ``miss: modified
    on A``), ``cycles`` what the access waited, 0 for a hit; ``needless`` that it waits only for where the members lie.
    """

    cpu: str
    function: str
    member: str
    line: int
    writes: bool
    states: tuple[tuple[str, LineState], ...]
    what: str
    cycles: int
    needless: bool = False


@dataclass(frozen=True, slots=True)
class StepTable:
    """One sharing, access by access, in the layout as it is and under a candidate.

    ``contended`` accesses to the member ``victim`` waited for stores to the member ``writer``. ``phase`` is where the
    object starts in its line, in bytes; ``phase_after`` differs where the candidate aligns it.
    """

    victim: str
    writer: str
    contended: Bounds
    phase: int
    before: tuple[CoherenceStep, ...]
    after: tuple[CoherenceStep, ...]
    notes: tuple[str, ...] = ()
    phase_after: int = 0

    @property
    def cycles(self) -> tuple[int, int]:
        """What all steps wait, before and after."""
        return sum(one.cycles for one in self.before), sum(one.cycles for one in self.after)
