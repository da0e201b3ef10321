# SPDX-License-Identifier: GPL-2.0-or-later
"""The compilations that Kbuild recorded beside the objects of a kernel build.

Source: scripts/Kbuild.include and scripts/basic/fixdep.c: ``.NAME.o.cmd`` holds ``cmd_TARGET :=`` (``savedcmd_TARGET
:=`` since 6.4), ``source_TARGET :=`` and ``deps_TARGET :=``, a path on each line of the latter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from linesmith.patches.scan.unit import Unit
from linesmith.patches.source_bytes import source_bytes

_COMMAND = re.compile(rb"(?:saved)?cmd_\S+ *:= *(.*)")
_SOURCE = re.compile(rb"^source_\S+ *:= *(\S+\.c)$", re.MULTILINE)
_DEPENDENCY = re.compile(rb"^  ([^\s$][^\n]*?) \\$", re.MULTILINE)
# Units for assembly (asm-offsets.c, bounds.c) are compiled to .s.
_SUFFIXES = (".o.cmd", ".s.cmd")
_MOST_BYTES = 8 << 20


class _Absolute(dict[bytes, str]):
    """Recorded paths as absolute ones, each worked out once."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.directory = directory

    def __missing__(self, path: bytes) -> str:
        absolute = self[path] = os.path.normpath(self.directory / os.fsdecode(path))
        return absolute


def kbuild_units(build: Path) -> Iterator[Unit]:
    """Every C unit that was compiled in ``build``, in the order of its folders; records that cannot be read fall away.

    A build that was moved has records of files that are not there.
    """
    directory = build.resolve()
    absolute = _Absolute(directory)
    for path in _records(directory):
        unit = _unit(path, directory, absolute)
        if unit is not None:
            yield unit


def _records(directory: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith(".git"))
        yield from (Path(place, name) for name in sorted(names) if name.startswith(".") and name.endswith(_SUFFIXES))


def _unit(path: Path, directory: Path, absolute: _Absolute) -> Unit | None:
    text = (source_bytes(directory, path.relative_to(directory)) or b"")[:_MOST_BYTES]
    command, source = _COMMAND.match(text), _SOURCE.search(text)
    if command is None or source is None:
        return None
    includes = frozenset(map(absolute.__getitem__, _DEPENDENCY.findall(text, source.end())))
    return Unit(absolute[source[1]], directory, os.fsdecode(command[1]), path, includes)
