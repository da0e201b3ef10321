# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON form of findings; docs/schema-hot.md documents it and a test keeps the two equal.

Offsets, sizes, starts and phases are in bytes; shares and confidences run from 0 to 1; counts are samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from linesmith.analyzer.attribution.variables import ObjectTotal, object_totals
from linesmith.analyzer.model import (
    ConflictPair,
    ContendedLock,
    ElfIdentity,
    Finding,
    LineCost,
    LineMember,
    LineObject,
    Recording,
    Remark,
    SharedLine,
    Triage,
)
from linesmith.analyzer.report.hot import Chosen
from linesmith.analyzer.sharing.accounts import TypeTotal, accounts, type_totals

SCHEMA_VERSION = 1


class RivalDocument(msgspec.Struct, frozen=True):
    """The next best explanation of a line."""

    type: str
    phase: int
    start: int
    score: float


class ObjectDocument(msgspec.Struct, frozen=True):
    """An object on a line; ``start`` counts from the line's first byte, ``confidence`` is against the runner-up."""

    type: str
    phase: int
    start: int
    outcome: str
    confidence: float
    score: float
    runner_up: RivalDocument | None
    containers: tuple[str, ...]
    reason: str
    origin: str
    variable: str


class FunctionDocument(msgspec.Struct, frozen=True):
    """Samples of one function on one member; ``null`` where the report has no such column."""

    name: str
    contended: int
    stores: int
    records: int | None
    cpus: int | None


class MemberDocument(msgspec.Struct, frozen=True):
    """A member on a line; ``offset`` is the line's, ``object_offset`` the object's (``null``: object not known)."""

    path: str
    offset: int
    object_offset: int | None
    size: int | None
    reads: int
    writes: int
    write_inferred: str
    lock: bool
    functions: tuple[str, ...]
    samples: tuple[FunctionDocument, ...]
    instructions: tuple[str, ...]


class TriageDocument(msgspec.Struct, frozen=True):
    """The diagnosis: ``kind`` is the first of ``kinds``."""

    kind: str
    kinds: tuple[str, ...]
    pairs: tuple[ConflictPair, ...]
    sentence: str
    reasons: tuple[str, ...]


class LineDocument(msgspec.Struct, frozen=True):
    """One cache line; ``outcomes`` counts its accesses and adds up to all of them, and so does ``agreements``.

    That tells whether address and instruction name the same; it is empty for a profile of another build.
    """

    rank: int
    address: str | None
    bytes: int
    share: float
    contended: int
    stores: int
    objects: tuple[ObjectDocument, ...]
    members: tuple[MemberDocument, ...]
    triage: TriageDocument
    outcomes: dict[str, int]
    agreements: dict[str, int]
    cost: LineCost
    samples: dict[str, int]
    lock: ContendedLock | None


class AccountsDocument(msgspec.Struct, frozen=True):
    """Samples of the profile (accesses of a recording) by where they ended; they add up to ``samples``."""

    samples: int
    outcomes: dict[str, int]


class LeftOutDocument(msgspec.Struct, frozen=True):
    """A line that was not looked at: below the hottest, or set ``apart`` with the reason."""

    rank: int
    address: str | None
    contended: int
    apart: str


class HotDocument(msgspec.Struct, frozen=True):
    """What ``linesmith hot --format json`` prints; ``section`` counts the reports of the text from 1."""

    schema: int
    elf: ElfIdentity
    source: str
    title: str
    section: int
    sections: int
    lines: tuple[LineDocument, ...]
    remarks: tuple[Remark, ...]
    recording: Recording | None
    left_out: tuple[LeftOutDocument, ...]
    totals: tuple[ObjectTotal, ...]
    accounts: AccountsDocument
    types: tuple[TypeTotal, ...]


def render_json(found: Sequence[Finding], elf: ElfIdentity, chosen: Chosen) -> str:
    """The findings as one JSON document, indented, with a newline at the end."""
    profile = chosen.profile
    document = HotDocument(
        SCHEMA_VERSION,
        elf,
        profile.source,
        profile.title,
        chosen.section,
        chosen.sections,
        tuple(_line(finding) for finding in found),
        profile.remarks,
        profile.recording,
        tuple(map(_left_out, chosen.left_out)),
        object_totals(profile) if profile.areas else (),
        _accounts(found, chosen),
        type_totals(found),
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(HotDocument)


def _line(finding: Finding) -> LineDocument:
    return LineDocument(
        finding.rank,
        _hexadecimal(finding.address),
        finding.bytes,
        finding.share,
        finding.contended,
        finding.stores,
        tuple(_object(one) for one in finding.objects),
        tuple(_member(member) for member in finding.members),
        _triage(finding.triage),
        {outcome.value: count for outcome, count in finding.outcomes},
        {agreement.value: count for agreement, count in finding.agreements},
        finding.cost,
        {outcome.value: count for outcome, count in finding.samples},
        finding.lock,
    )


def _accounts(found: Sequence[Finding], chosen: Chosen) -> AccountsDocument:
    ended = accounts(chosen.profile, found, chosen.left_out)
    return AccountsDocument(ended.samples, dict(ended.outcomes))


def _left_out(line: SharedLine) -> LeftOutDocument:
    return LeftOutDocument(line.rank, _hexadecimal(line.address), line.contended, line.apart)


def _hexadecimal(address: int | None) -> str | None:
    return None if address is None else f"{address:#x}"


def _object(one: LineObject) -> ObjectDocument:
    rival = one.runner_up
    return ObjectDocument(
        one.type,
        one.phase,
        one.start,
        one.outcome.value,
        one.margin,
        one.score,
        RivalDocument(rival.type, rival.phase, rival.start, rival.score) if rival else None,
        one.containers,
        one.reason,
        one.origin,
        one.variable,
    )


def _member(member: LineMember) -> MemberDocument:
    samples = tuple(
        FunctionDocument(one.name, one.contended, one.stores, one.records, one.cpus) for one in member.functions
    )
    return MemberDocument(
        member.path,
        member.offset,
        member.object_offset,
        member.size,
        member.reads,
        member.writes,
        member.write_inferred,
        member.lock,
        tuple(one.name for one in samples),
        samples,
        member.instructions,
    )


def _triage(triage: Triage) -> TriageDocument:
    kinds = tuple(kind.value for kind in triage.kinds)
    return TriageDocument(kinds[0], kinds, triage.pairs, triage.sentence, triage.reasons)
