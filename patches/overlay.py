# SPDX-License-Identifier: GPL-2.0-or-later
"""Changed files of a tree in a directory of their own that comes first wherever the compiler looks for a file.

Beside each changed file lie links to its neighbours, so that what these include by quotes is looked for there too.
Nothing is written to the tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from linesmith.patches.flags import Flags

_INCLUDED = (".h", ".c", ".inc", ".def", ".hh", ".S", ".tbl")
_TAKES_FILE = ("-include", "-imacros")

Contents = Mapping[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Overlay:
    """``root`` holds ``files`` (relative to ``tree``) as they are to be compiled; ``gone`` are not to be there.

    ``entered`` are the folders that are images of the tree's, with links to what they hold.
    """

    root: Path
    tree: Path
    files: frozenset[str]
    gone: frozenset[str] = frozenset()
    entered: set[str] = field(default_factory=set, compare=False)

    def enter(self, folder: str) -> Path:
        """The image of a folder of the tree, made now if it is not there; returns its path."""
        target = self.root / folder
        if folder not in self.entered:
            self.entered.add(folder)
            target.mkdir(parents=True, exist_ok=True)
            self._link_neighbours(folder)
        return target

    def unit(self, file: str) -> Path:
        """The path under which a file of the tree is given to the compiler, so that its folder is the image."""
        return self.enter(str(PurePosixPath(file).parent)) / PurePosixPath(file).name

    def options(self, flags: Flags) -> tuple[str, ...]:
        """The options of ``flags`` with the image in front of each directory and file that it has an image of."""
        return tuple(self._seen(flags))

    def quoted(self, files: Iterable[str]) -> tuple[str, ...]:
        """Options that look for what is included by quotes in the folders of ``files`` as well."""
        folders = dict.fromkeys(str(PurePosixPath(file).parent) for file in files)
        return tuple(part for folder in folders for part in ("-iquote", str(self.tree / folder)))

    def original(self, path: str) -> str:
        """A path that the compiler names, as the tree's own, relative to it; as it is where it is outside of both."""
        for base in (self.root, self.tree):
            if path.startswith(f"{base}/"):
                return os.path.normpath(path[len(str(base)) + 1 :])
        return path

    def _seen(self, flags: Flags) -> Iterator[str]:
        options = iter(flags.options)
        for option in options:
            if option in _TAKES_FILE:
                yield option
                yield self._file(flags.directory, next(options, ""))
                continue
            if option.startswith("-I"):
                yield from (f"-I{folder}" for folder in self._mirrored(flags.directory / option[2:]))
            yield option

    def _file(self, directory: Path, name: str) -> str:
        found = next((place for place in self._below(directory / name) if str(place) in self.files), None)
        return name if found is None else str(self.root / found)

    def _mirrored(self, directory: Path) -> list[Path]:
        """Where the overlay holds changed files below a directory of the include path."""
        folders = (str(place) for place in self._below(directory))
        return [self.root / folder for folder in folders if self._holds(folder)]

    def _holds(self, folder: str) -> bool:
        return any(folder == "." or file.startswith(f"{folder}/") for file in self.files)

    def _below(self, path: Path) -> list[PurePosixPath]:
        """``path`` relative to the tree: as it is written, which may lead through links, and as it is."""
        found: dict[PurePosixPath, None] = {}
        for place, base in ((Path(os.path.normpath(path)), self.tree), (path.resolve(), self.tree.resolve())):
            if place.is_relative_to(base):
                found[PurePosixPath(place.relative_to(base))] = None
        return list(found)

    def _link_neighbours(self, folder: str) -> None:
        origin = self.tree / folder
        if not origin.is_dir():
            return
        for path in origin.iterdir():
            place = os.path.normpath(f"{folder}/{path.name}")
            own = self.files | self.gone
            if place not in own and path.suffix in _INCLUDED and path.is_file():
                (self.root / folder / path.name).symlink_to(path)


def lay_out(root: Path, tree: Path, contents: Contents, units: Sequence[str] = ()) -> Overlay:
    """Write ``contents`` (by file of ``tree``; ``None`` is no file) below ``root``, for compiling ``units``."""
    written = {os.path.normpath(file): text for file, text in contents.items()}
    gone = frozenset(file for file, text in written.items() if text is None)
    overlay = Overlay(root, tree, frozenset(written) - gone, gone)
    for file in (*written, *units):
        overlay.enter(str(PurePosixPath(file).parent))
    for file, text in written.items():
        if text is not None:
            (root / file).write_bytes(text)
    return overlay
