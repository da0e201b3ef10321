# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts as the compiler made them, the file they come from, what an access can touch and which code reaches it."""

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
