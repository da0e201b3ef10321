# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files have to be compiled to see what a change does to records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.intent import FILE_NAME
from linesmith.analyzer.model import FileChange
from linesmith.patches.declaration import staged_files
from linesmith.patches.masking import closings, within, without_comments, without_directives
from linesmith.patches.records import MOST_PARENTHESES, declaration_end, is_obscure, is_spelt_otherwise, records_named
from linesmith.patches.redeclared import declared
from linesmith.patches.versions.paths import read_inside
from linesmith.patches.versions.versions import MOST_BYTES, Versions

# So few names are looked for faster than a text is cut into words.
_FEW_NAMES = 32
_SOURCES = (".h", ".c")
# Each goes as far as it can or is bounded, so that a text without end marks is not read again from each of its words.
_OPENED = re.compile(rb"\b(?:struct|union)\b[^;{}]*+(?P<brace>\{)?")
_DEFINES = re.compile(
    rb"#\s*+define\s++\w++(?:[^\\\n]|\\\n|\\)*+|\benum\b[^;{}]*+(?:\{[^{}]*+\})?+"
    rb"|\btypedef\b(?:[^;{}t]|t(?!ypedef\b))*+|#\s*+pragma[^\n]*+"
)
# Records within so many others are judged as parts of these.
_MOST_LEVELS = 8


def declaring(versions: Versions, intended: Collection[str]) -> tuple[str, ...]:
    """The files that declare a record otherwise than before, or that say how large one is, in their order.

    Where the intents themselves changed, the files of the records ``intended`` follow.
    """
    changed = tuple(change.file for change in versions.changes if _declares(change))
    if FILE_NAME not in versions.after:
        return changed
    found = _files_of(versions.root, intended)
    return tuple(dict.fromkeys((*changed, *(found[name] for name in sorted(found)))))


def _declares(change: FileChange) -> bool:
    if change.before is None or change.after is None or not change.file.endswith(_SOURCES):
        return False
    before, after = without_comments(change.before), without_comments(change.after)
    if before.split() == after.split():
        return False
    old, new = _read(before), _read(after)
    if new.texts - old.texts or (change.file.endswith(".h") and _defined(before) != _defined(after)):
        return True
    return new.is_doubtful and is_obscure(change.after)


@dataclass(frozen=True, slots=True)
class _Read:
    """The texts of the records of a file; where it ``is_doubtful``, there may be more than these."""

    texts: Counter[bytes]
    is_doubtful: bool


def _read(code: bytes) -> _Read:
    plain = without_directives(code)
    starts = {match.end() - 1: match.start() for match in _OPENED.finditer(plain) if match["brace"]}
    ends = closings(plain, starts)
    texts = (
        b" ".join(code[starts[opening] : declaration_end(plain, end)].split())
        for opening, end in within(ends.items(), _MOST_LEVELS)
    )
    deep = any(code.count(b"(", start, opening) > MOST_PARENTHESES for opening, start in starts.items())
    return _Read(Counter(texts), deep or len(ends) < len(starts) or is_spelt_otherwise(plain))


def record_texts(code: bytes) -> Iterator[bytes]:
    """Each record with a body, with the attributes in front of it and behind it."""
    return iter(_read(code).texts)


def _defined(code: bytes) -> Counter[bytes]:
    """What a header defines beside records: numbers of elements, types of members."""
    found = (one for one in _DEFINES.findall(code) if not one.startswith(b"enum") or b"{" in one)
    return Counter(b" ".join(one.split()) for one in found)


def _files_of(root: Path, names: Collection[str]) -> dict[str, str]:
    """The first file that declares each record, likely places first; the tree is read once for all of them."""
    left = {name.encode() for name in names}
    found: dict[str, str] = {}
    for file in staged_files(root) if left else ():
        text = read_inside(root, file, MOST_BYTES) or b""
        if len(left) <= _FEW_NAMES and not any(name in text for name in left):
            continue
        for name in left & declared(text):
            if records_named(text, name.decode()):
                found[name.decode()] = file
        left.difference_update(name.encode() for name in found)
        if not left:
            break
    return found
