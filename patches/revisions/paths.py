# SPDX-License-Identifier: GPL-2.0-or-later
"""Which paths of a revision are taken: anybody can name a file in a repository, and git passes on what it is given.

Also what differs in repositories that are checked out within another one, where that names other commits of them.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.base.errors import TreeError
from linesmith.patches.revisions.git import Difference, Git, GitEntry
from linesmith.patches.source.tree import source_bytes

# What changes layouts, and what says which are wanted.
_OF_INTEREST = re.compile(r"(?:.*\.(?:h|c|inc|def|hh|S|tbl)|linesmith\.toml)", re.DOTALL)
_PLAIN = re.compile(r"[\w.+,@%=~-]+(?:/[\w.+,@%=~-]+)*", re.ASCII)
_BUILD = re.compile(
    r"(?:.*/)?(?:Makefile|Kbuild|Kconfig|GNUmakefile|CMakeLists\.txt|meson\.build|configure)(?:[._-][^/]*)?"
    r"|.*\.(?:mk|cmake|sh|py|pl)|(?:.*/)?\.config|(?:.*/)?compile_commands\.json",
    re.DOTALL,
)
# Longer ones cannot be opened (PATH_MAX and NAME_MAX in linux/limits.h).
_MOST_OF_A_PATH = 4000
_MOST_OF_A_NAME = 255
_NEVER = frozenset(("", ".", "..", ".git"))


def path_inside(path: bytes) -> str | None:
    """The path as text; ``None`` for one too long to be opened, out of its tree or in git's own files."""
    name = os.fsdecode(path)
    parts = name.split("/")
    if len(path) > _MOST_OF_A_PATH or any(len(os.fsencode(part)) > _MOST_OF_A_NAME for part in parts):
        return None
    return None if any(part.lower().rstrip(". ") in _NEVER or part in _NEVER for part in parts) else name


def plain(path: bytes) -> str | None:
    """The path as text if a compiler and a report can name it without quoting, else ``None``."""
    name = path_inside(path)
    return name if name is not None and _PLAIN.fullmatch(name) else None


def is_of_interest(path: bytes) -> bool:
    """Whether the file can say something of layouts."""
    return _OF_INTEREST.fullmatch(os.fsdecode(path)) is not None


def is_of_the_build(path: bytes) -> bool:
    """Whether a build runs the file or takes commands or options from it."""
    return _BUILD.fullmatch(os.fsdecode(path)) is not None


def stays_inside(link: str, target: bytes) -> bool:
    """Whether a symbolic link of a tree, ``link`` from its root, leads to a place in the tree; names count only.

    A way up behind a way down may lead through another link, so it is refused.
    """
    if b".." in target.lstrip(b"./").split(b"/"):
        return False
    place = posixpath.normpath(posixpath.join(posixpath.dirname(link), os.fsdecode(target)))
    return not (place.startswith(("/", "../")) or place == ".." or b"\0" in target or not target)


def read_inside(root: Path, file: str, most: int) -> bytes | None:
    """A regular file of a tree that no symbolic link leads to; ``None`` for all else, and above ``most`` bytes."""
    place = root
    for part in file.split("/"):
        place = place / part
        if place.is_symlink():
            return None
    return source_bytes(root, file, most)


def checked_out(git: Git, path: bytes) -> Git | None:
    """The repository that lies there within the checkout of another one; none that a link leads to."""
    name = path_inside(path)
    place = git.top / name if name else None
    if place is None or place.resolve() != place or not (place / ".git").exists():
        return None
    return Git(place)


def submodule(git: Git, changed: Difference) -> tuple[tuple[Git, Difference], ...] | None:
    """What another commit of a submodule changes, with the repository of the submodule, and paths as in the outer one.

    ``None`` where none is at hand, or a file took its place.
    """
    if not all(side is None or side.is_submodule for side in (changed.old, changed.new)):
        return None
    inner = checked_out(git, changed.path)
    if inner is None:
        return None
    found = []
    with suppress(TreeError):  # one of the commits may be missing there
        for one in _differences(inner, changed.old, changed.new):
            sides = (side and replace(side, path=changed.path + b"/" + side.path) for side in (one.old, one.new))
            found.append((inner, Difference(*sides)))
        return tuple(found)
    return None


def _differences(inner: Git, old: GitEntry | None, new: GitEntry | None) -> Iterator[Difference]:
    if old and new:
        yield from inner.differences(old.blob, new.blob)
    elif new:
        yield from (Difference(None, one) for one in inner.entries(new.blob))
    elif old:
        yield from (Difference(one, None) for one in inner.entries(old.blob))
