# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to compile a header that cannot stand alone: through units that include it, or behind what most include."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePosixPath

from linesmith.patches.declaration import recorded_file
from linesmith.patches.included import included
from linesmith.patches.kbuild import Build
from linesmith.patches.probe import Probe
from linesmith.patches.source_bytes import source_bytes

_MOST_UNITS = 3
_MOST_FILES = 400
# A kernel has 1,400 in one folder.
_MOST_HEADERS = 4_000
# Between them they include what nearly all units of a kernel do.
_BASIC_HEADERS = ("linux/module.h", "linux/netdevice.h", "linux/pci.h")


def probes(build: Build, file: str, variable: str, recorded: str | None) -> tuple[Probe, ...]:
    """The ways to compile ``file``, the surest first; ``recorded`` is the unit that DWARF names."""
    alone = Probe(file, variable)
    units = including_units(build.sources, file, recorded)
    behind = (replace(alone, known=_BASIC_HEADERS),) if build.is_kernel and file.endswith(".h") else ()
    return (alone, *(replace(alone, through=unit) for unit in units), *behind)


def including_units(tree: Path, file: str, recorded: str | None) -> tuple[str, ...]:
    """Units to try for ``file``, relative to ``tree``: the one DWARF names, then neighbours that include the file.

    Headers beside it come last, for what needs the headers that another one includes before it.
    """
    if file.endswith(".c"):
        return ()
    found: dict[str, None] = {}
    unit = recorded_file(tree, recorded)
    if unit is not None and unit.endswith(".c"):
        found[unit] = None
    found.update(dict.fromkeys(islice(_neighbours(tree, PurePosixPath(file)), _MOST_UNITS)))
    return tuple(islice(found, _MOST_UNITS))


def _neighbours(tree: Path, file: PurePosixPath) -> Iterator[str]:
    for path, text in _mentioning(tree, file, "*.c", _MOST_FILES):
        if (True, file.name) in included(text):
            yield path
    for path, text in _mentioning(tree, file, "*.h", _MOST_HEADERS):
        if any(_names(name, file, in_quotes=in_quotes) for in_quotes, name in included(text)):
            yield path


def _names(name: str, file: PurePosixPath, *, in_quotes: bool) -> bool:
    """Whether a header beside ``file`` means it by ``name``: in angles the end of its path, with a folder at least."""
    named = PurePosixPath(name)
    if in_quotes:
        return name == file.name
    return len(named.parts) > 1 and file.parts[-len(named.parts) :] == named.parts


def _mentioning(tree: Path, file: PurePosixPath, pattern: str, most: int) -> Iterator[tuple[str, bytes]]:
    """Other files of the same folder with the name of ``file`` in their text."""
    name = file.name.encode()
    for path in islice(sorted((tree / file.parent).glob(pattern)), most):
        place = str(file.parent / path.name)
        text = source_bytes(tree, place) if path.name != file.name else None
        if text is not None and name in text:
            yield place, text
