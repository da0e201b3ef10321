# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON form of findings (docs/json.md).

Offsets, sizes, starts and phases are in bytes; shares and confidences run from 0 to 1; counts are samples.
"""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.attribution.variables import object_totals
from linesmith.analyzer.model import ElfIdentity, Finding, LineMember, LineObject
from linesmith.analyzer.report.hot import ProfileSection
from linesmith.analyzer.report.json_text import Json, fields_of, hexadecimal, json_text
from linesmith.analyzer.sharing.accounts import accounts, type_totals

SCHEMA_VERSION = 1


def render_json(found: Sequence[Finding], elf: ElfIdentity, shown: ProfileSection) -> str:
    """The findings as one JSON document, indented, with a newline at the end.

    ``left_out`` are lines that were not looked at: below the hottest, or set ``apart`` with the reason. The outcomes of
    the ``accounts`` add up to all samples (accesses of a recording).
    """
    profile = shown.profile
    ended = accounts(profile, found, shown.left_out)
    left_out = [
        {"rank": one.rank, "address": hexadecimal(one.address), "contended": one.contended, "apart": one.apart}
        for one in shown.left_out
    ]
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "elf": elf,
            **fields_of(profile, "source", "title"),
            **fields_of(shown, "section", "sections"),
            "lines": [_line(finding) for finding in found],
            **fields_of(profile, "remarks", "recording"),
            "left_out": left_out,
            "totals": object_totals(profile) if profile.areas else (),
            "accounts": {"samples": ended.samples, "outcomes": dict(ended.outcomes)},
            "types": type_totals(found),
        }
    )


def _line(finding: Finding) -> Json:
    """One cache line; ``outcomes`` counts its accesses and adds up to all of them, and so does ``agreements``.

    These tell whether address and instruction name the same; they are empty for a profile of another build.
    """
    triage = finding.triage
    return {
        "rank": finding.rank,
        "address": hexadecimal(finding.address),
        **fields_of(finding, "bytes", "share", "contended", "stores"),
        "objects": [_object(one) for one in finding.objects],
        "members": [_member(one) for one in finding.members],
        "triage": {"kind": triage.kinds[0], **fields_of(triage, "kinds", "pairs", "sentence", "reasons")},
        "outcomes": dict(finding.outcomes),
        "agreements": dict(finding.agreements),
        "cost": finding.cost,
        "samples": dict(finding.samples),
        "lock": finding.lock,
    }


def _object(one: LineObject) -> Json:
    """An object; ``start`` counts from the line's first byte, ``confidence`` is against the runner-up."""
    rival = one.runner_up
    return {
        **fields_of(one, "type", "phase", "start", "outcome"),
        "confidence": one.margin,
        "score": one.score,
        "runner_up": fields_of(rival, "type", "phase", "start", "score") if rival else None,
        **fields_of(one, "containers", "reason", "origin", "variable"),
    }


def _member(member: LineMember) -> Json:
    """A member; ``offset`` is the line's, ``object_offset`` the object's; counts that no column has are ``None``."""
    samples = [fields_of(one, "name", "contended", "stores", "records", "cpus") for one in member.functions]
    return {
        **fields_of(member, "path", "offset", "object_offset", "size", "reads", "writes", "write_inferred", "lock"),
        "functions": [one.name for one in member.functions],
        "samples": samples,
        "instructions": member.instructions,
    }
