# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers whose records hold a record by value, found by their text: they grow with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from linesmith.patches.declaration import staged_files
from linesmith.patches.masking import without_comments
from linesmith.patches.versions.paths import read_inside

# Each takes two compiles.
MOST_FILES = 4
_MOST_BYTES = 1 << 20
_BODY = re.compile(rb"\bstruct\s+(\w+)\s*\{")
# Programs beside a kernel have headers of their own.
_PROGRAMS = ("tools/", "samples/", "scripts/", "Documentation/", "usr/")


def holding(root: Path, titles: Collection[str], known: Collection[str], served: Collection[str]) -> tuple[str, ...]:
    """The headers below ``root`` with a member of one of the types ``titles`` (``struct inode``), without ``known``.

    Those that declare a record of ``served``, which have slab caches of their own, come first.
    """
    if not titles:
        return ()
    pattern = _member(titles)
    files = (file for file in staged_files(root) if file.endswith(".h") and not file.startswith(_PROGRAMS))
    found = [(file, text) for file, text in _holding(root, files, pattern) if file not in known]
    own = frozenset(one.encode() for one in served)
    return tuple(file for file, _ in sorted(found, key=lambda one: own.isdisjoint(_BODY.findall(one[1]))))


def _member(titles: Collection[str]) -> re.Pattern[bytes]:
    """A line that declares a member, with its dimensions and attributes."""
    types = b"|".join(rb"\s+".join(re.escape(word) for word in title.encode().split()) for title in sorted(titles))
    return re.compile(
        rb"^[ \t]+(?:volatile\s+)?(?:%s)\s+\w+\s*(?:\[[^]\n]*\]\s*)*(?:_\w[^;\n]*)?;" % types, re.MULTILINE
    )


def _holding(root: Path, files: Iterator[str], pattern: re.Pattern[bytes]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        text = read_inside(root, file, _MOST_BYTES)
        if text is not None and pattern.search(text) and pattern.search(without_comments(text)):
            yield file, text
