# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers whose records hold a record by value, found by their text: they grow with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from linesmith.patches.masking import without_comments
from linesmith.patches.scan import stamped
from linesmith.patches.scan.stamped import Stamped
from linesmith.patches.versions.paths import read_inside

# Each takes two compiles.
MOST_FILES = 12
SUFFIX = ".held"
_MOST_BYTES = 1 << 20
_FORMAT = 1
_BODY = re.compile(rb"\bstruct\s+(\w+)\s*\{")
_HELD = re.compile(rb"\b(?:struct|union)\s+(\w+)\s+\w")
_DECODER = msgspec.json.Decoder(Stamped[tuple[str, ...]])
# Programs beside a kernel have headers of their own.
_PROGRAMS = ("tools/", "samples/", "scripts/", "Documentation/", "usr/")


def holding(root: Path, titles: Collection[str], known: Collection[str], served: Collection[str]) -> tuple[str, ...]:
    """The headers below ``root`` with a member of one of the types ``titles`` (``struct inode``), without ``known``.

    Those that declare a record of ``served``, which have slab caches of their own, come first.
    """
    if not titles:
        return ()
    pattern = _member(titles)
    found = [(file, text) for file, text in _holding(root, _near(root, titles), pattern) if file not in known]
    own = frozenset(one.encode() for one in served)
    return tuple(file for file, _ in sorted(found, key=lambda one: own.isdisjoint(_BODY.findall(one[1]))))


def _member(titles: Collection[str]) -> re.Pattern[bytes]:
    """A line that declares a member, with its dimensions and attributes."""
    types = b"|".join(rb"\s+".join(re.escape(word) for word in title.encode().split()) for title in sorted(titles))
    return re.compile(
        rb"^[ \t]+(?:volatile\s+)?(?:%s)\s+\w+\s*(?:\[[^]\n]*\]\s*)*(?:_\w[^;\n]*)?;" % types, re.MULTILINE
    )


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
    name, began = stamped.name_of(SUFFIX, _FORMAT, root), stamped.begun()
    kept = stamped.load(_DECODER, name)
    stamps = dict(stamped.stamps(root, (".h",)))
    stale = [file for file, stamp in stamps.items() if not kept.is_current(file, stamp)]
    found = {file: tags for file, tags in kept.found.items() if file in stamps}
    for file in stale:
        found[file] = tuple({one.decode() for one in _HELD.findall(read_inside(root, file, _MOST_BYTES) or b"")})
    if stale or len(stamps) != len(kept.stamps):
        stamped.save(name, Stamped(began, stamps, found))
    return found


def _holding(root: Path, files: Iterator[str], pattern: re.Pattern[bytes]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        text = read_inside(root, file, _MOST_BYTES)
        if text is not None and pattern.search(text) and pattern.search(without_comments(text)):
            yield file, text
