# SPDX-License-Identifier: GPL-2.0-or-later
"""The records whose declarations differ between two versions of a file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import FileChange
from linesmith.patches.records import Record, all_records, declaration_end

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
    if not names:
        return ()
    old, new = all_records(change.before), all_records(change.after)
    return tuple(one for name in names if name in old for one in _differing(change, old[name], new.get(name, ())))


def _differing(change: FileChange, old: Sequence[Record], new: Sequence[Record]) -> Iterator[Record]:
    """Those of the ``new`` records that have another body, or other attributes beside it, than each of the ``old``."""
    known = {_digest(change.before or b"", one) for one in old}
    yield from (one for one in new if _digest(change.after or b"", one) not in known)


def _digest(source: bytes, record: Record) -> bytes:
    """What stands for the declaration with the attributes behind its body; the text itself may hold many others."""
    whole = memoryview(source)[record.start : declaration_end(source, record.closing)]
    return hashlib.blake2b(whole, digest_size=16).digest()
