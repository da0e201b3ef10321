# SPDX-License-Identifier: GPL-2.0-or-later
"""How a tree that is no kernel is compiled: as ``compile_commands.json`` says, else as the user does."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

import msgspec

from linesmith.analyzer.base.errors import TreeError
from linesmith.patches.build.kbuild import TreeBuild
from linesmith.patches.build.options import from_words
from linesmith.patches.source.tree import Tree, source_bytes, visible_files

NAME = "compile_commands.json"
_MOST_BYTES = 256 << 20


class CompileEntry(msgspec.Struct, frozen=True):
    """One compilation: ``arguments``, or a ``command`` for a shell.

    Source: clang.llvm.org/docs/JSONCompilationDatabase.html.
    """

    directory: str
    file: str
    arguments: tuple[str, ...] = ()
    command: str = ""


def entries(database: Path) -> tuple[CompileEntry, ...]:
    """Every compilation of the file; raises ``TreeError`` for one that is too large or cannot be read."""
    try:
        if database.stat().st_size > _MOST_BYTES:
            raise TreeError(f"{database} is larger than {_MOST_BYTES >> 20} MiB; write one with fewer units")
        text = source_bytes(database.parent, database.name, _MOST_BYTES)
        if text is None:
            raise TreeError(
                f"{database} is not a file, or is a link out of its directory, and is not read; name its real directory"
            )
        return msgspec.json.decode(text, type=tuple[CompileEntry, ...])
    except (OSError, RecursionError, msgspec.DecodeError) as error:
        raise TreeError(f"{database} cannot be read ({error}); write it again") from error


def seen_by_compilers(tree: Tree) -> tuple[Path, ...]:
    """What compiles of a tree that is no kernel may read of it, and of its build; raises ``TreeError``."""
    return visible_files(tree.root, (tree.build,) if tree.build else ())


def plain_build(tree: Tree, seen: Sequence[Path], file: str, unit: str | None) -> TreeBuild:
    """The flags for ``file`` (relative to the root), which DWARF saw in the compile unit ``unit``.

    Options of the user replace a database. What the user named is readable to the compiler: what is ``seen`` of the
    tree and its build, and the places in options or in a database of the build; those that a database in the tree
    names are not.
    Raises ``TreeError`` for a database or options that cannot be read.
    """
    build, cflags, root = tree.build, tree.cflags, tree.root.resolve()
    database = next((place / NAME for place in (build, tree.root) if place and (place / NAME).is_file()), None)
    if database is None or cflags:
        own = (f"-I{root}", f"-I{root / 'include'}", f"-I{root / PurePosixPath(file).parent}")
        given = from_words(["cc", *_split(cflags)], Path("--cflags"), root, ())
        flags = replace(given, options=(*given.options, *own))
        made_from = shlex.join(("cc", *given.options))
        return TreeBuild(
            flags, root, False, made_from, remarks=given.remarks("--cflags"), readable=(*seen, *given.places())
        )
    try:
        known = entries(database)
    except TreeError as error:
        raise TreeError(f"{error}, or give the options with --cflags") from error
    if not known:
        raise TreeError(f"{database} has no compilation; write it again or give the options with --cflags")
    entry = max(known, key=lambda one: _nearness(one, unit or file, file))
    words = list(entry.arguments) or _split(entry.command)
    # The compiler is run as recorded within the tree or the build, else in the folder of the database.
    recorded = (database.parent / entry.directory).resolve()
    inside = any(one and recorded.is_relative_to(one.resolve()) for one in (root, build))
    flags = from_words(words, database, recorded if inside else database.parent.resolve(), (tree.root, database.parent))
    named = flags.places() if build and database == build / NAME else ()
    beside = f"-I{root / PurePosixPath(entry.file).parent}"
    used = replace(flags, options=(*flags.options, beside))
    made_from = f"{database} ({entry.file})"
    return TreeBuild(used, root, False, made_from, remarks=flags.remarks(str(database)), readable=(*seen, *named))


def _nearness(entry: CompileEntry, unit: str, file: str) -> tuple[int, int]:
    """How much of its path an entry has in common with the unit, at the end, and how many folders with the file."""
    parts = PurePosixPath(entry.file).parts
    pairs = zip(reversed(PurePosixPath(unit).parts), reversed(parts), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return same, len(frozenset(PurePosixPath(file).parent.parts).intersection(parts))


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise TreeError(f"the compiler options cannot be read ({error}): {command}") from error
