# SPDX-License-Identifier: GPL-2.0-or-later
"""The units of a build and how each is compiled: as recorded, or as make says it would; and which include a file.

Where no compiler has recorded the includes they are followed by text; conditions are taken to hold.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import ScanFailed, TreeError
from linesmith.patches.build.options import Flags, from_cmd_file, from_words
from linesmith.patches.build.preparation import Preparation, Progress, unit_commands
from linesmith.patches.scan.units import Unit, database
from linesmith.patches.source.declaration import include_path

FlagsOf = Callable[[str], Flags | None]
# Which of some units include one of some files, all relative to the tree.
Including = Callable[[frozenset[str], Iterable[str]], frozenset[str]]
_MOST_BYTES = 4 << 20


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


class Includes:
    """The files that each file includes; what is not below ``tree`` or the directories is not looked at."""

    def __init__(self, tree: Path, directories: Sequence[Path]) -> None:
        """``directories`` are those of the include path, in order."""
        self._tree = str(tree)
        self._of = include_path([str(one) for one in directories], _content, os.path.isfile)

    def including(self, units: Iterable[str], files: Iterable[str], forced: Sequence[str] = ()) -> frozenset[str]:
        """The ``units`` that reach one of ``files``, all relative to the tree; ``forced`` are included by all."""
        wanted = frozenset(os.path.normpath(f"{self._tree}/{file}") for file in files)
        paths = {unit: os.path.normpath(f"{self._tree}/{unit}") for unit in units}
        reaching = self._reaching((*paths.values(), *forced), wanted)
        if reaching.intersection(forced):
            return frozenset(paths)
        return frozenset(unit for unit, path in paths.items() if path in reaching)

    def _reaching(self, starts: Iterable[str], wanted: frozenset[str]) -> set[str]:
        """All files from which ``wanted`` are reached, themselves among them."""
        includers: dict[str, list[str]] = {}
        seen = set(starts)
        waiting = list(seen)
        while waiting:
            path = waiting.pop()
            for included in self._of(path):
                includers.setdefault(included, []).append(path)
                if included not in seen:
                    seen.add(included)
                    waiting.append(included)
        reached = set(wanted)
        waiting = list(wanted)
        while waiting:
            for path in includers.get(waiting.pop(), ()):
                if path not in reached:
                    reached.add(path)
                    waiting.append(path)
        return reached


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - thousands of files, and their names are text here
            return file.read(_MOST_BYTES)
    except OSError:
        return None
