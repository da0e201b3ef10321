# SPDX-License-Identifier: GPL-2.0-or-later
"""The records whose declarations differ between two versions of a file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import FileChange
from linesmith.patches.masking import without_comments
from linesmith.patches.records import PARENTHESIS, Record, all_records, declaration_end, heads

# Possessive, so that a long row of underscores is read in one way only; an attribute has a name or another behind it.
# What follows a name is read to the brace, a semicolon or the next record, and so once.
_BEFORE = rb"(?:__\w++\s*+(?:" + PARENTHESIS + rb"\s*+)?(?=\w))*+"
_BEHIND = rb"\s*+(?:__\w(?:[^;{}su]|(?!\b(?:struct|union)\b)[su])*+)?+"
_NAME = re.compile(
    rb"\b(?:struct|union)\s++%(before)b(\w++)%(behind)b(\{)?|\}\s*+%(before)b(\w++)%(behind)b(;)?"
    % {b"before": _BEFORE, b"behind": _BEHIND}
)


def declared(text: bytes | None) -> frozenset[bytes]:
    """Names that a text may give to records with a body; with comments in it, for they only invite another look."""
    found = _NAME.findall(text or b"")
    return frozenset(tag or typedef for tag, opened, typedef, ended in found if opened or ended)


def redeclared(change: FileChange) -> tuple[Record, ...]:
    """Records of the changed file, as it is then, that the file declared otherwise before.

    So may those be, as they were then, that are not found any more, though a word in front of a body names them.
    """
    if change.before is None or change.after is None:
        return ()
    old, new = all_records(change.before), all_records(change.after)
    found = [one for name in new if name in old for one in _differing(change, old[name], new[name])]
    left = frozenset(name for name in old if old[name] and not new.get(name))
    words = frozenset(word for some in heads(change.after) for word in some) if left else frozenset()
    return tuple(sorted((*found, *(old[name][0] for name in left & words)), key=lambda one: (one.line, one.name)))


def _differing(change: FileChange, old: Sequence[Record], new: Sequence[Record]) -> Iterator[Record]:
    """Those of the ``new`` records that have another body, or other attributes beside it, than each of the ``old``."""
    known = {_digest(change.before or b"", one) for one in old}
    yield from (one for one in new if _digest(change.after or b"", one) not in known)


def _digest(source: bytes, record: Record) -> bytes:
    """What stands for the declaration with the attributes behind its body; the text itself may hold many others."""
    end = declaration_end(without_comments(source), record.closing)
    whole = memoryview(source)[record.start : end]
    return hashlib.blake2b(whole, digest_size=16).digest()
