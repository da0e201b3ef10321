# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler flags of a tree that is no kernel: from compile_commands.json, else from the user."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath

from linesmith.analyzer.errors import TreeError
from linesmith.patches.compile_commands import NAME, Entry, entries
from linesmith.patches.flags import Flags, from_words
from linesmith.patches.kbuild import Build


def plain_build(tree: Path, build: Path | None, cflags: str, file: str, unit: str | None) -> Build:
    """The flags for ``file`` (relative to ``tree``), which DWARF saw in the compile unit ``unit``.

    ``cflags`` replaces a database. Raises ``TreeError`` for a database or options that cannot be read.
    """
    database = next((place / NAME for place in (build, tree) if place and (place / NAME).is_file()), None)
    root = tree.resolve()
    if database is None or cflags:
        own = (f"-I{root}", f"-I{root / 'include'}", f"-I{root / PurePosixPath(file).parent}")
        given = from_words(["cc", *_split(cflags)], Path("--cflags"), root, ())
        flags = Flags("cc", (*given.options, *own), root)
        return Build(flags, root, False, shlex.join(("cc", *given.options)), remarks=_left_out(cflags, given))
    entry = _nearest(_some(database), file, unit)
    words = list(entry.arguments) or _split(entry.command)
    flags = from_words(words, database, (database.parent / entry.directory).resolve(), (tree, database.parent))
    beside = f"-I{root / PurePosixPath(entry.file).parent}"
    flags = Flags(flags.compiler, (*flags.options, beside), flags.directory)
    return Build(flags, root, False, f"{database} ({entry.file})")


def _left_out(cflags: str, given: Flags) -> tuple[str, ...]:
    """Tells what was asked for and is not used: the compile says nothing about a build with it."""
    used = "".join(given.options)
    left_out = [word for word in _split(cflags) if word not in used]
    return (f"left out of --cflags: {shlex.join(left_out)} (no option known to decide a layout)",) if left_out else ()


def _some(database: Path) -> Sequence[Entry]:
    try:
        found = entries(database)
    except TreeError as error:
        raise TreeError(f"{error}, or name the options with --cflags") from error
    if not found:
        raise TreeError(f"{database} names no compilation; make it anew or name the options with --cflags")
    return found


def _nearest(known: Sequence[Entry], file: str, unit: str | None) -> Entry:
    """The entry of the unit itself, else of the source file with the most folders in common."""
    wanted = PurePosixPath(unit or file).parts

    folders = frozenset(PurePosixPath(file).parent.parts)

    def nearness(entry: Entry) -> tuple[int, int]:
        parts = PurePosixPath(entry.file).parts
        return _common_tail(wanted, parts), len(folders.intersection(parts))

    return max(known, key=nearness)


def _common_tail(first: Sequence[str], second: Sequence[str]) -> int:
    pairs = zip(reversed(first), reversed(second), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise TreeError(f"the compiler options cannot be read ({error}): {command}") from error
