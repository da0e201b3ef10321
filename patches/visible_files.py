# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of a tree that programs which compile or run its text may read.

A checkout holds more than the sources: keys, ``.env``, notes, what other branches left. A source can include any file
by name, and the compiler quotes what it cannot parse. So of a git checkout only tracked files are visible, and of its
untracked files the headers that a build generates, where the checkout is the build that is asked for. Git's own files
are never visible: ``.git/config`` may hold a password. A tree outside of git is visible as a whole.

The result are places for ``Confinement.readable``: a folder stands for all that lies below it, so that a clean checkout
takes one place for each entry of its root, and only folders with untracked files are listed file by file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from linesmith.patches.versions.git import repository_at

_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inc", ".ipp", ".def", ".tbl")
_GIT = ".git"


def visible(tree: Path, builds: Sequence[Path] = ()) -> tuple[Path, ...]:
    """The places of ``tree`` and of ``builds``, which are directories that the build writes into.

    A build outside of the tree is visible as a whole, for whoever runs us named it. Raises ``TreeError`` where git
    fails to list the files.
    """
    root = tree.resolve()
    made = tuple(dict.fromkeys(build.resolve() for build in builds))
    outside = (place for build in made if not build.is_relative_to(root) for place in _entries(build))
    return tuple(dict.fromkeys((*_of_tree(root, made), *outside)))


def _of_tree(root: Path, builds: Sequence[Path]) -> Iterator[Path]:
    git = repository_at(root)
    modules = git.submodules() if git else ()
    if git is None or not (modules or git.has_tracked_files()):
        yield from _entries(root)
        return
    hidden = frozenset((*git.untracked(), *modules))
    yield from _around(root, "", hidden, _parents(hidden))
    for module in modules:
        if (root / module).is_dir() and not (root / module).is_symlink():
            yield from _of_tree(root / module, ())
    inside = [build.relative_to(root).as_posix() for build in builds if build.is_relative_to(root)]
    for name in hidden:
        yield from _headers(root, name, inside)


def _entries(folder: Path) -> Iterator[Path]:
    """What lies in the folder, but for git's files and links that lead out of it."""
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if place.name != _GIT and place.resolve().is_relative_to(folder):
            yield place


def _around(root: Path, folder: str, hidden: frozenset[str], parents: frozenset[str]) -> Iterator[Path]:
    """The places below ``folder`` without those ``hidden``; ``parents`` are the folders that hold such."""
    with os.scandir(root / folder) as found:
        names = sorted(entry.name for entry in found)
    for name in names:
        place = f"{folder}/{name}" if folder else name
        if name == _GIT or place in hidden:
            continue
        if place in parents and not (root / place).is_symlink():
            yield from _around(root, place, hidden, parents)
        elif (root / place).resolve().is_relative_to(root):
            yield root / place


def _parents(names: frozenset[str]) -> frozenset[str]:
    return frozenset(str(parent) for name in names for parent in PurePosixPath(name).parents if str(parent) != ".")


def _headers(root: Path, name: str, builds: Sequence[str]) -> Iterator[Path]:
    """Headers at or below an untracked place, as far as they lie in one of ``builds`` (relative; ``.`` is the tree)."""
    place = root / name
    if place.is_symlink() or not builds:
        return
    files = [place] if place.is_file() else [Path(at, one) for at, _, some in os.walk(place) for one in some]
    for file in files:
        own = file.relative_to(root)
        if file.suffix in _HEADERS and not file.is_symlink() and any(own.is_relative_to(one) for one in builds):
            yield file
