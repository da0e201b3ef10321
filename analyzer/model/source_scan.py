# SPDX-License-Identifier: GPL-2.0-or-later
"""What compiling a source shows of a record beside its layout: where it stands, who depends on its order, who uses it.

Places are files and lines of the source tree. A record is named as in its tag or typedef (``address_space``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
