# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files of a tree are its sources: all but what version control keeps there and what a build has left."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import TreeError

# A repository may name programs that git runs; listing files needs none of them.
_GIT = ("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files")
_GIT_SECONDS = 120
_VERSION_CONTROL = frozenset((".git", ".hg", ".svn", ".bzr", "_darcs", "CVS"))
_OBJECTS = (".o", ".lo", ".obj", ".ko", ".gcno", ".gcda")
# What marks a folder as made by CMake, Meson or Python, or the list of what `configure` made.
_MADE_FOLDERS = frozenset(("CMakeFiles", "__pycache__", "autom4te.cache", ".libs", ".deps"))
_MADE_FILES = frozenset(("CMakeCache.txt", "config.status", "config.log"))
# Kbuild refuses a tree with these as the source of a build elsewhere.
_KBUILD_MADE = re.compile(r"\.config(\.old)?|include/(config|generated)|arch/[^/]+/include/generated")


def sources(tree: Path, ours: Collection[Path] = ()) -> tuple[str, ...]:
    """Paths of the source files, relative to ``tree`` and sorted; none below the folders ``ours``.

    In a git work tree: what is tracked, and what is neither ignored nor left by a build. Raises ``TreeError``.
    """
    if not tree.is_dir():
        raise TreeError(f"{tree} is not a folder; name the source tree")
    try:
        found = set(_walk(tree, "", _Rules(is_kernel(tree), frozenset(map(str, ours)))))
        tracked = set(_listed(tree))
        if tracked:
            found = tracked | found & set(_listed(tree, "--others", "--exclude-standard"))
    except OSError as error:
        raise TreeError(f"{error.filename} cannot be read ({error.strerror})") from error
    return tuple(sorted(found))


def is_kernel(tree: Path) -> bool:
    """Whether the tree is built by Kbuild, as the kernel is."""
    return (tree / "Kbuild").is_file() and (tree / "scripts/Makefile.build").is_file()


def _listed(tree: Path, *options: str) -> Iterator[str]:
    """What git lists below the folder; nothing where there is no git or no repository."""
    try:
        ended = subprocess.run(
            (*_GIT, "-z", *options),
            cwd=tree,
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return
    except subprocess.TimeoutExpired as error:
        raise TreeError(f"git has not listed the files of {tree} within {_GIT_SECONDS} s; try again") from error
    for name in filter(None, os.fsdecode(ended.stdout).split("\0") if ended.returncode == 0 else ()):
        path = tree / name
        if path.is_dir() and not path.is_symlink():
            # A submodule, or a repository within.
            yield from (f"{name.rstrip('/')}/{inner}" for inner in sources(path))
        elif os.path.lexists(path):
            yield name


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a walk leaves out beside what every build leaves."""

    kernel: bool
    folders: frozenset[str]


def _walk(tree: Path, folder: str, rules: _Rules) -> Iterator[str]:
    with os.scandir(tree / folder) as found:
        entries = {entry.name: entry for entry in found}
    if _is_build_folder(entries):
        return
    for name, entry in entries.items():
        path = f"{folder}/{name}" if folder else name
        if _is_made(name, entries) or (rules.kernel and _KBUILD_MADE.fullmatch(path)):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.path not in rules.folders:
                yield from _walk(tree, path, rules)
        elif entry.is_symlink() or entry.is_file():
            yield path


def _is_build_folder(entries: dict[str, os.DirEntry[str]]) -> bool:
    """Whether Meson or CMake builds there, or linesmith keeps a run there."""
    return (
        "meson-private" in entries
        or ("CMakeCache.txt" in entries and "CMakeLists.txt" not in entries)
        or ("journal.sqlite" in entries and "artifacts" in entries)
    )


def _is_made(name: str, siblings: dict[str, os.DirEntry[str]]) -> bool:
    """Whether a build has left it; Kbuild leaves a ``.NAME.cmd`` beside what it made, ``configure`` a record."""
    return (
        name in _VERSION_CONTROL
        or name in _MADE_FOLDERS
        or name in _MADE_FILES
        or name.endswith(_OBJECTS)
        or (name.startswith(".") and name.endswith(".cmd"))
        or f".{name}.cmd" in siblings
        or ("config.status" in siblings and f"{name}.in" in siblings and name != "configure")
    )
