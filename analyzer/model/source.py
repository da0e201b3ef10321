# SPDX-License-Identifier: GPL-2.0-or-later
"""What the source of a record shows, what compilers make of a change of it, and why an edit was not made.

Places are files and lines of the source tree. A record is named as in its tag or typedef (``address_space``). A change
is checked under other configurations and on other machines than the one profiled; a change of a whole tree is a series
of steps that build one by one, each a patch with its message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.candidate import Residual
from linesmith.analyzer.model.layout import CACHE_LINE_BYTES


class RefusalCode(StrEnum):
    """The kinds of refusal; ``docs/refusals.md`` explains each."""

    ALWAYS_SUCCEEDS = "always-succeeds"
    AMBIGUOUS = "ambiguous-declaration"
    ANNOTATED_POINTER = "annotated-pointer"
    BIT_FIELDS = "bit-fields"
    BRACE_LINE = "brace-line"
    CACHE_ALIGNMENT = "cache-alignment"
    CACHE_LEFT = "cache-left"
    CONDITIONAL = "conditional"
    COPIED_OBJECT = "copied-object"
    COUNTED = "counted-object"
    DECLARED_TWICE = "declared-twice"
    FREED_ELSEWHERE = "freed-elsewhere"
    GROUP = "cacheline-group"
    INITIALISER = "initialiser"
    IN_MACRO = "in-macro"
    JOINT = "joint-declaration"
    LARGER = "larger-object"
    MARKER = "marker"
    NAME_TAKEN = "name-taken"
    NEEDS_OBJECT = "needs-object"
    NOT_ALONE = "not-alone"
    NOT_C = "not-c"
    NOT_COMPILED = "not-compiled"
    NOT_PARSED = "not-parsed"
    NOT_WRITTEN = "not-written"
    NO_STRUCT = "no-struct"
    NULL_TEST = "null-test"
    OFFSET = "offset"
    OTHER_ORDER = "other-order"
    OTHER_PROGRAM = "other-program"
    PACKED = "packed"
    POINTER_KIND = "pointer-kind"
    POSITIONAL = "positional-initialiser"
    PUBLISHED = "published-pointer"
    SHARED = "shared-object"
    TYPE_ORDER = "type-order"
    TYPE_UNKNOWN = "type-unknown"
    UNKNOWN_ALLOCATION = "unknown-allocation"
    USER_ABI = "user-abi"
    WHOLE_ASSIGNMENT = "whole-assignment"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One place that was not touched.

    ``place`` is ``file:line`` relative to the tree, ``reason`` a clause for the user, ``lift`` what a person can do so
    that the edit becomes possible; empty where nothing can be done.
    """

    code: RefusalCode
    place: str
    reason: str
    lift: str = ""

    def __str__(self) -> str:
        remedy = f"; {self.lift}" if self.lift else ""
        return f"{self.place}: {self.reason}{remedy}"


class DependencyKind(StrEnum):
    """How code depends on the order of a record's members."""

    POSITIONAL = "positional initialiser"
    OFFSETOF = "offsetof"
    OFFSET_RANGE = "range between offsets"
    ASSERTION = "static assertion"
    FIRST_MEMBER_CAST = "cast between the record and its first member"
    CONTAINER_OF_FIRST = "container_of on offset 0"
    PARTIAL_COPY = "copy or clear of a part"
    USER_ABI = "user space interface"
    ASM_OFFSET = "offset for assembly"
    BPF_CORE = "BPF program that relocates its accesses"
    RANDOMIZED = "randomised layout"


class UseKind(StrEnum):
    """What an expression does with a member."""

    READ = "read"
    WRITE = "write"
    UPDATE = "update"
    ADDRESS = "address"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """Bytes ``start`` … ``end`` of ``file``; ``line`` counts from 1."""

    file: str
    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class MemberSource:
    """Where a member's atom stands: comment above, declaration, trailing comment.

    ``macro`` names the macro that declares it; ``others`` are the members of the same declaration or macro.
    """

    name: str
    span: SourceSpan
    macro: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordSource:
    """Where a record is declared, with the atoms of its members in order."""

    record: str
    span: SourceSpan
    members: tuple[MemberSource, ...]


@dataclass(frozen=True, slots=True)
class Dependency:
    """One place that relies on the order of ``members`` (in declaration order) of ``record``.

    ``text`` is the source line, blanks at its ends removed; ``bytes`` the offset or size that is asserted, if any, and
    ``relation`` how it is compared (``==``, ``<=``). Without ``binds`` the compiler works it out anew.
    No ``members`` stand for the record as a whole. ``function`` is the one around the place, empty outside of all.
    """

    kind: DependencyKind
    record: str
    members: tuple[str, ...]
    place: str
    text: str = ""
    bytes: int | None = None
    binds: bool = True
    relation: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class MemberUse:
    """One expression that reaches ``member`` of ``record``; ``function`` is the one around it, empty outside of all."""

    record: str
    member: str
    kind: UseKind
    place: str
    function: str = ""


@dataclass(frozen=True, slots=True)
class SourceScan:
    """All that the units of a build show of one record.

    ``units`` were parsed, ``failed`` are those that could not be, each with the parser's first complaint.
    """

    record: str
    sources: tuple[RecordSource, ...]
    dependencies: tuple[Dependency, ...]
    uses: tuple[MemberUse, ...]
    units: int
    failed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledSize:
    """A record as compiled; ``size`` and ``alignment`` in bytes, ``lines`` of 64 bytes (or what the machine has).

    ``objects`` fit into a slab of ``pages`` pages; both are 0 where objects lie in no slab that is known. Objects start
    at multiples of ``step`` bytes, which a slab cache may have fewer than the alignment; 0 where nothing is known.
    """

    size: int
    alignment: int
    lines: int
    objects: int
    pages: int
    step: int = 0


@dataclass(frozen=True, slots=True)
class CompiledRecord:
    """``record`` before and after the change, ``None`` where it is not there; ``cache`` is the slab cache it is in.

    ``holder`` tells that it embeds the record that is changed.
    """

    record: str
    before: CompiledSize | None
    after: CompiledSize | None
    holder: bool = False
    cache: str = ""


@dataclass(frozen=True, slots=True)
class CompiledUser:
    """An object that includes the change, compiled before and after: ``warnings`` are those that are new.

    ``failed`` is the first error, empty where it compiles; warnings of what fails are not reported.
    """

    unit: str
    warnings: tuple[str, ...] = ()
    failed: str = ""


@dataclass(frozen=True, slots=True)
class ConfigurationCheck:
    """One column of the matrix: ``title`` is what a reader knows the configuration by, ``compiler`` its version line.

    ``records`` begin with the one that is changed; ``residuals`` are the pairs that the change parts. ``failed`` says
    why nothing could be compiled; ``remarks`` what differs from what was asked for. ``users`` were compiled as well.
    ``left_out`` says what of this configuration was not compiled, or cannot be, and why. The ``lines`` of records are
    of ``line_bytes``, which the machine has. ``unjudged`` are the files that the deadline left out.
    """

    title: str
    compiler: str = ""
    records: tuple[CompiledRecord, ...] = ()
    residuals: tuple[Residual, ...] = ()
    users: tuple[CompiledUser, ...] = ()
    failed: str = ""
    remarks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    line_bytes: int = CACHE_LINE_BYTES
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """``file``, relative to the tree, with its bytes before and after a step; ``None`` where there is no file."""

    file: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class SeriesStep:
    """One patch of a series: its ``message`` (subject, empty line, body; no trailers) and the files it changes.

    ``below`` stands below the ``---`` of the mail, for reviewers.
    """

    message: str
    changes: tuple[FileChange, ...]
    below: str = ""


@dataclass(frozen=True, slots=True)
class PatchSeries:
    """Steps in the order in which they apply; the tree builds after each.

    ``refusals`` are places that a person has to look at; ``notes`` are for who runs the command.
    """

    steps: tuple[SeriesStep, ...]
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
