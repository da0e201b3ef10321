# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units a change concerns, in the order in which they tell most about it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from types import MappingProxyType

from linesmith.analyzer.base.deadline import Deadline
from linesmith.analyzer.model import CACHE_LINE_BYTES, FileChange, Layout, Residual, SlabMachine
from linesmith.patches.build.child import missing
from linesmith.patches.build.kbuild import Build
from linesmith.patches.build.options import Flags
from linesmith.patches.build.plain_build import plain_build
from linesmith.patches.build.preparation import Progress
from linesmith.patches.matrix.units import Includes, Including, Units, recorded_units
from linesmith.patches.source.tree import Tree, source_bytes

# What is to be checked: a change, and the configurations and machines to check it on.

# A machine that a server is; it decides how many objects SLUB wants in a slab.
CPUS = 64


@dataclass(frozen=True, slots=True)
class Change:
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
class Asked:
    """Configurations by name; under each so many ``users`` are compiled, objects that see the change (``None``: all).

    ``cpus`` is the number of CPUs that slabs are worked out for. ``deadlines`` gives what make and the compiles of each
    configuration count against: a new one for each, where the user named them.
    """

    names: tuple[str, ...]
    users: int | None = 0
    cpus: int = CPUS
    deadlines: Callable[[], Deadline] = Deadline


# One configuration ready to compile with: its flags, its units, and what its machine makes of records.

UnitsFound = Callable[[Progress], Units]


@dataclass(frozen=True, slots=True)
class Environment:
    """What a reader knows as ``title``; ``units`` are found when they are asked for.

    ``slabs`` is the machine as its slab allocator sees it, ``None`` where there is none whose rules are known;
    ``folder`` is the directory below ``arch/`` of a kernel.
    """

    title: str
    build: Build
    units: UnitsFound
    slabs: SlabMachine | None = None
    line_bytes: int = CACHE_LINE_BYTES
    folder: str = ""


_TAKES_FILE = ("-include", "-imacros")
# Units whose includes are followed at once while only some are looked for.
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Chosen:
    """The units to compile; ``seeing`` is how many see the change in all, ``None`` where not all were looked at."""

    units: tuple[str, ...]
    seeing: int | None


def chosen(environment: Environment, units: Units, change: Change, count: int | None) -> Chosen:
    """The units that the change edits, and ``count`` more that include a changed file: all where it is ``None``.

    Those that the change prefers come first, then those that name the record most often.
    """
    files = frozenset(one.file for one in change.files)
    edited = tuple(unit for unit in sorted(files) if unit in frozenset(units.names))
    if count == 0:
        return Chosen(edited, None)
    including = units.including or _by_text(environment)
    if units.including or count is None:
        seeing = including(files, units.names) - frozenset(edited)
        ordered = _ordered(environment.build.sources, seeing, change)
        return Chosen((*edited, *ordered[:count]), len(edited) + len(seeing))
    others = frozenset(units.names) - frozenset(edited)
    found = _first(including, files, _ordered(environment.build.sources, others, change), count)
    return Chosen((*edited, *found), None)


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


def _ordered(tree: Path, units: frozenset[str], change: Change) -> tuple[str, ...]:
    preferred = [unit for unit in change.prefer if unit in units]
    return (*preferred, *_ranked(tree, units - frozenset(preferred), change))


def _ranked(tree: Path, units: Iterable[str], change: Change) -> list[str]:
    """Units that name the record most often come first, among equals those that name its members."""
    names = [name for pair in change.pairs for name in (pair.first, pair.second)]
    patterns = [_pattern(words) for words in ([change.record], names) if any(words)]
    if not patterns:
        return sorted(units)
    counts = {unit: tuple(_counts(tree, unit, patterns)) for unit in units}
    return sorted(counts, key=lambda unit: (*(-count for count in counts[unit]), unit))


def _pattern(words: Iterable[str]) -> re.Pattern[bytes]:
    return re.compile(rb"\b(?:" + b"|".join(re.escape(word.encode()) for word in sorted(set(words))) + rb")\b")


def _counts(tree: Path, unit: str, patterns: Sequence[re.Pattern[bytes]]) -> Iterator[int]:
    text = source_bytes(tree, unit) or b""
    return (len(pattern.findall(text)) for pattern in patterns)


# The configurations of a tree that is no kernel: its own flags, those of debugging and of release, other machines.

_MOST_SOURCES = 4000
_ABOUT_THE_MACHINE = ("-m", "-target=", "--target=", "-fcf-protection")


@dataclass(frozen=True, slots=True)
class Variant:
    """How flags differ from the tree's own: another ``compiler``, without options that begin as those ``dropped``."""

    title: str
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    compiler: str = ""


TREE = "tree"
VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        TREE: Variant("own flags"),
        "debug": Variant("-O0", ("-O0", "-UNDEBUG"), ("-O", "-DNDEBUG")),
        "release": Variant("-O2 -DNDEBUG", ("-O2", "-DNDEBUG"), ("-O", "-UNDEBUG")),
        "i386": Variant("-m32", ("-m32",), _ABOUT_THE_MACHINE),
        "arm64": Variant("arm64", (), _ABOUT_THE_MACHINE, "aarch64-linux-gnu-gcc"),
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
        if not found.names:
            return Units(tuple(_sources(tree.root)), lambda _: varied.flags)
        return replace(found, flags_of=lambda one: _varied(found.flags_of(one), variant))

    varied = replace(build, flags=_with(build.flags, variant))
    return Environment(variant.title, varied, units)


def _sources(root: Path) -> Iterator[str]:
    """C files of a tree that has no record of its units; a few thousand are enough."""
    found = (path for path in root.rglob("*.c") if path.is_file())
    return (str(path.relative_to(root)) for path in islice(found, _MOST_SOURCES))


def _varied(flags: Flags | None, variant: Variant) -> Flags | None:
    return None if flags is None else _with(flags, variant)


def _with(flags: Flags, variant: Variant) -> Flags:
    options = (*_kept(flags.options, variant.dropped), *variant.added)
    return replace(flags, compiler=variant.compiler or flags.compiler, options=options)


def _kept(options: Sequence[str], dropped: tuple[str, ...]) -> list[str]:
    return [option for option in options if not (dropped and option.startswith(dropped))]
