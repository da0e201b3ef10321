# SPDX-License-Identifier: GPL-2.0-or-later
"""Frozen values that pass between the stages of the pipeline; standard library only.

Units are bytes unless a name says ``bit``. Offsets count from the start of the record that owns the
member; bit offsets count from the record's first bit, least significant first on little-endian targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CACHE_LINE_BYTES = 64
ADJACENT_LINE_BYTES = 128


class RecordKind(StrEnum):
    """The C keyword that introduces a record (C++ classes are read, not interpreted)."""

    STRUCT = "struct"
    UNION = "union"
    CLASS = "class"


class MemberCategory(StrEnum):
    """What a member is once typedefs, qualifiers and array dimensions are taken off."""

    SCALAR = "scalar"
    FLOAT = "float"
    ENUM = "enum"
    POINTER = "pointer"
    FUNCTION_POINTER = "function pointer"
    RECORD = "record"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a record, as the compiler placed it.

    ``type`` and ``declarator`` are the two columns of a pahole line, ``int`` and ``(*open)(struct file *)``
    or ``unsigned char`` and ``name[16]``; a bit-field's width is not part of the declarator.
    ``offset`` of a bit-field is that of its storage unit, ``bit_offset`` is absolute in the record.
    Source: DW_TAG_member (DWARF 5, 5.7.6), ``struct btf_member``.
    """

    name: str
    type: str
    declarator: str
    offset: int
    size: int
    natural_alignment: int = 1
    alignment: int | None = None
    bit_offset: int | None = None
    bit_size: int | None = None
    dimensions: tuple[int, ...] = ()
    flexible: bool = False
    category: MemberCategory = MemberCategory.SCALAR
    record: int | None = None
    target: str | None = None
    read_only_target: bool = False
    line: int | None = None

    @property
    def is_bit_field(self) -> bool:
        """Whether the member occupies bits rather than whole bytes."""
        return self.bit_size is not None

    @property
    def end(self) -> int:
        """First byte behind the member (for a bit-field: behind its storage unit)."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Layout:
    """One record type with one layout; records of one name and other layouts are other values.

    ``id`` is stable within one index only. ``alignment`` is what the source asked for
    (DW_AT_alignment), ``natural_alignment`` what the members need. ``typedef`` tells that an anonymous
    record is known by the name of its typedef. An anonymous record has the name ``""``.
    """

    id: int
    name: str
    kind: RecordKind
    size: int
    members: tuple[Member, ...]
    natural_alignment: int = 1
    alignment: int | None = None
    typedef: bool = False
    file: str | None = None
    line: int | None = None
    unit: str | None = None
    units: int = 1

    @property
    def title(self) -> str:
        """The type as C code names it: ``struct inode``, or the typedef's name."""
        return self.name if self.typedef else f"{self.kind.value} {self.name}".rstrip()

    @property
    def place(self) -> str:
        """``file:line`` of the declaration, or a dash where the producer gave none (BTF)."""
        return f"{self.file}:{self.line}" if self.file else "-"


@dataclass(frozen=True, slots=True)
class ElfIdentity:
    """What an ELF (or raw BTF) file is: the key of the index cache and the line of every report."""

    path: str
    build_id: str | None
    machine: str
    kind: str
    little_endian: bool
    address_bytes: int
    has_dwarf: bool
    has_btf: bool
    debug_path: str | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A member reached through nested records: what one load or store can touch.

    ``path`` leaves out anonymous records and wrappers with a single member (``i_mmap.rb_root``).
    ``chain`` names the records entered, outermost first, each with its offset in the outermost one.
    """

    path: str
    offset: int
    size: int
    member: Member
    chain: tuple[tuple[str, int], ...]
    bit_offset: int | None = None
    bit_size: int | None = None


@dataclass(frozen=True, slots=True)
class Touched:
    """A record type that a function can reach, and by which variable.

    ``via`` is ``parameter``, ``variable`` or ``return``; ``inlined_from`` names the inlined function that
    owns the variable; ``read_only`` tells a pointer to const. Source: DW_TAG_formal_parameter,
    DW_TAG_variable, DW_TAG_inlined_subroutine.
    """

    function: str
    record: str
    variable: str
    via: str
    inlined_from: str | None = None
    read_only: bool = False
    by_value: bool = False


@dataclass(frozen=True, slots=True)
class Operand:
    """A memory operand of a function's code: ``displacement`` bytes from what a register points to, ``width`` bytes.

    Stack, instruction-relative and segment-relative operands are none. One value per distinct operand.
    """

    function: str
    displacement: int
    width: int
    reads: bool
    writes: bool
    atomic: bool


@dataclass(frozen=True, slots=True)
class Access:
    """One row of a profile: accesses by one instruction (or function) to one offset of one line.

    Counts are sample counts; where the source gives shares of a line's total they are rounded back to counts.
    ``None`` means that the source has no such column, which is not the same as zero.
    """

    offset: int | None
    function: str | None
    hitm_remote: int | None = None
    hitm_local: int | None = None
    peer_remote: int | None = None
    peer_local: int | None = None
    stores_l1_hit: int | None = None
    stores_l1_miss: int | None = None
    stores_na: int | None = None
    records: int | None = None
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
    callers: tuple[str, ...] = ()

    @property
    def contended(self) -> int:
        """Loads served from a line modified elsewhere: HITM, or peer snoops where there is no HITM."""
        hitm = (self.hitm_remote or 0) + (self.hitm_local or 0)
        return hitm or (self.peer_remote or 0) + (self.peer_local or 0)

    @property
    def stores(self) -> int:
        """Stores sampled on any level."""
        return (self.stores_l1_hit or 0) + (self.stores_l1_miss or 0) + (self.stores_na or 0)


@dataclass(frozen=True, slots=True)
class SharedLine:
    """One cache line of a profile with everything sampled on it; ``bytes`` is 64, 128 (double line) or 256."""

    rank: int
    address: int | None
    accesses: tuple[Access, ...]
    bytes: int = CACHE_LINE_BYTES
    hitm_remote: int | None = None
    hitm_local: int | None = None
    peer_remote: int | None = None
    peer_local: int | None = None
    stores_l1_hit: int | None = None
    stores_l1_miss: int | None = None
    stores_na: int | None = None
    records: int | None = None
    loads: int | None = None
    share: float | None = None
    text_line: int | None = None

    @property
    def contended(self) -> int:
        """HITM loads of the line, or peer snoops where the profile has no HITM."""
        hitm = (self.hitm_remote or 0) + (self.hitm_local or 0)
        return hitm or (self.peer_remote or 0) + (self.peer_local or 0)

    @property
    def stores(self) -> int:
        """Stores sampled on the line, any level."""
        return (self.stores_l1_hit or 0) + (self.stores_l1_miss or 0) + (self.stores_na or 0)


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a reader has to say about its input; ``text_line`` counts from 1."""

    text: str
    text_line: int | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """One report of shared cache lines, hottest first; a text may hold several (before, after).

    ``title`` is the words that stood above the report. ``display`` is ``hitm`` or ``peer``. ``events`` are the
    perf events recorded, where the text lists them (``ibs_op/ldlat=0/``).
    """

    source: str
    title: str
    display: str
    lines: tuple[SharedLine, ...]
    remarks: tuple[Remark, ...] = ()
    has_offsets: bool = True
    has_stores: bool = True
    totals: tuple[tuple[str, int], ...] = ()
    events: tuple[str, ...] = ()


class Outcome(StrEnum):
    """How the attribution of a line (or of one access) ended; every one ends in exactly one."""

    RESOLVED = "resolved"
    INNER_TYPE_ONLY = "inner type only"
    CANNOT_TELL = "cannot tell"
    NO_EVIDENCE = "no evidence"
    NO_OFFSETS = "no offsets"
    USER_SPACE = "user space"


@dataclass(frozen=True, slots=True)
class LineObject:
    """A type laid over a line: ``start`` is the object's first byte counted from the line's (may be negative).

    ``phase`` is ``start`` modulo the line size; ``score`` and ``margin`` (to the runner-up) are shares 0 … 1.
    """

    type: str
    layout: int | None
    start: int
    phase: int
    score: float
    outcome: Outcome
    margin: float = 0.0
    runner_up: LineObject | None = None
    containers: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MemberFunction:
    """A function seen on a member, with its samples; ``writes_inferred`` tells why it must write, if it must."""

    name: str
    contended: int
    stores: int
    records: int | None = None
    cpus: int | None = None
    writes_inferred: str = ""


@dataclass(frozen=True, slots=True)
class LineMember:
    """A member met on a line. ``offset`` is in the line, ``object_offset`` in the object (``None``: not known)."""

    path: str
    offset: int
    object_offset: int | None
    size: int | None
    reads: int
    writes: int
    functions: tuple[MemberFunction, ...]
    lock: bool = False
    write_inferred: str = ""

    @property
    def top(self) -> str:
        """The member of the outermost record that ``path`` begins with."""
        return self.path.partition(".")[0].partition("[")[0]

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
class ConflictPair:
    """Two members of one object that meet on a line, at least one of them written; paths are top-level members.

    ``weight`` is the contended samples that the meeting can explain.
    """

    first: str
    second: str
    writer: str
    weight: int


@dataclass(frozen=True, slots=True)
class Triage:
    """A diagnosis with its reasons; ``kinds`` holds the main one first, then those that also hold."""

    kinds: tuple[TriageKind, ...]
    pairs: tuple[ConflictPair, ...]
    sentence: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One hot line explained: the object, its members, who touches them, and the diagnosis."""

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


class MoveKind(StrEnum):
    """The ways in which a candidate differs from the layout it starts from."""

    MOVE = "move"
    SWAP = "swap"
    FILL_HOLE = "move into a hole"
    ALIGN = "align"


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a candidate: ``member`` goes behind ``after`` (``None``: to the front).

    A swap names its partner in ``partner``; ``align`` is the new explicit alignment in bytes. An anonymous record
    goes by the first name inside it. ``members`` are all that move as one atom, in order, where they are several.
    """

    kind: MoveKind
    member: str
    after: str | None = None
    partner: str | None = None
    align: int | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Residual:
    """Share of the possible object phases in which two members still meet on one line of ``line_bytes``."""

    first: str
    second: str
    line_bytes: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Considered:
    """Another legal place for the member a candidate moves, with the size it gives and what it leaves."""

    after: str | None
    size: int
    residuals: tuple[Residual, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Contended samples, predicted for the profile's phases before and after; ``lines`` of hot members touched."""

    before: float
    after: float
    hot_lines_before: float
    hot_lines_after: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed layout, with what it costs and what it is expected to gain.

    ``before`` and ``after`` are the record whose members move: that called ``type``, or an anonymous struct inside it.
    """

    type: str
    before: Layout
    after: Layout
    moves: tuple[Move, ...]
    residuals: tuple[Residual, ...]
    predicted: Prediction
    lines: int
    constraints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    considered: tuple[Considered, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """A source edit: ``diff`` applies with ``git apply`` and ``patch -p1``; ``message`` carries no sign-off.

    ``verified`` says by what the edit was confirmed, empty when it was not. ``exact`` tells that the tree's layouts are
    those of the ELF file, so that the candidate's layout came out to the bit. ``commands`` were run, or would be.
    A byte of ``diff`` that is no UTF-8 is a lone surrogate, as ``surrogateescape`` makes it.
    """

    type: str
    file: str
    diff: str
    message: str
    verified: str
    candidate: int
    exact: bool = True
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
