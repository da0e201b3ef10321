# SPDX-License-Identifier: GPL-2.0-or-later
"""Changed files of a tree in a directory of their own that comes first wherever the compiler looks for a file.

A name in quotes is looked for next to the file that has it. So links to the neighbours that lead to them in that way,
and to what these and the changed ones include so, lie next to the changed files. Nothing is written to the tree.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from threading import Lock

from linesmith.analyzer.base.child import undisturbed
from linesmith.patches.build.options import Flags
from linesmith.patches.source.declaration import included, includes_by_macro, reached
from linesmith.patches.source.tree import source_bytes

_INCLUDED = (".h", ".c", ".inc", ".def", ".hh", ".S", ".tbl")
_MOST_BYTES = 4 << 20


class Quotes:
    """What the files of a tree include by quotes, each read once; names are relative to the tree."""

    def __init__(self, tree: Path) -> None:
        """``tree`` has the sources themselves, not links to them, and stays as it is while this is used."""
        self._tree = tree
        self.of = lru_cache(maxsize=None)(self._read)
        # Those of which a macro makes a name.
        self.by_macro: set[str] = set()
        self.files = lru_cache(maxsize=None)(self._listed)

    def _listed(self, folder: str) -> tuple[str, ...]:
        """The C files of a folder."""
        try:
            with os.scandir(self._tree / folder) as found:
                names = [one.name for one in found if one.name.endswith(_INCLUDED) and one.is_file()]
        except OSError:
            return ()
        return tuple(os.path.normpath(f"{folder}/{name}") for name in sorted(names))

    def _read(self, file: str) -> tuple[str, ...]:
        text = source_bytes(self._tree, file)
        if text is None:
            return ()
        text = text[:_MOST_BYTES]
        if includes_by_macro(text):
            self.by_macro.add(file)
        return quoted(file, text)


def quoted(file: str, text: bytes) -> tuple[str, ...]:
    """Where a compiler looks first for what ``file`` includes by quotes, as paths of its tree."""
    folder = os.path.dirname(file)  # noqa: PTH120 - a path for each of many lines
    names = dict.fromkeys(name for in_quotes, name in included(text) if in_quotes)
    return tuple(os.path.normpath(os.path.join(folder, name)) for name in names)  # noqa: PTH118


class QuotedNeighbours:
    """What has to lie next to the changed files, as more and more folders are looked into."""

    def __init__(self, quotes: Quotes, contents: Mapping[str, bytes | None]) -> None:
        """``contents`` are the changed files; ``None`` is no file."""
        self._quotes = quotes
        self._own = {file: quoted(file, text) if text else () for file, text in contents.items()}
        self._changed = {_folder(file) for file in contents}
        self._whole = {_folder(file) for file, text in contents.items() if text and includes_by_macro(text)}
        self._known: dict[str, tuple[str, ...]] = {}

    def look_into(self, folders: Iterable[str]) -> None:
        """Take the files of these folders into account."""
        for folder in folders:
            for file in self._quotes.files(folder):
                if file not in self._own:
                    self._known[file] = self._quotes.of(file)
                    # It may name a changed file, or anything that lies next to it.
                    if folder in self._changed and file in self._quotes.by_macro:
                        self._whole.add(folder)

    def needed(self) -> Iterator[str]:
        """The files that are not changed and have to lie in their places next to those that are."""
        includers: dict[str, list[str]] = {}
        for file, names in self._known.items():
            for name in names:
                includers.setdefault(name, []).append(file)
        # Files from which one comes to a changed one, and all that these and the changed ones lead to.
        leading = reached(self._own, lambda file: includers.get(file, ()))
        found = reached(leading, lambda file: self._own.get(file) or self._known.get(file, ()))
        for file in self._known:
            if file in found or _folder(file) in self._whole:
                yield file


def _folder(file: str) -> str:
    return os.path.dirname(file) or "."  # noqa: PTH120


_TAKES_FILE = ("-include", "-imacros")

Contents = Mapping[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Overlay:
    """``root`` holds ``files`` (relative to ``tree``) as they are to be compiled; ``gone`` are not to be there.

    ``linked`` are files of the tree that lie next to them, ``entered`` the folders in which such were looked for.
    """

    root: Path
    tree: Path
    files: frozenset[str]
    gone: frozenset[str]
    neighbours: QuotedNeighbours = field(compare=False)
    entered: set[str] = field(default_factory=set, compare=False)
    linked: set[str] = field(default_factory=set, compare=False)
    _lock: Lock = field(default_factory=Lock, compare=False)

    def enter(self, folders: Iterable[str]) -> None:
        """Link what has to lie next to the changed files, with the files of these folders taken into account."""
        with self._lock:
            fresh = [folder for folder in folders if folder not in self.entered]
            if not fresh:
                return
            self.entered.update(fresh)
            self.neighbours.look_into(fresh)
            for file in self.neighbours.needed():
                if file not in self.linked:
                    self.linked.add(file)
                    (self.root / file).parent.mkdir(parents=True, exist_ok=True)
                    (self.root / file).symlink_to(self.tree / file)

    def unit(self, file: str) -> Path:
        """The path by which a compiler is given a file of the tree, so that it finds changed files next to it."""
        place = os.path.normpath(file)
        self.enter([str(PurePosixPath(place).parent)])
        return (self.root if place in self.files or place in self.linked else self.tree) / place

    def options(self, flags: Flags) -> tuple[str, ...]:
        """The options of ``flags`` with the image in front of each directory and file that it has an image of."""
        found: list[str] = []
        options = iter(flags.options)
        for option in options:
            if option in _TAKES_FILE:
                name = next(options, "")
                images = (place for place in self._below(flags.directory / name) if str(place) in self.files)
                image = next(images, None)
                found += (option, name if image is None else str(self.root / image))
                continue
            if option.startswith("-I"):
                places = (str(place) for place in self._below(flags.directory / option[2:]))
                found += (f"-I{self.root / place}" for place in places if place in _folders(self.files))
            found.append(option)
        return tuple(found)

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

    def stale(self, paths: Iterable[str]) -> str | None:
        """A changed file to which one of the ``paths``, as the compiler names files, leads as it is in the tree."""
        changed = self.files | self.gone
        own = (path for path in paths if not path.startswith(f"{self.root}/"))
        return next((place for path in own if (place := os.path.normpath(self.original(path))) in changed), None)

    def _below(self, path: Path) -> list[PurePosixPath]:
        """``path`` relative to the tree: as it is written, which may lead through links, and as it is."""
        found: dict[PurePosixPath, None] = {}
        for place, base in ((Path(os.path.normpath(path)), self.tree), (path.resolve(), self.tree.resolve())):
            if place.is_relative_to(base):
                found[PurePosixPath(place.relative_to(base))] = None
        return list(found)


@lru_cache(maxsize=8)
def _folders(files: frozenset[str]) -> frozenset[str]:
    """The folders that hold the files, at any depth."""
    return frozenset(str(folder) for file in files for folder in PurePosixPath(file).parents)


def lay_out(
    root: Path, tree: Path, contents: Contents, units: Sequence[str] = (), quotes: Quotes | None = None
) -> Overlay:
    """Write ``contents`` (by file of ``tree``; ``None`` is no file) below ``root``, for compiling ``units``.

    ``quotes`` reads the sources where the tree is made of links to them, and once where several are laid out over it.
    """
    written = {os.path.normpath(file): text for file, text in contents.items()}
    gone = frozenset(file for file, text in written.items() if text is None)
    neighbours = QuotedNeighbours(quotes or Quotes(tree), written)
    overlay = Overlay(root, tree, frozenset(written) - gone, gone, neighbours)
    for file, text in written.items():
        if text is not None:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_bytes(text)
    overlay.enter(str(PurePosixPath(os.path.normpath(file)).parent) for file in (*written, *units))
    return overlay


@contextmanager
def scratch(prefix: str = "linesmith-") -> Iterator[Path]:
    """An empty folder for as long as the block lasts, by a path without links.

    It goes even where a signal ends us while it is made, or while it is being removed.
    """
    with undisturbed():
        made = tempfile.TemporaryDirectory(prefix=prefix)
    try:
        yield Path(made.name).resolve()
    finally:
        with undisturbed():
            made.cleanup()
