# SPDX-License-Identifier: GPL-2.0-or-later
"""Compile units through which a header that cannot stand alone can be compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

from linesmith.patches.declaration import recorded_file

_MOST_UNITS = 3
_MOST_FILES = 400


def including_units(tree: Path, file: str, recorded: str | None) -> tuple[str, ...]:
    """Units to try for ``file``, relative to ``tree``: the one DWARF names, then neighbours that include the file."""
    if file.endswith(".c"):
        return ()
    found: dict[str, None] = {}
    unit = recorded_file(tree, recorded)
    if unit is not None and unit.endswith(".c"):
        found[unit] = None
    found.update(dict.fromkeys(islice(_neighbours(tree, PurePosixPath(file)), _MOST_UNITS)))
    return tuple(islice(found, _MOST_UNITS))


def _neighbours(tree: Path, file: PurePosixPath) -> Iterator[str]:
    pattern = re.compile(rb'^\s*#\s*include\s*"' + re.escape(file.name.encode()) + rb'"', re.MULTILINE)
    folder = tree / file.parent
    for path in islice(sorted(folder.glob("*.c")), _MOST_FILES):
        try:
            if path.is_file() and pattern.search(path.read_bytes()):
                yield str(file.parent / path.name)
        except OSError:
            continue
