# SPDX-License-Identifier: GPL-2.0-or-later
"""Units of a kernel tree that are compiled with some of its files replaced; the tree itself is only read."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.dwarf import read_unindexed
from linesmith.analyzer.layouts import LayoutTable
from linesmith.patches.child import Command, run
from linesmith.patches.kbuild import Build
from linesmith.patches.overlay import lay_out

COMPILE_SECONDS = 300
DEFINED = ('-DKBUILD_MODFILE="unit"', '-DKBUILD_BASENAME="unit"', '-DKBUILD_MODNAME="unit"')


class Uncompiled(Exception):
    """The unit does not compile; the text is the compiler's first error, ``output`` all that it said."""

    def __init__(self, output: str) -> None:
        super().__init__(next((line for line in output.splitlines() if "error:" in line), output[:300]))
        self.output = output

    def blames(self, *files: str) -> bool:
        """Whether an error is in one of the files."""
        places = [line.partition(":")[0] for line in self.output.splitlines() if " error: " in line]
        return any(place.endswith(f"/{file}") for place in places for file in files)


@dataclass(frozen=True)
class ScratchTree:
    """The tree of ``build``, whose flags units are compiled with; what is written lies in ``folder``."""

    build: Build
    folder: Path

    @property
    def root(self) -> Path:
        """Where its files are read."""
        return self.build.tree

    def compiled(self, included: Sequence[str], sources: Mapping[str, bytes]) -> LayoutTable:
        """The records of a unit that includes these files, in this order, with ``sources`` in place of the tree's own.

        Raises ``Uncompiled``.
        """
        shutil.rmtree(self.folder / "over", ignore_errors=True)
        overlay = lay_out(self.folder / "over", self.root, sources, included)
        unit, output = self.folder / "unit.c", self.folder / "unit.o"
        unit.write_text("".join(f'#include "{overlay.unit(file)}"\n' for file in included))
        folders = [f"-I{self.root / Path(file).parent}" for file in included if file.endswith(".c")]
        flags = (
            *overlay.options(self.build.flags),
            *overlay.quoted(included),
            *DEFINED,
            "-D__KBUILD_MODNAME=kmod_unit",
        )
        debug = ("-w", "-g", "-fno-eliminate-unused-debug-types", "-c", "-o", str(output), str(unit))
        ended = run(
            Command((self.build.flags.compiler, *flags, *folders, *debug), self.build.flags.directory, COMPILE_SECONDS)
        )
        if ended.status:
            raise Uncompiled(ended.output)
        return read_unindexed(output)
