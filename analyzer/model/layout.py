# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts as the compiler made them, the file they come from, what else is known of a record, and its line map.

What else is known: the leaves that an access can touch, what its code touches, and what forbids some of its layouts. A
line map is one row a cache line, members to scale, with what is known of who touches them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod


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
    def is_open_array(self) -> bool:
        """Whether it goes on behind its end: ``name[]``, or the older ``name[0]``."""
        return self.flexible or (bool(self.dimensions) and not prod(self.dimensions))

    @property
    def end(self) -> int:
        """First byte behind the member (for a bit-field: behind its storage unit)."""
        return self.offset + self.size

    @property
    def first_bit(self) -> int:
        """Absolute bit of the record at which the member begins."""
        return self.offset * 8 if self.bit_offset is None else self.bit_offset

    @property
    def used_end(self) -> int:
        """First byte behind all that the member uses (of a bit-field: behind its bits)."""
        if self.bit_offset is None or self.bit_size is None:
            return self.offset + self.size
        return -(-(self.bit_offset + self.bit_size) // 8)


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
class Entered:
    """A record (a layout id) on the way to a leaf: ``offset`` bytes into the outermost one, under ``path`` there."""

    record: int
    offset: int
    path: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A member reached through nested records: what one load or store can touch.

    ``path`` leaves out anonymous records and wrappers with a single member (``i_mmap.rb_root``).
    ``chain`` names the records entered, outermost first, each with its offset in the outermost one.
    ``entered`` has the same records and the anonymous ones, and those that a word is wrapped in.
    """

    path: str
    offset: int
    size: int
    member: Member
    chain: tuple[tuple[str, int], ...]
    bit_offset: int | None = None
    bit_size: int | None = None
    entered: tuple[Entered, ...] = ()


CACHE_LINE_BYTES = 64
ADJACENT_LINE_BYTES = 128


def top_member(path: str) -> str:
    """The member of the outermost record that a path begins with."""
    return path.partition(".")[0].partition("[")[0]


@dataclass(frozen=True, slots=True)
class MemberPair:
    """Two members of one record that can lie on one cache line; paths as C code names them."""

    first: str
    second: str

    @property
    def names(self) -> frozenset[str]:
        """Both, whichever comes first."""
        return frozenset((self.first, self.second))


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


class FactKind(StrEnum):
    """What only the source, or somebody who knows it, tells of members; the value is what a user reads and writes."""

    OFFSET = "offset"
    """Their offsets are relied upon: asserted, exported to assembly or to user space."""
    RANGE = "range"
    """The code treats all from the first to the last as one range: memset(), memcpy(), struct_group()."""
    POSITIONAL = "positional"
    """An initialiser names no members, so the order of all from the first of the record to the last of these counts."""
    FIRST = "first"
    """The code casts between the record and this member, or takes its address for that of the record."""
    LAST = "last"
    """The record may be allocated longer than it is declared, so this member ends it."""
    WALL = "wall"
    """The code splits the record where this member begins: what is before it stays before, what is behind stays."""
    TOGETHER = "together"
    """They stand in one block of the source that moves as a whole, for example within ``#if`` and ``#endif``."""
    APART = "apart"
    """An assertion has them on different lines of the given ``bytes``."""
    RANDOMIZED = "randomized"
    """The compiler may shuffle these (all, if none are named), so an order holds only where it does not."""
    SIZE = "size"
    """The record must not become larger than ``bytes``, or than it is where none are given."""
    PAGE = "page"
    """The record must not become larger than a page of memory."""
    SLAB = "slab"
    """The record's objects must not take more memory: as many must fit into a slab as do now."""


@dataclass(frozen=True, slots=True)
class SourceFact:
    """One fact of a record: ``members`` by name in declaration order, ``place`` as ``file:line``, empty if unknown.

    ``reason`` is a clause for the user. ``bytes`` is the limit of a ``SIZE``, or the line of an ``APART``.
    """

    kind: FactKind
    members: tuple[str, ...]
    reason: str
    place: str = ""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts by the record they are of (``address_space``, without ``struct``), each with its members."""

    records: tuple[tuple[str, tuple[SourceFact, ...]], ...] = ()

    def of(self, record: str) -> tuple[SourceFact, ...]:
        """All facts of the record of that name."""
        return tuple(fact for name, facts in self.records if name == record for fact in facts)


NO_FACTS = SourceFacts()


class CellKind(StrEnum):
    """What the bytes of a cell are."""

    MEMBER = "member"
    HOLE = "hole"
    PADDING = "padding"


@dataclass(frozen=True, slots=True)
class Toucher:
    """One who reads or writes a member: a function, with samples, and the CPUs and nodes it ran on where known."""

    function: str
    reads: int
    writes: int
    cpus: int | None = None
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A run of bytes of one line: ``start`` and ``bytes`` within the line, ``offset`` in the object.

    A member on several lines has a cell on each, with the same ``path``; bit-fields of one storage unit share a cell,
    their names joined, and so do alternatives of a union. ``heat`` is its share, 0 … 1, of the record's contended
    samples, ``None`` without a profile.
    ``lock`` tells that it is one, ``moved`` that it was moved in the change that two maps show, ``straddles`` that it
    lies on two lines but would fit on one, ``written`` that a store was sampled or must have happened.
    """

    path: str
    type: str
    kind: CellKind
    start: int
    bytes: int
    offset: int
    heat: float | None = None
    reads: int = 0
    writes: int = 0
    touchers: tuple[Toucher, ...] = ()
    lock: bool = False
    moved: bool = False
    straddles: bool = False
    written: bool = False


@dataclass(frozen=True, slots=True)
class MapLine:
    """One line: ``number`` counts from the line that the object begins on; the cells fill it without gaps.

    Bytes of the line before the object's first and behind its last belong to no cell. ``heat`` as in ``Cell``.
    """

    number: int
    cells: tuple[Cell, ...]
    heat: float | None = None


@dataclass(frozen=True, slots=True)
class LineMap:
    """A record laid over lines of ``line_bytes``, beginning ``phase`` bytes into the first; ``caption`` says whose.

    ``left_out`` is how many lines of a very long record follow that are not in ``lines``.
    """

    title: str
    size: int
    phase: int
    lines: tuple[MapLine, ...]
    line_bytes: int = CACHE_LINE_BYTES
    caption: str = ""
    place: str = ""
    left_out: int = 0
