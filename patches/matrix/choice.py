# SPDX-License-Identifier: GPL-2.0-or-later
"""A change to check, the configurations to check it under, and the units it concerns, in the order of what they tell.

A tree that is no kernel has its own flags, those of debugging and of release, and those of other machines. How each
unit is compiled is recorded, or make says it; includes that no compiler has recorded are followed by text, conditions
taken to hold.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from types import MappingProxyType

from linesmith.analyzer.base.child import missing
from linesmith.analyzer.base.errors import Deadline, ScanFailed, TreeError
from linesmith.analyzer.model import CACHE_LINE_BYTES, FileChange, Layout, Residual, SlabMachine
from linesmith.patches.build.kbuild import TreeBuild, plain_build
from linesmith.patches.build.options import Flags, from_cmd_file, from_words
from linesmith.patches.build.preparation import Preparation, Progress
from linesmith.patches.scan.units import Unit, database
from linesmith.patches.source.declaration import include_path, reached
from linesmith.patches.source.tree import Tree, source_bytes

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
    known = one.unit_commands(progress)
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
        for path in reached(starts, self._of):
            for included in self._of(path):
                includers.setdefault(included, []).append(path)
        return reached(wanted, lambda path: includers.get(path, ()))


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - thousands of files, and their names are text here
            return file.read(_MOST_BYTES)
    except OSError:
        return None


# The change and its configurations.

# A machine that a server is; it decides how many objects SLUB wants in a slab.
CPUS = 64
_TAKES_FILE = ("-include", "-imacros")
# Units whose includes are followed at once while only some are looked for.
_AT_ONCE = 16
# C files that are taken for units of a tree that has no record of its units.
_MOST_SOURCES = 4000
_ABOUT_THE_MACHINE = ("-m", "-target=", "--target=", "-fcf-protection")


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """All files that a change touches, and the record it is about; without one only units are compiled.

    ``title`` is the ``record`` as C names it, ``file`` declares it, ``unit`` is a unit that knows it. ``pairs`` are
    members to be separated, ``holders`` records of the ELF file that embed the record, ``others`` names of more records
    to be measured. ``prefer`` names units, relative to the tree, that are compiled before others. ``granules`` are the
    bytes between the places at which objects of the record start before and after, 0 where only its alignment tells.
    """

    files: tuple[FileChange, ...]
    record: str = ""
    title: str = ""
    file: str = ""
    unit: str | None = None
    pairs: tuple[Residual, ...] = ()
    holders: tuple[Layout, ...] = ()
    others: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    granules: tuple[int, int] = (0, 0)

    @property
    def before(self) -> dict[str, bytes | None]:
        """The files as they are."""
        return {one.file: one.before for one in self.files}

    @property
    def after(self) -> dict[str, bytes | None]:
        """The files as changed."""
        return {one.file: one.after for one in self.files}


@dataclass(frozen=True, slots=True)
class MatrixRequest:
    """Configurations by name; under each so many ``users`` are compiled, objects that see the change (``None``: all).

    ``cpus`` is the number of CPUs that slabs are worked out for. ``deadlines`` gives what make and the compiles of each
    configuration count against: a new one for each, where the user named them.
    """

    names: tuple[str, ...]
    users: int | None = 0
    cpus: int = CPUS
    deadlines: Callable[[], Deadline] = Deadline


UnitsFound = Callable[[Progress], Units]


@dataclass(frozen=True, slots=True)
class Environment:
    """What a reader knows as ``title``; ``units`` are found when they are asked for.

    ``slabs`` is the machine as its slab allocator sees it, ``None`` where there is none whose rules are known;
    ``folder`` is the directory below ``arch/`` of a kernel.
    """

    title: str
    build: TreeBuild
    units: UnitsFound
    slabs: SlabMachine | None = None
    line_bytes: int = CACHE_LINE_BYTES
    folder: str = ""


@dataclass(frozen=True, slots=True)
class ChosenUnits:
    """The units to compile; ``seeing`` is how many see the change in all, ``None`` where not all were looked at."""

    units: tuple[str, ...]
    seeing: int | None


def units_to_compile(environment: Environment, units: Units, change: CheckedChange, count: int | None) -> ChosenUnits:
    """The units that the change edits, and ``count`` more that include a changed file: all where it is ``None``.

    Those that the change prefers come first, then those that name the record most often.
    """
    files = frozenset(one.file for one in change.files)
    edited = tuple(unit for unit in sorted(files) if unit in frozenset(units.names))
    if count == 0:
        return ChosenUnits(edited, None)
    including = units.including or _by_text(environment)
    if units.including or count is None:
        seeing = including(files, units.names) - frozenset(edited)
        ordered = _ordered(environment.build.sources, seeing, change)
        return ChosenUnits((*edited, *ordered[:count]), len(edited) + len(seeing))
    others = frozenset(units.names) - frozenset(edited)
    found = _first(including, files, _ordered(environment.build.sources, others, change), count)
    return ChosenUnits((*edited, *found), None)


def _first(including: Including, files: frozenset[str], ordered: Sequence[str], count: int) -> tuple[str, ...]:
    """The first ``count`` of ``ordered`` that include one of the files."""
    found: list[str] = []
    step = max(_AT_ONCE, count)
    for start in range(0, len(ordered), step):
        some = ordered[start : start + step]
        seeing = including(files, some)
        found += [unit for unit in some if unit in seeing]
        if len(found) >= count:
            break
    return tuple(found[:count])


def _by_text(environment: Environment) -> Including:
    flags = environment.build.flags
    forced = [str(flags.directory / path) for option, path in pairwise(flags.options) if option in _TAKES_FILE]
    directories = tuple(flags.directory / option[2:] for option in flags.options if option.startswith("-I"))
    includes = Includes(environment.build.tree, directories)
    return lambda files, units: includes.including(units, files, forced)


def _ordered(tree: Path, units: frozenset[str], change: CheckedChange) -> tuple[str, ...]:
    preferred = [unit for unit in change.prefer if unit in units]
    return (*preferred, *_ranked(tree, units - frozenset(preferred), change))


def _ranked(tree: Path, units: Iterable[str], change: CheckedChange) -> list[str]:
    """Units that name the record most often come first, among equals those that name its members."""
    names = [name for pair in change.pairs for name in (pair.first, pair.second)]
    patterns = [
        re.compile(b"\\b(?:" + b"|".join(re.escape(word.encode()) for word in sorted(set(words))) + b")\\b")
        for words in ([change.record], names)
        if any(words)
    ]
    if not patterns:
        return sorted(units)
    texts = ((unit, source_bytes(tree, unit) or b"") for unit in units)
    counts = {unit: [-len(pattern.findall(text)) for pattern in patterns] for unit, text in texts}
    return sorted(counts, key=lambda unit: (*counts[unit], unit))


@dataclass(frozen=True, slots=True)
class FlagVariant:
    """How flags differ from the tree's own: another ``compiler``, without options that begin as those ``dropped``."""

    title: str
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    compiler: str = ""

    def applied(self, flags: Flags) -> Flags:
        """The flags made different so."""
        own = (option for option in flags.options if not (self.dropped and option.startswith(self.dropped)))
        return replace(flags, compiler=self.compiler or flags.compiler, options=(*own, *self.added))


TREE = "tree"
VARIANTS: Mapping[str, FlagVariant] = MappingProxyType(
    {
        TREE: FlagVariant("own flags"),
        "debug": FlagVariant("-O0", ("-O0", "-UNDEBUG"), ("-O", "-DNDEBUG")),
        "release": FlagVariant("-O2 -DNDEBUG", ("-O2", "-DNDEBUG"), ("-O", "-UNDEBUG")),
        "i386": FlagVariant("-m32", ("-m32",), _ABOUT_THE_MACHINE),
        "arm64": FlagVariant("arm64", (), _ABOUT_THE_MACHINE, "aarch64-linux-gnu-gcc"),
    }
)
MATRIX = tuple(VARIANTS)


def program_environment(name: str, tree: Tree, seen: Sequence[Path], file: str, unit: str | None) -> Environment:
    """The variant called ``name`` for ``file``, which ``unit`` includes; ``seen`` is what a compiler may read.

    Raises ``TreeError`` or ``ToolMissing``.
    """
    variant = VARIANTS[name]
    build = plain_build(tree, seen, file, unit)
    if variant.compiler and shutil.which(variant.compiler) is None:
        raise missing(variant.compiler)

    def units(tell: Progress) -> Units:
        found = recorded_units(tree.root, tree.build, tell)
        if found.names:
            return replace(found, flags_of=lambda one: (flags := found.flags_of(one)) and variant.applied(flags))
        sources = (str(path.relative_to(tree.root)) for path in tree.root.rglob("*.c") if path.is_file())
        return Units(tuple(islice(sources, _MOST_SOURCES)), lambda _: varied.flags)

    varied = replace(build, flags=variant.applied(build.flags))
    return Environment(variant.title, varied, units)
