# SPDX-License-Identifier: GPL-2.0-or-later
"""What is hot in a profile as JSON (docs/json.md).

Offsets, sizes, starts and phases are in bytes; shares and confidences run from 0 to 1; counts are samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linesmith.analyzer.attribution.variables import lines_apart
from linesmith.analyzer.model import ElfIdentity, Finding, LineMember, LineObject
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.report.prose import Json, fields_of, hexadecimal, json_text
from linesmith.analyzer.report.record_words import what_to_do
from linesmith.analyzer.sharing.findings import accounts
from linesmith.analyzer.sharing.records import RecordContention

# Of a record.
MOST_PAIRS = 12
SCHEMA_VERSION = 3


def render_json(
    records: Sequence[RecordContention], found: Sequence[Finding], elf: ElfIdentity, shown: ProfileSection
) -> str:
    """The findings as one JSON document, indented, with a newline at the end.

    ``left_out`` are lines that were not looked at: below the hottest, or set ``apart`` with the owner. The outcomes of
    the ``accounts`` add up to all samples (accesses of a recording).
    """
    profile = shown.profile
    ended, apart = accounts(profile, found, shown.left_out), lines_apart(profile)
    left_out = [
        {
            **fields_of(one, "rank", "contended"),
            "address": hexadecimal(one.address),
            "apart": "" if one.address is None else apart.get(one.address, ""),
        }
        for one in shown.left_out
    ]
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "elf": elf,
            **fields_of(profile, "source", "title"),
            **fields_of(shown, "section", "sections"),
            "lines": [_line_json(finding) for finding in found],
            **fields_of(profile, "remarks", "recording"),
            "left_out": left_out,
            "accounts": {"samples": ended.samples, "outcomes": dict(ended.outcomes)},
            "records": [_record_json(one) for one in records],
        }
    )


def _record_json(one: RecordContention) -> Json:
    """A row of the table; ``explained`` are the ranks of its lines that are in ``lines``."""
    known = one.suggested
    what = known and ", or: ".join(filter(None, (known.layout, known.structure)))
    return {
        **fields_of(one, "name", "apart", "places", "lines", "contended", "share", "removable", "kinds"),
        "pairs": one.pairs[:MOST_PAIRS],
        "advice": what_to_do(replace(one, suggested=None)),
        "suggested": known and {"what": what, "saves": known.saves},
        **fields_of(one, "movable"),
        "explained": [finding.rank for finding in one.findings],
    }


def _line_json(finding: Finding) -> Json:
    """One cache line; ``outcomes`` counts its accesses and adds up to all of them, and so does ``agreements``.

    These tell whether address and instruction name the same; they are empty for a profile of another build.
    """
    triage = finding.triage
    return {
        "rank": finding.rank,
        "address": hexadecimal(finding.address),
        **fields_of(finding, "bytes", "share", "contended", "stores"),
        "objects": [_object_json(one, finding) for one in finding.objects],
        "members": [_member_json(one) for one in finding.members],
        "triage": {"kind": triage.kinds[0], **fields_of(triage, "kinds", "pairs", "sentence", "reasons")},
        "outcomes": dict(finding.outcomes),
        "agreements": dict(finding.agreements),
        "cost": finding.cost,
        "samples": dict(finding.samples),
        "lock": finding.lock,
    }


def _object_json(one: LineObject, finding: Finding) -> Json:
    """An object; ``start`` counts from the line's first byte, ``confidence`` is against the runner-up.

    ``layout`` is ``other`` where the report is of a build that lays the type out otherwise, or may do so; then
    ``places`` has, by the offset in the line, that in the type as the ELF file lays it out, as far as it is sure.
    """
    rival = one.runner_up
    own = (member for member in finding.members if member.begin == one.start and not member.doubted)
    places = {hex(member.offset): member.object_offset for member in own}
    return {
        **fields_of(one, "type", "phase", "start", "outcome"),
        "confidence": one.margin,
        "score": one.score,
        "runner_up": fields_of(rival, "type", "phase", "start", "score") if rival else None,
        **fields_of(one, "containers", "reason", "origin", "variable"),
        "layout": "other" if one.ways else "this",
        "places": places if one.ways else {},
    }


def _member_json(member: LineMember) -> Json:
    """A member; ``offset`` is the line's, ``object_offset`` the object's; counts that no column has are ``None``."""
    samples = [fields_of(one, "name", "contended", "stores", "records", "cpus", "source") for one in member.functions]
    return {
        **fields_of(member, "path", "offset", "object_offset", "size", "reads", "writes", "write_inferred", "lock"),
        "doubted": member.doubted,
        "functions": [one.name for one in member.functions],
        "samples": samples,
        "instructions": member.instructions,
        "callers": [fields_of(one, "functions", "count") for one in member.callers],
    }
