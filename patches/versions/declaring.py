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
from linesmith.patches.masking import without_comments
from linesmith.patches.records import records_named
from linesmith.patches.redeclared import redeclared
from linesmith.patches.versions.paths import read_inside
from linesmith.patches.versions.versions import MOST_BYTES, Versions

_SOURCES = (".h", ".c")
_DEFINES = re.compile(rb"#\s*define\s+\w+(?:\\\n|[^\n])*|\benum\b[^;{}]*\{[^{}]*\}|\btypedef\b[^;{}]*;")


@dataclass(frozen=True, slots=True)
class Declaring:
    """A file to compile, and the record that must be in it, as C names it; empty where any will do."""

    file: str
    title: str = ""


def declaring(versions: Versions, intended: Collection[str]) -> tuple[Declaring, ...]:
    """The files that declare a record otherwise than before, or that say how large one is, in their order.

    Where the intents themselves changed, the files of the records ``intended`` follow.
    """
    changed = tuple(one for change in versions.changes for one in _changed(change))
    if FILE_NAME not in versions.after:
        return changed
    seen = {one.file for one in changed}
    found = (_declared(versions.root, name) for name in sorted(intended))
    return (*changed, *dict.fromkeys(one for one in found if one and one.file not in seen))


def _changed(change: FileChange) -> Iterator[Declaring]:
    if change.before is None or change.after is None or not change.file.endswith(_SOURCES):
        return
    before, after = (b" ".join(without_comments(source).split()) for source in (change.before, change.after))
    if before == after:
        return
    records = redeclared(change)
    if records:
        yield Declaring(change.file, records[0].title)
    elif change.file.endswith(".h") and _defined(change.before) != _defined(change.after):
        yield Declaring(change.file)


def _defined(source: bytes) -> Counter[bytes]:
    """What a header defines beside records: numbers of elements, types of members."""
    return Counter(b" ".join(one.split()) for one in _DEFINES.findall(without_comments(source)))


def _declared(root: Path, name: str) -> Declaring | None:
    """The first file that declares the record, likely places first."""
    for file in staged_files(root):
        records = records_named(read_inside(root, file, MOST_BYTES) or b"", name)
        if records:
            return Declaring(file, records[0].title)
    return None
