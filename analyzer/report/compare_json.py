# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON form of two profiles compared; docs/schema-compare.md documents it and a test keeps the two equal."""

from __future__ import annotations

from math import isinf

import msgspec

from linesmith.analyzer.model import Change, ElfIdentity, Exposure, LineChange, MemberChange, ProfileChange
from linesmith.analyzer.report.chosen import Chosen

SCHEMA_VERSION = 1


class ChangeDocument(msgspec.Struct, frozen=True):
    """Contended accesses before and after, and the limits of the ratio of their rates (``null``: no upper limit)."""

    before: int
    after: int
    ratio_least: float
    ratio_most: float | None
    fate: str


class MemberDocument(msgspec.Struct, frozen=True):
    """A member, or a function where no object is known."""

    type: str
    member: str
    change: ChangeDocument
    functions: tuple[str, ...]
    gone: tuple[str, ...]
    come: tuple[str, ...]
    elsewhere: tuple[int, ...]


class LineDocument(msgspec.Struct, frozen=True):
    """Matched lines of both profiles."""

    type: str
    start_before: int | None
    start_after: int | None
    before_ranks: tuple[int, ...]
    after_ranks: tuple[int, ...]
    matched_by: str
    change: ChangeDocument
    members: tuple[MemberDocument, ...]


class SideDocument(msgspec.Struct, frozen=True):
    """A profile that was compared, and the ELF file that its lines were explained by."""

    elf: ElfIdentity
    source: str
    title: str
    section: int
    sections: int


class CompareDocument(msgspec.Struct, frozen=True):
    """What ``linesmith compare --format json`` prints."""

    schema: int
    before: SideDocument
    after: SideDocument
    exposure: Exposure
    total: ChangeDocument
    lines: tuple[LineDocument, ...]
    members: tuple[MemberDocument, ...]
    cautions: tuple[str, ...]


def render_json(found: ProfileChange, before: tuple[ElfIdentity, Chosen], after: tuple[ElfIdentity, Chosen]) -> str:
    """The comparison as one JSON document, indented, with a newline at the end."""
    document = CompareDocument(
        SCHEMA_VERSION,
        _side(*before),
        _side(*after),
        found.exposure,
        _change(found.total),
        tuple(map(_line, found.lines)),
        tuple(map(_member, found.members)),
        found.cautions,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(CompareDocument)


def _side(elf: ElfIdentity, chosen: Chosen) -> SideDocument:
    return SideDocument(elf, chosen.profile.source, chosen.profile.title, chosen.section, chosen.sections)


def _change(one: Change) -> ChangeDocument:
    most = None if isinf(one.ratio.most) else one.ratio.most
    return ChangeDocument(one.before, one.after, one.ratio.least, most, one.fate.value)


def _line(one: LineChange) -> LineDocument:
    return LineDocument(
        one.type,
        one.start_before,
        one.start_after,
        one.before_ranks,
        one.after_ranks,
        one.matched_by,
        _change(one.change),
        tuple(map(_member, one.members)),
    )


def _member(one: MemberChange) -> MemberDocument:
    return MemberDocument(one.type, one.member, _change(one.change), one.functions, one.gone, one.come, one.elsewhere)
