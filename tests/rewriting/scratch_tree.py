# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel tree made of links, in which files are replaced for the time of a compile; the tree itself is only read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.dwarf import read_unindexed
from linesmith.analyzer.layouts import LayoutTable
from linesmith.patches.child import Command, run
from linesmith.patches.kbuild import Build

LEFT_OUT = frozenset((".git", "Documentation"))
COMPILE_SECONDS = 300


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
    """``root`` shows the files of ``build.tree``; units are compiled with the flags of ``build`` there."""

    root: Path
    build: Build

    @contextmanager
    def holding(self, sources: Mapping[str, bytes]) -> Iterator[None]:
        """The tree with these files in place of its own."""
        for file in sources:
            self._open(Path(file).parent)
        links = {self.root / file: (self.root / file).readlink() for file in sources}
        try:
            for file, source in sources.items():
                (self.root / file).unlink()
                (self.root / file).write_bytes(source)
            yield
        finally:
            for path, target in links.items():
                path.unlink(missing_ok=True)
                path.symlink_to(target)

    def _open(self, folder: Path) -> None:
        """Makes a folder of links out of the link to a folder, and of those in it, which may include by ``..``."""
        _opened(self.root, folder)
        for inner in sorted((self.root / folder).iterdir()):
            if inner.is_dir():
                _opened(self.root, folder / inner.name)

    def compiled(self, included: Sequence[str]) -> LayoutTable:
        """The records of a unit that includes these files, in this order; raises ``Uncompiled``."""
        # Files are included by quotes, and look for their neighbours in their own folder first; in a link to a folder
        # "../x.h" would lead out of this tree, to the file as it is.
        for file in included:
            _opened(self.root, Path(file).parent)
        unit, output = self.root / "linesmith-unit.c", self.root / "linesmith-unit.o"
        unit.write_text("".join(f'#include "{file}"\n' for file in included))
        old, new = str(self.build.tree), str(self.root)
        options = [option.replace(old, new) for option in self.build.flags.options]
        folders = [f"-I{self.root / Path(file).parent}" for file in included if file.endswith(".c")]
        names = ['-DKBUILD_MODFILE="unit"', '-DKBUILD_BASENAME="unit"', '-DKBUILD_MODNAME="unit"']
        names += ["-D__KBUILD_MODNAME=kmod_unit"]
        debug = ("-w", "-g", "-fno-eliminate-unused-debug-types", "-c", "-o", str(output), str(unit))
        argv = (self.build.flags.compiler, *options, *names, *folders, *debug)
        ended = run(Command(argv, self.build.flags.directory, COMPILE_SECONDS))
        if ended.status:
            raise Uncompiled(ended.output)
        return read_unindexed(output)


def scratch_tree(build: Build, folder: Path) -> ScratchTree:
    """The tree of ``build`` as a link below ``folder``, which becomes folders of links where files are replaced."""
    root = folder / "tree"
    root.symlink_to(build.tree.resolve())
    _opened(root, Path())
    return ScratchTree(root, build)


def _opened(root: Path, folder: Path) -> None:
    if folder != Path():
        _opened(root, folder.parent)
    place = root / folder
    if place.is_symlink():
        target = place.resolve()
        place.unlink()
        place.mkdir()
        for entry in target.iterdir():
            (place / entry.name).symlink_to(entry)
