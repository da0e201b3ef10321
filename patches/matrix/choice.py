# SPDX-License-Identifier: GPL-2.0-or-later
"""A change to check, the configurations to check it under, and the units it concerns, in the order of what they tell.

A tree that is no kernel has its own flags here, those of debugging and of release, and those of other machines.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from types import MappingProxyType

from linesmith.analyzer.base.child import missing
from linesmith.analyzer.base.deadline import Deadline
from linesmith.analyzer.model import CACHE_LINE_BYTES, FileChange, Layout, Residual, SlabMachine
from linesmith.patches.build.kbuild import TreeBuild, plain_build
from linesmith.patches.build.options import Flags
from linesmith.patches.build.preparation import Progress
from linesmith.patches.matrix.units import Includes, Including, Units, recorded_units
from linesmith.patches.source.tree import Tree, source_bytes

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
    members to be parted, ``holders`` records of the ELF file that embed the record, ``others`` names of more records
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
    includes = Includes(environment.build.tree, flags.include_directories())
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
