# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files of the tree have to lie beside changed ones, so that whatever includes another by quotes finds it.

A name in quotes is looked for beside the file that has it. So a file that leads to a changed one in that way has to lie
where the changed one does, and with it what it and the changed ones include in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from linesmith.patches.included import included, includes_by_macro
from linesmith.patches.source_bytes import source_bytes

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


class Neighbours:
    """What has to lie beside the changed files, as more and more folders are looked into."""

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
                    # It may name a changed file, or anything that lies beside it.
                    if folder in self._changed and file in self._quotes.by_macro:
                        self._whole.add(folder)

    def needed(self) -> Iterator[str]:
        """The files that are not changed and have to lie in their places beside those that are."""
        found = self._reached((*self._own, *self._leading()))
        for file in self._known:
            if file in found or _folder(file) in self._whole:
                yield file

    def _leading(self) -> set[str]:
        """Files from which one comes to a changed one."""
        includers: dict[str, list[str]] = {}
        for file, names in self._known.items():
            for name in names:
                includers.setdefault(name, []).append(file)
        found: set[str] = set()
        waiting = list(self._own)
        while waiting:
            fresh = [one for one in includers.get(waiting.pop(), ()) if one not in found]
            found.update(fresh)
            waiting += fresh
        return found

    def _reached(self, starts: Iterable[str]) -> set[str]:
        found = set(starts)
        waiting = list(found)
        while waiting:
            file = waiting.pop()
            fresh = [one for one in self._own.get(file) or self._known.get(file, ()) if one not in found]
            found.update(fresh)
            waiting += fresh
        return found


def _folder(file: str) -> str:
    return os.path.dirname(file) or "."  # noqa: PTH120
