# SPDX-License-Identifier: GPL-2.0-or-later
"""The records whose declarations differ between two versions of a file."""

from __future__ import annotations

import re

from linesmith.analyzer.model import FileChange
from linesmith.patches.records import Record, records_named

# Possessive, so that a long row of underscores is read in one way only; an attribute has a name or another behind it.
_BEFORE = rb"(?:__\w++\s*+(?:\([^;{}]{0,200}\)\s*+)?(?=\w))*+"
_BEHIND = rb"\s*+(?:__\w[^;{}]{0,200}+)?+"
_NAME = re.compile(
    rb"\b(?:struct|union)\s++" + _BEFORE + rb"(\w++)" + _BEHIND + rb"\{|\}\s*+" + _BEFORE + rb"(\w++)" + _BEHIND + rb";"
)


def declared(text: bytes | None) -> frozenset[bytes]:
    """Names that a text may give to records with a body; with comments in it, for they only invite another look."""
    return frozenset(tag or typedef for tag, typedef in _NAME.findall(text or b""))


def redeclared(change: FileChange) -> tuple[Record, ...]:
    """Records of the changed file, as it is then, that the file declared otherwise before."""
    if change.before is None or change.after is None:
        return ()
    names = dict.fromkeys((tag or typedef).decode() for tag, typedef in _NAME.findall(change.after))
    return tuple(one for name in names for one in records_named(change.after, name) if _differs(one, change))


def _differs(record: Record, change: FileChange) -> bool:
    """Whether the file had the record, and only with another body or other attributes beside it."""
    before, after = change.before or b"", change.after or b""
    texts = [_text(before, one) for one in records_named(before, record.name)]
    return bool(texts) and _text(after, record) not in texts


def _text(source: bytes, record: Record) -> bytes:
    """The declaration, with the attributes behind its body."""
    return source[record.start : source.find(b";", record.closing)]
