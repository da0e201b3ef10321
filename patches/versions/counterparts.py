# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the records of a changed file were declared before: in another file, where one was renamed or parted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import FileChange
from linesmith.patches.masking import without_comments
from linesmith.patches.records import is_obscure
from linesmith.patches.redeclared import declared

_SOURCES = (".h", ".c")
# Where a comment may stand between the words of a declaration; each byte is read once.
_COMMENT = re.compile(rb"(?:\b(?:struct|union)\b|\})[^;{}/]*+(/[*/])?")
# A name that more files declare, such as that of a member, says little.
_MOST_ORIGINS = 50


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A file ``new`` of the second version, and the one of the first that declared most of its records.

    ``old`` is empty where no file did.
    """

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Names:
    """What each file declares that it did not before, and what it declares no more, by file."""

    came: Mapping[str, frozenset[bytes]]
    gone: Mapping[str, frozenset[bytes]]


def counterparts(changes: Sequence[FileChange]) -> tuple[Counterpart, ...]:
    """The files with records that another file declared before, and new files with records that none did."""
    names = names_of(changes)
    origins = _by_name(names.gone)
    texts = {change.file: change for change in changes}
    found = []
    for file, came in names.came.items():
        old = _origin(came, origins)
        if old:
            found.append(Counterpart(old, file))
        elif texts[file].before is None:
            found.append(Counterpart("", file))
    found += [Counterpart(_loser(names.gone), file) for file in _obscure(changes) if file not in names.came]
    moved = [one for one in found if one.old and _words(texts[one.old].before) != _words(texts[one.new].after)]
    return (*moved, *(one for one in found if not one.old))


def names_of(changes: Sequence[FileChange]) -> Names:
    """What the changes do to the names of records."""
    sources = [change for change in changes if change.file.endswith(_SOURCES)]
    sides = {one.file: (_declared(one.before), _declared(one.after)) for one in sources}
    came = {file: after - before for file, (before, after) in sides.items() if after - before}
    gone = {file: before - after for file, (before, after) in sides.items() if before - after}
    return Names(came, gone)


def _declared(text: bytes | None) -> frozenset[bytes]:
    """The names of records, whatever comments stand between the words."""
    if text and any(match[1] for match in _COMMENT.finditer(text)):
        return declared(text) | declared(without_comments(text))
    return declared(text)


def _obscure(changes: Sequence[FileChange]) -> Iterator[str]:
    """New files that may hold records which are not found in their text."""
    for one in changes:
        if one.before is None and one.after is not None and one.file.endswith(_SOURCES) and is_obscure(one.after):
            yield one.file


def _loser(gone: Mapping[str, frozenset[bytes]]) -> str:
    """The file that declares the most records no more."""
    return max(gone, key=lambda file: (len(gone[file]), file), default="")


def _origin(came: frozenset[bytes], origins: Mapping[bytes, Sequence[str]]) -> str:
    """The file that declared most of them."""
    shared = Counter(file for name in came for file in origins.get(name, ()))
    return max(shared, key=lambda file: (shared[file], file), default="")


def _by_name(gone: Mapping[str, frozenset[bytes]]) -> Mapping[bytes, Sequence[str]]:
    """The files that declare a name no more, by name."""
    found: dict[bytes, list[str]] = {}
    for file, names in gone.items():
        for name in names:
            found.setdefault(name, []).append(file)
    return {name: files[:_MOST_ORIGINS] for name, files in found.items()}


def _words(text: bytes | None) -> list[bytes]:
    return without_comments(text or b"").split()
