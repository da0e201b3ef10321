# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the records of a changed file were declared before: in another file, where one was renamed or separated.

Also the headers whose records hold a changed record by value, found by their text: they grow with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from linesmith.analyzer.model import FileChange
from linesmith.patches.scan import cache
from linesmith.patches.scan.cache import Stamped
from linesmith.patches.source.declaration import declared
from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.records import is_obscure
from linesmith.patches.source.tree import source_bytes

_SOURCES = (".h", ".c")
_WORD = re.compile(rb"\w+")
# Where a comment may stand between the words of a declaration; each byte is read once.
_COMMENT = re.compile(rb"(?:\b(?:struct|union)\b|\})[^;{}/]*+(/[*/])?")
# A name that more files declare, such as that of a member, says little.
_MOST_ORIGINS = 50
# Each takes two compiles.
MOST_FILES = 12


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A file ``new`` of the second version, and the one of the first that declared most of its records.

    ``old`` is empty where no file did.
    """

    old: str
    new: str


def counterparts(changes: Sequence[FileChange]) -> tuple[Counterpart, ...]:
    """The files with records that another file declared before, and new files with records that none did."""
    texts = {change.file: change for change in changes}
    sides = {file: record_names(change) for file, change in texts.items()}
    lost = {file: before - after for file, (before, after) in sides.items() if before - after}
    came = {file: after - before for file, (before, after) in sides.items() if after - before}
    # The files that declare a name no more, by name.
    origins: dict[bytes, list[str]] = {}
    for file, names in lost.items():
        for name in names:
            origins.setdefault(name, []).append(file)
    found = []
    for file, names in came.items():
        shared = Counter(other for name in names for other in origins.get(name, ())[:_MOST_ORIGINS])
        # The file that declared most of them.
        if old := max(shared, key=lambda other: (shared[other], other), default=""):
            found.append(Counterpart(old, file))
        elif texts[file].before is None:
            found.append(Counterpart("", file))
    # New files may hold records which are not found in their text: those of the files whose lost names they mention,
    # else of the file that lost the most.
    for one in changes:
        new = one.before is None and one.after is not None and one.file.endswith(_SOURCES)
        if new and one.file not in came and is_obscure(one.after or b""):
            words = set(_WORD.findall((one.after or b"").replace(b"\\\n", b"")))
            losers = sorted(lost, key=lambda file: (len(lost[file] & words), len(lost[file]), file), reverse=True)
            mentioned = [file for file in losers[:MOST_FILES] if lost[file] & words]
            found += (Counterpart(file, one.file) for file in mentioned or losers[:1] or [""])
    moved = [one for one in found if one.old and _words(texts[one.old].before) != _words(texts[one.new].after)]
    return (*moved, *(one for one in found if not one.old))


def record_names(change: FileChange) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The names of records that a file declares before the change and after it; none where it is no source."""
    if not change.file.endswith(_SOURCES):
        return frozenset(), frozenset()
    return _declared(change.before), _declared(change.after)


def _declared(text: bytes | None) -> frozenset[bytes]:
    """The names of records, whatever comments stand between the words."""
    if text and any(match[1] for match in _COMMENT.finditer(text)):
        return declared(text) | declared(without_comments(text))
    return declared(text)


def _words(text: bytes | None) -> list[bytes]:
    return without_comments(text or b"").split()


SUFFIX = ".held"
_MOST_BYTES = 1 << 20
_FORMAT = 1
_BODY = re.compile(rb"\bstruct\s+(\w+)\s*\{")
_HELD = re.compile(rb"\b(?:struct|union)\s+(\w+)\s+\w")
_DECODER = msgspec.json.Decoder(Stamped[tuple[str, ...]])
# Programs next to a kernel have headers of their own.
_PROGRAMS = ("tools/", "samples/", "scripts/", "Documentation/", "usr/")


def holding(root: Path, titles: Collection[str], known: Collection[str], served: Collection[str]) -> tuple[str, ...]:
    """The headers below ``root`` with a member of one of the types ``titles`` (``struct inode``), without ``known``.

    Those that declare a record of ``served``, which have slab caches of their own, come first.
    """
    if not titles:
        return ()
    types = b"|".join(rb"\s+".join(re.escape(word) for word in title.encode().split()) for title in sorted(titles))
    # A line that declares a member, with its dimensions and attributes.
    member = re.compile(
        rb"^[ \t]+(?:volatile\s+)?(?:%s)\s+\w+\s*(?:\[[^]\n]*\]\s*)*(?:_\w[^;\n]*)?;" % types, re.MULTILINE
    )
    found = []
    for file in _near(root, titles):
        text = source_bytes(root, file, _MOST_BYTES, links=False)
        if text is not None and member.search(text) and member.search(without_comments(text)) and file not in known:
            found.append((file, text))
    own = frozenset(one.encode() for one in served)
    return tuple(file for file, _ in sorted(found, key=lambda one: own.isdisjoint(_BODY.findall(one[1]))))


def _near(root: Path, titles: Collection[str]) -> Iterator[str]:
    """The headers that may have such a member, those below ``include`` first."""
    tags = {title.partition(" ")[2] for title in titles}
    mentions = _mentions(root)
    for file in sorted(mentions, key=lambda one: (not one.startswith("include/"), one)):
        # A typedef has no keyword by which its mentions are known.
        if not file.startswith(_PROGRAMS) and ("" in tags or not tags.isdisjoint(mentions[file])):
            yield file


def _mentions(root: Path) -> dict[str, tuple[str, ...]]:
    """The tags of records that each header names as it does for a member or a variable; kept in the cache."""
    name, began = cache.name_of(SUFFIX, _FORMAT, root), cache.begun()
    kept = cache.load(_DECODER, name)
    stamps = dict(cache.stamps(root, (".h",)))
    stale = [file for file, stamp in stamps.items() if not kept.is_current(file, stamp)]
    found = {file: tags for file, tags in kept.found.items() if file in stamps}
    for file in stale:
        text = source_bytes(root, file, _MOST_BYTES, links=False) or b""
        found[file] = tuple({one.decode() for one in _HELD.findall(text)})
    if stale or len(stamps) != len(kept.stamps):
        cache.save(name, Stamped(began, stamps, found))
    return found
