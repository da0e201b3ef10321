# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a file, as it is or edited, with a tree's own flags and reads back what the compiler made of a record.

The edited file lies in an overlay directory that comes first in every search for an include file; nothing is
written to the tree.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from linesmith.analyzer.dwarf import read_unindexed
from linesmith.analyzer.errors import LinesmithError, VerificationFailed
from linesmith.analyzer.layouts import LayoutTable
from linesmith.patches.child import Command, run
from linesmith.patches.kbuild import Build

COMPILE_SECONDS = 300
PROBE_NAME = "linesmith-probe.c"
_ERROR = re.compile(r"^\S*?(?P<place>[^\s/:]+:\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$")
_MOST_OF_A_LINE = 1000
_INCLUDED = (".h", ".c", ".inc", ".def", ".hh")
_BEFORE_OUTPUT = ("-g", "-fno-eliminate-unused-debug-types", "-c", "-o")


@dataclass(frozen=True, slots=True)
class Probe:
    """What to compile: ``file`` (relative to the tree) in a unit of its own, or through the unit ``through``.

    ``variable`` declares an object of the record: ``struct inode``.
    """

    file: str
    variable: str
    through: str | None = None

    @property
    def unit(self) -> str:
        """The file of the tree that the probe unit includes."""
        return self.through or self.file


@dataclass(frozen=True, slots=True)
class Compiled:
    """The records of a probe unit, and the command that compiled it."""

    layouts: LayoutTable
    command: Command


def compiled(build: Build, probe: Probe, source: bytes) -> Compiled:
    """The records of ``probe.file`` with the content ``source``.

    Raises ``VerificationFailed`` with the compiler's first error, ``ToolMissing`` without the compiler.
    """
    with tempfile.TemporaryDirectory(prefix="linesmith-") as made:
        overlay = Path(made).resolve()
        unit = _lay_out(overlay, build, probe, source)
        output = overlay / "probe.o"
        command = Command(_argv(build, probe, overlay, unit, output), build.flags.directory, COMPILE_SECONDS)
        ended = run(command)
        if ended.status:
            raise VerificationFailed(_complaint(probe, ended.output))
        try:
            return Compiled(read_unindexed(output), command)
        except LinesmithError as error:
            message = f"what {build.flags.compiler} made of {probe.file} cannot be read back: {error}"
            raise VerificationFailed(message) from error


def _lay_out(overlay: Path, build: Build, probe: Probe, source: bytes) -> Path:
    """Write the content and the unit that includes it; returns the unit's path."""
    edited, entry = overlay / probe.file, overlay / probe.unit
    for folder in {edited.parent, entry.parent}:
        folder.mkdir(parents=True, exist_ok=True)
        _link_neighbours(build.tree / folder.relative_to(overlay), folder)
    edited.unlink(missing_ok=True)
    edited.write_bytes(source)
    unit = entry.parent / PROBE_NAME
    unit.write_text(f'#include "{entry.name}"\n{probe.variable} linesmith_probe;\n', encoding="utf-8")
    return unit


def _link_neighbours(origin: Path, folder: Path) -> None:
    """Links to the files beside an edited one: what they include by quotes is then looked for in the overlay first."""
    for path in origin.iterdir():
        if path.suffix in _INCLUDED and path.is_file():
            (folder / path.name).symlink_to(path)


def _argv(build: Build, probe: Probe, overlay: Path, unit: Path, output: Path) -> tuple[str, ...]:
    folders = dict.fromkeys(str(PurePosixPath(file).parent) for file in (probe.through, probe.file) if file)
    quoted = [part for folder in folders for part in ("-iquote", str(build.tree / folder))]
    flags = build.flags
    ahead = [f"-I{folder}" for folder in _mirrored(flags.include_directories(), build.tree, overlay, probe.file)]
    return (flags.compiler, *ahead, *quoted, *flags.options, *_BEFORE_OUTPUT, str(output), str(unit))


def _mirrored(directories: Sequence[Path], tree: Path, overlay: Path, file: str) -> list[Path]:
    """Where the overlay holds the file below a directory of the include path, in the order of that path."""
    found: dict[Path, None] = {}
    root = tree.resolve()
    for directory in directories:
        # As it is written, which may lead through links, and as it is; a build inside the tree says "../include".
        for place, base in ((Path(os.path.normpath(directory)), tree), (directory.resolve(), root)):
            folder = place.relative_to(base) if place.is_relative_to(base) else None
            if folder is not None and PurePosixPath(file).is_relative_to(folder):
                found.setdefault(overlay / folder)
    return list(found)


def _complaint(probe: Probe, output: str) -> str:
    match = next((found for line in output.splitlines() if (found := _ERROR.match(line[:_MOST_OF_A_LINE]))), None)
    if match and match["place"].startswith(PROBE_NAME):
        said = f"{probe.file} does not define {probe.variable} in the tree's configuration"
        return f"{said} ({match['text']}); configure the tree like the ELF file"
    first = (
        f"{match['place']}: {match['text']}"
        if match
        else (output.strip().splitlines() or ["no message"])[0][:_MOST_OF_A_LINE]
    )
    through = f" (through {probe.through})" if probe.through else ""
    return f"{probe.file} does not compile{through}: {first}"
