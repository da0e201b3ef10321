# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the compilations of a build: Kbuild's records, else compile_commands.json, else what make would run.

Kbuild records them next to the objects (scripts/Kbuild.include, scripts/basic/fixdep.c): ``.NAME.o.cmd`` holds
``cmd_TARGET :=`` (``savedcmd_TARGET :=`` since 6.4), ``source_TARGET :=`` and ``deps_TARGET :=``, with a path on each
line. Of all units those can show something of a record that include its declaration, and of these a part does.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from linesmith.analyzer.base.errors import ScanFailed, TreeError
from linesmith.patches.build.kbuild import NAME, entries, is_kernel, kernel_build
from linesmith.patches.scan.carriers import Files, carriers
from linesmith.patches.scan.header_text import declares
from linesmith.patches.source.tree import source_bytes


@dataclass(frozen=True, slots=True)
class Unit:
    """The C file ``file`` as compiled in ``directory`` by ``command``: shell text, or words.

    All paths are absolute. ``origin`` is the file that records it; ``includes`` are the files that the compiler read
    next to it, ``None`` where that is not known.
    """

    file: str
    directory: Path
    command: str | tuple[str, ...]
    origin: Path
    includes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """The units of one build; ``title`` is what a user knows the database by.

    ``tree`` is the root of its sources, ``build`` where its objects are, ``image`` a copy of the tree, made of
    links, that units may be compiled from. ``builds`` are the directories that hold generated headers.
    """

    tree: Path
    build: Path
    units: tuple[Unit, ...]
    title: str
    image: Path | None = None
    builds: tuple[Path, ...] = ()

    def relative(self, file: str) -> str:
        """An absolute path, relative to the tree or its image, or to the build for what make generated there."""
        prefixes = (f"{place}{os.sep}" for place in (self.image, self.tree, self.build) if place)
        return file.removeprefix(next((prefix for prefix in prefixes if file.startswith(prefix)), ""))


_COMMAND = re.compile(rb"(?:saved)?cmd_\S+ *:= *(.*)")
_SOURCE = re.compile(rb"^source_\S+ *:= *(\S+\.c)$", re.MULTILINE)
_DEPENDENCY = re.compile(rb"^  ([^\s$][^\n]*?) \\$", re.MULTILINE)
# Units for assembly (asm-offsets.c, bounds.c) are compiled to .s.
_SUFFIXES = (".o.cmd", ".s.cmd")
_MOST_BYTES = 8 << 20
_WRITE_IT = "let cmake, meson or bear write it, and name its directory with --build"


def kbuild_units(build: Path) -> Iterator[Unit]:
    """Every C unit that was compiled in ``build``, in the order of its folders; records that cannot be read fall away.

    A build that was moved has records of files that are not there.
    """
    directory = build.resolve()

    @cache
    def absolute(path: bytes) -> str:
        return os.path.normpath(directory / os.fsdecode(path))

    for place, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith(".git"))
        for name in sorted(name for name in names if name.startswith(".") and name.endswith(_SUFFIXES)):
            path = Path(place, name)
            text = (source_bytes(directory, path.relative_to(directory)) or b"")[:_MOST_BYTES]
            command, source = _COMMAND.match(text), _SOURCE.search(text)
            if command is None or source is None:
                continue
            includes = frozenset(map(absolute, _DEPENDENCY.findall(text, source.end())))
            yield Unit(absolute(source[1]), directory, os.fsdecode(command[1]), path, includes)


def check_compiled(tree: Path, build: Path | None) -> None:
    """Raise ``ScanFailed`` where nothing can say how the sources are compiled, which is quickly known."""
    made = build or tree
    if any((place / NAME).is_file() for place in (made, tree)):
        return
    if not is_kernel(tree):
        raise ScanFailed(f"{made} has no {NAME}; {_WRITE_IT}")
    if not (made / ".config").exists() and next(kbuild_units(made), None) is None:
        raise ScanFailed(f"{made} has no .config; run make defconfig there, or name the build directory with --build")


def database(tree: Path, build: Path | None, tell: Callable[[str], None]) -> Database:
    """The compilations of the sources below ``tree``, built there or in ``build``.

    A kernel that is only configured is asked how it would be compiled. Raises ``ScanFailed`` where no compilations can
    be had, or where they are of another tree.
    """
    made = build or tree
    recorded = next((place / NAME for place in dict.fromkeys((made, tree)) if (place / NAME).is_file()), None)
    units = tuple(kbuild_units(made)) if is_kernel(tree) else ()
    title = f"Kbuild's records in {made}"
    if not units and recorded is not None:
        units, title = tuple(_entries(recorded)), str(recorded)
    if not units and is_kernel(tree):
        return _asked(tree, build, tell)
    if not units:
        raise ScanFailed(f"{made} has no {NAME}; {_WRITE_IT}")
    own = tuple(_of_tree(units, tree, made))
    if not own:
        raise ScanFailed(
            f"{title} belong to other sources ({units[0].file}) than {tree}; give --tree the sources that were built"
        )
    generated = (build,) if build else (tree / "include" / "generated", *(tree / "arch").glob("*/include/generated"))
    return Database(tree.resolve(), made.resolve(), own, title, builds=generated)


def _asked(tree: Path, build: Path | None, tell: Callable[[str], None]) -> Database:
    """What make would compile of a kernel that has no objects."""
    try:
        made = kernel_build(tree, build, tell)
        if made.preparation is None:
            raise ScanFailed(f"{build or tree} has no compiled objects; build the kernel there")
        known = made.preparation.unit_commands(tell)
    except TreeError as error:
        raise ScanFailed(f"cannot find how {tree} is compiled: {error}") from error
    image, origin = made.preparation.image, known.directory / "Makefile"
    units = (Unit(f"{image}/{unit}", known.directory, command, origin) for unit, command in known.commands.items())
    builds = (known.directory, image)
    return Database(tree.resolve(), known.directory, tuple(units), "what make would run", image, builds)


def _of_tree(units: Sequence[Unit], tree: Path, made: Path) -> Iterator[Unit]:
    """The units whose files are there, each once with each command; of generated ones those that lie in the build."""
    roots, generated = (
        tuple(f"{root}{os.sep}" for root in dict.fromkeys((place.resolve(), place.absolute())))
        for place in (tree, made)
    )
    seen: set[tuple[str, object]] = set()
    if not any(unit.file.startswith(roots) for unit in units):
        return
    for unit in units:
        key = unit.file, unit.command
        if unit.file.startswith((*roots, *generated)) and key not in seen and Path(unit.file).is_file():
            seen.add(key)
            yield unit


def _entries(recorded: Path) -> Iterator[Unit]:
    try:
        known = entries(recorded)
    except TreeError as error:
        raise ScanFailed(str(error)) from error
    for entry in known:
        directory = (recorded.parent / entry.directory).absolute()
        file = os.path.normpath(directory / entry.file)
        if file.endswith(".c"):
            yield Unit(file, directory, entry.arguments or entry.command, recorded)


# A file that so few units include is looked at as a part of each of them.
_FEW = 8
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# Headers of trace points become code where this is defined (include/trace/define_trace.h).
_TRACE = b"CREATE_TRACE_POINTS"


def selected(units: Sequence[Unit], record: str, files: Files) -> tuple[Unit, ...]:
    """The units worth parsing for ``record``.

    A unit counts when it includes the declaration and its own text can come to the record. Further ones are added
    until each header whose inline functions can is seen by one.
    """
    everything = {file for unit in units for file in (*(unit.includes or ()), unit.file)}
    name, pattern = record.encode(), declares((record.encode(),))
    contents = ((file, files.content(file) or b"") for file in everything)
    declaring = {file for file, content in contents if name in content and pattern.search(content)}
    including = [unit for unit in units if not declaring.isdisjoint((*(unit.includes or ()), unit.file))]
    return tuple(_choice(including, record, files))


def _choice(units: Sequence[Unit], record: str, files: Files) -> Iterator[Unit]:
    counts = Counter(file for unit in units for file in unit.includes or ())
    words = carriers(record, [files.text(file) for file in sorted({*counts, *(unit.file for unit in units)})])
    if words is None:
        yield from units
        return

    def leads(file: str) -> bool:
        return words.lead(files.content(file) or b"", files.words(file))

    headers = {file for file in counts if leads(file)}
    uncovered = set(headers)
    rest = []
    for unit in units:
        if leads(unit.file) or _in_own_parts(unit, headers, counts, files):
            uncovered -= unit.includes or frozenset()
            yield unit
        else:
            rest.append(unit)
    yield from _covering(rest, uncovered)


def _in_own_parts(unit: Unit, headers: set[str], counts: Counter[str], files: Files) -> bool:
    """Whether a header that means something else in this unit than elsewhere can come to the record."""
    parts = (unit.includes or frozenset()) & headers
    if any(counts[file] <= _FEW for file in parts):
        return True
    defined = frozenset(_DEFINED.findall(files.content(unit.file) or b""))
    if _TRACE in defined and any("/trace/" in file for file in parts):
        return True
    return any(not defined.isdisjoint(files.words(file)) for file in parts)


def _covering(units: Iterable[Unit], uncovered: set[str]) -> Iterator[Unit]:
    """Units, most useful first, that together include all files of ``uncovered`` that they can."""
    left = [(unit, (unit.includes or frozenset()) & uncovered) for unit in units]
    missing = set(uncovered)
    while missing and left:
        unit, seen = max(left, key=lambda one: len(one[1] & missing))
        if seen.isdisjoint(missing):
            return
        missing -= seen
        yield unit
