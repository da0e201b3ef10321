# SPDX-License-Identifier: GPL-2.0-or-later
"""The units of a build and how each is compiled: as recorded, or as make says it would."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import ScanFailed, TreeError
from linesmith.patches.dry_make import unit_commands
from linesmith.patches.flags import Flags, from_cmd_file, from_words
from linesmith.patches.preparation import Preparation, Progress
from linesmith.patches.scan.database import database
from linesmith.patches.scan.unit import Unit

FlagsOf = Callable[[str], Flags | None]
# Which of some units include one of some files, all relative to the tree.
Including = Callable[[frozenset[str], Iterable[str]], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Units:
    """``names`` are files relative to the tree; ``flags_of`` has how one is compiled, ``None`` where it is not known.

    ``including`` is as the compiler recorded it, ``None`` where it did not.
    """

    names: tuple[str, ...]
    flags_of: FlagsOf
    including: Including | None = None


def planned_units(one: Preparation, progress: Progress) -> Units:
    """What make would compile in a build that is only prepared; raises ``TreeError``."""
    known = unit_commands(one, progress)
    return Units(tuple(known.commands), _usable(known.flags))


def recorded_units(tree: Path, build: Path | None, progress: Progress) -> Units:
    """What was compiled in ``build``, or in the tree; no units where nothing is recorded."""
    try:
        found = database(tree, build, progress)
    except ScanFailed:
        return Units((), lambda _: None)
    root = found.tree
    named = {os.path.relpath(one.file, root): one for one in found.units if one.file.startswith(f"{root}{os.sep}")}
    known = all(one.includes is not None for one in named.values())
    including = _as_recorded(root, named) if known else None
    return Units(tuple(named), _usable(lambda unit: _flags(named.get(unit), (tree, found.build))), including)


def _flags(one: Unit | None, outside: tuple[Path, ...]) -> Flags | None:
    if one is None:
        return None
    if one.origin.name.endswith(".cmd"):
        return from_cmd_file(one.origin, one.directory, outside)
    words = shlex.split(one.command) if isinstance(one.command, str) else one.command
    return from_words(words, one.origin, one.directory, outside)


def _usable(flags_of: FlagsOf) -> FlagsOf:
    """A command that is not run, because it is no lone compiler call, is not known."""

    def usable(unit: str) -> Flags | None:
        try:
            return flags_of(unit)
        except TreeError:
            return None

    return usable


def _as_recorded(root: Path, units: Mapping[str, Unit]) -> Including:
    def including(files: frozenset[str], some: Iterable[str]) -> frozenset[str]:
        wanted = {f"{root}{os.sep}{file}" for file in files}
        return frozenset(name for name in some if name in files or wanted & (units[name].includes or frozenset()))

    return including
