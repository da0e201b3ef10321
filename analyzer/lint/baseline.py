# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of violations that are known and accepted, so that only new ones count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from linesmith.analyzer.errors import BaselineError
from linesmith.analyzer.model import Violation

VERSION = 1
MOST_BYTES = 1 << 24

Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is accepted, with the reason that somebody wrote there (often none); ``name`` is that of the file."""

    name: str = ""
    reasons: Mapping[Key, str] = field(default_factory=dict)


NO_BASELINE = Baseline()


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    rule: str
    type: str
    member: str = ""
    subject: str = ""
    reason: str = ""


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    linesmith_baseline: int
    accepted: tuple[_Entry, ...]


def read_baseline(content: bytes, name: str) -> Baseline:
    """What the JSON in ``content`` accepts; ``name`` is what errors call it. Raises ``BaselineError``."""
    if len(content) > MOST_BYTES:
        raise BaselineError(f"{name} is larger than {MOST_BYTES >> 20} MiB, too large for a baseline; write it anew")
    try:
        document = msgspec.json.decode(content, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"{name} is no baseline: {error}; write one with --write-baseline") from None
    if document.linesmith_baseline != VERSION:
        said = f"{name} is a baseline of version {document.linesmith_baseline}, and {VERSION} is what can be read"
        raise BaselineError(f"{said}; write it anew with --write-baseline")
    return Baseline(name, {(one.rule, one.type, one.member, one.subject): one.reason for one in document.accepted})


def written_baseline(violations: Iterable[Violation], known: Baseline) -> str:
    """A baseline that accepts these violations, sorted, one a line; the reasons of ``known`` stay."""
    entries = (_entry(key, known.reasons.get(key, "")) for key in sorted({one.key for one in violations}))
    lines = ",\n".join(f"    {msgspec.json.encode(entry).decode()}" for entry in entries)
    accepted = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "linesmith_baseline": {VERSION},\n  "accepted": {accepted}\n}}\n'


def _entry(key: Key, reason: str) -> _Entry:
    rule, type_, member, subject = key
    return _Entry(rule, type_, member, subject, reason)
