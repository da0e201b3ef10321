# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler flags of a kernel tree, from its own build or from one prepared in the user's cache directory."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

import msgspec

from linesmith.analyzer.base.child import Command
from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.base.text import shortened
from linesmith.patches.build.confinement import Confinement, toolchain_of
from linesmith.patches.build.kconfig import architecture, own_configuration
from linesmith.patches.build.options import Flags, from_cmd_file, from_words
from linesmith.patches.build.preparation import (
    Preparation,
    PreparationRequest,
    Progress,
    preparation,
)
from linesmith.patches.source.tree import Tree, source_bytes, visible_files


@dataclass(frozen=True, slots=True)
class TreeBuild:
    """How units of one tree are compiled. ``tree`` is the root that include paths lead to (links perhaps).

    ``made_from`` names what decides the layouts: the configuration or the options. ``commands`` were run on the way.
    ``preparation`` is the directory in the cache where the flags come from such a one. ``readable`` are the places that
    a compiler may read besides its own.
    """

    flags: Flags
    tree: Path
    is_kernel: bool
    made_from: str
    commands: tuple[Command, ...] = ()
    remarks: tuple[str, ...] = ()
    preparation: Preparation | None = None
    readable: tuple[Path, ...] = ()

    @property
    def sources(self) -> Path:
        """The tree itself, where ``tree`` is an image made of links to it."""
        return self.preparation.tree if self.preparation else self.tree

    def confinement(self, compiler: str, places: Sequence[Path], written: Path) -> Confinement:
        """What a compiler may reach: it reads the build's files and ``places``, and writes below ``written``."""
        return Confinement((*self.readable, *places, *toolchain_of(compiler)), (written,))


def is_kernel(tree: Path) -> bool:
    """Whether ``tree`` is the root of a Linux source tree."""
    return (tree / "Kbuild").is_file() and (tree / "scripts" / "Makefile.build").is_file()


def is_kernel_code(tree: Path, file: str) -> bool:
    """Whether Kbuild compiles a file of ``tree``; the programs in a kernel tree are built in ways of their own."""
    return is_kernel(tree) and not file.startswith(("tools/", "samples/", "scripts/"))


def kernel_build(tree: Path, build: Path | None, progress: Progress) -> TreeBuild:
    """The flags of a configured kernel tree; a build directory is prepared in the cache where the tree has none.

    Raises ``TreeError`` without a sound ``.config`` or when make fails, ``ToolMissing`` naming the package.
    """
    made = build or tree
    if not made.is_dir():
        raise TreeError(f"{made} is not a directory; --build needs the build directory (O=) of a kernel")
    configuration = own_configuration(tree, build)
    arch = architecture(configuration, tree)
    recorded = _recorded(made, arch)
    if recorded is not None:
        flags = from_cmd_file(recorded, made.resolve(), (tree, made))
        generated = (
            (build,) if build else (tree / "include" / "generated", tree / "arch" / arch / "include" / "generated")
        )
        title, remarks = f"{configuration.path} and its own build", flags.remarks(str(recorded))
        return TreeBuild(flags, tree.resolve(), True, title, remarks=remarks, readable=visible_files(tree, generated))
    own = preparation(tree, PreparationRequest(configuration, arch, arch))
    ready = prepared_build(own, str(configuration.path), progress)
    changed = own.changed_symbols()
    if not changed:
        return ready
    remark = f"make olddefconfig changed {len(changed)} symbols of {configuration.path}: {shortened(changed, 5)}"
    return replace(ready, remarks=(*ready.remarks, remark))


def for_unit(build: TreeBuild, unit: str) -> TreeBuild:
    """``build`` with the flags of the unit itself, where Kbuild recorded them or says them; Makefiles can add some."""
    if not build.is_kernel or not unit.endswith(".c"):
        return build
    try:
        flags = _unit_flags(build, unit)
    except TreeError:
        return build
    return build if flags is None else replace(build, flags=flags)


def _unit_flags(build: TreeBuild, unit: str) -> Flags | None:
    path = PurePosixPath(unit)
    record = build.flags.directory / path.parent / f".{path.stem}.o.cmd"
    if record.is_file():
        return from_cmd_file(record, build.flags.directory, (build.tree, build.flags.directory))
    # To ask make takes seconds, and once: no progress is shown.
    return build.preparation.unit_commands(lambda _: None).flags(unit) if build.preparation else None


def planned(tree: Path, build: Path | None) -> tuple[Command, ...]:
    """The commands that ``kernel_build`` would run."""
    made = build or tree
    configuration = own_configuration(tree, build)
    arch = architecture(configuration, tree)
    if _recorded(made, arch):
        return ()
    one = preparation(tree, PreparationRequest(configuration, arch, arch))
    return () if one.is_warm else (one.command(),)


def _recorded(made: Path, arch: str) -> Path | None:
    """Kbuild's record of the compiler call for asm-offsets, when it is not older than the configuration."""
    record = made / "arch" / arch / "kernel" / ".asm-offsets.s.cmd"
    offsets = made / "include" / "generated" / "asm-offsets.h"
    settings = made / "include" / "config" / "auto.conf"
    if not (record.is_file() and offsets.is_file() and settings.is_file()):
        return None
    current = settings.stat().st_mtime_ns >= (made / ".config").stat().st_mtime_ns
    return record if current else None


def prepared_build(one: Preparation, made_from: str, progress: Progress) -> TreeBuild:
    """The flags of a directory in the cache, prepared if need be; ``made_from`` is what to call its configuration.

    Raises ``TreeError`` when make fails.
    """
    commands = one.prepared(progress)
    flags = from_cmd_file(one.record, one.output, (one.tree, one.root))
    title, places = f"{made_from}, prepared in {one.root}", (*visible_files(one.tree), one.root)
    return TreeBuild(flags, one.image, True, title, commands, one.tools.remarks, one, places)


# How a tree that is no kernel is compiled: as ``compile_commands.json`` says, else as the user does.

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
    names are not. Raises ``TreeError`` for a database or options that cannot be read.
    """
    build, cflags, root = tree.build, tree.cflags, tree.root.resolve()
    database = next((place / NAME for place in (build, tree.root) if place and (place / NAME).is_file()), None)
    if database is None or cflags:
        own = (f"-I{root}", f"-I{root / 'include'}")
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
    made_from = f"{database} ({entry.file})"
    return TreeBuild(flags, root, False, made_from, remarks=flags.remarks(str(database)), readable=(*seen, *named))


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
