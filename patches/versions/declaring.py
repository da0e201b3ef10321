# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files have to be compiled to see what a change does to records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from linesmith.analyzer.intent import FILE_NAME
from linesmith.analyzer.model import FileChange
from linesmith.patches.declaration import staged_files
from linesmith.patches.masking import closing, without_comments, without_directives
from linesmith.patches.records import records_named
from linesmith.patches.versions.paths import read_inside
from linesmith.patches.versions.versions import MOST_BYTES, Versions

_SOURCES = (".h", ".c")
# Bounded, so that a text without end marks is not read again from each of its words.
_OPENED = re.compile(rb"\b(?:struct|union)\b[^;{}]{0,1000}\{")
_DEFINES = re.compile(
    rb"#\s*define\s+\w+(?:\\\n|[^\n])*|\benum\b[^;{}]{0,200}\{[^{}]*\}|\btypedef\b[^;{}]{0,1000};|#\s*pragma[^\n]*"
)


def declaring(versions: Versions, intended: Collection[str]) -> tuple[str, ...]:
    """The files that declare a record otherwise than before, or that say how large one is, in their order.

    Where the intents themselves changed, the files of the records ``intended`` follow.
    """
    changed = tuple(change.file for change in versions.changes if _declares(change))
    if FILE_NAME not in versions.after:
        return changed
    found = (_declared(versions.root, name) for name in sorted(intended))
    return tuple(dict.fromkeys((*changed, *filter(None, found))))


def _declares(change: FileChange) -> bool:
    if change.before is None or change.after is None or not change.file.endswith(_SOURCES):
        return False
    before, after = without_comments(change.before), without_comments(change.after)
    if before.split() == after.split():
        return False
    if Counter(record_texts(after)) - Counter(record_texts(before)):
        return True
    return change.file.endswith(".h") and _defined(before) != _defined(after)


def record_texts(code: bytes) -> Iterator[bytes]:
    """Each record with a body, with the attributes in front of it and behind it."""
    plain = without_directives(code)
    for match in _OPENED.finditer(plain):
        end = closing(plain, match.end() - 1)
        if end is not None:
            yield b" ".join(code[match.start() : plain.find(b";", end)].split())


def _defined(code: bytes) -> Counter[bytes]:
    """What a header defines beside records: numbers of elements, types of members."""
    return Counter(b" ".join(one.split()) for one in _DEFINES.findall(code))


def _declared(root: Path, name: str) -> str | None:
    """The first file that declares the record, likely places first."""
    texts = ((file, read_inside(root, file, MOST_BYTES)) for file in staged_files(root))
    return next((file for file, text in texts if text is not None and records_named(text, name)), None)
