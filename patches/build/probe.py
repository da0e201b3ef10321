# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a file, as it is or edited, with a tree's own flags and reads back what the compiler made of a record.

The edited file lies in an overlay directory that comes first in every search for an include file; nothing is
written to the tree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.child import Command, find, run, run_apart, timed_out
from linesmith.analyzer.base.errors import (
    CommandTimedOut,
    DebugInfoDamaged,
    DebugInfoMissing,
    ElfError,
    VerificationFailed,
)
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.dwarf import object_reader, table_from_reader
from linesmith.patches.build.confinement import SYSTEM, Confinement, is_confinable
from linesmith.patches.build.kbuild import TreeBuild, for_unit
from linesmith.patches.build.overlay import Contents, Overlay, Quotes, lay_out, scratch
from linesmith.patches.source.declaration import included, recorded_file
from linesmith.patches.source.tree import source_bytes

_SECONDS = 60


def check_reads(command: Command, list_to: Path) -> None:
    """Raise ``VerificationFailed`` where the unit of a confined compile includes a file that is out of its reach.

    The preprocessor says what it reads; what it complains of is not passed on, for that may show the file. Nothing is
    checked where the system confines the compiler.
    """
    confinement = command.confinement
    if not isinstance(confinement, Confinement) or is_confinable():
        return
    at = command.argv.index("-c")  # -c -o OBJECT
    argv = (*command.argv[:at], *command.argv[at + 3 :], "-M", "-MF", str(list_to))
    if run(replace(command, argv=argv, seconds=_SECONDS)).status:
        raise VerificationFailed("it cannot be preprocessed, and is not compiled on a system without Landlock")
    known = (*map(Path, SYSTEM), *confinement.readable, *confinement.writable)
    # A rule for make.
    rule = list_to.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    listed = rule.partition(":")[2].replace("\\ ", "\\").split()
    places = [form for one in known for form in (one, one.resolve())]
    for file in listed:
        # As it is written, and where links lead.
        forms = Path(os.path.normpath(command.directory / file)), (command.directory / file).resolve()
        if not all(any(form.is_relative_to(place) for place in places) for form in forms):
            raise VerificationFailed(f"it includes {file}, which belongs neither to the tree nor to the compiler")


COMPILE_SECONDS = 300
# The status of the reader of objects where the compiler failed.
_NOT_COMPILED = 3
PROBE_NAME = "linesmith-probe.c"
_ERROR = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$")
# What a compiler says of a header that is missing or hidden; the message must not tell which of the two.
_MISSING = re.compile(r"(?P<name>[\w./+-]{1,400}): (?:No such file or directory|Permission denied)")
_MOST_OF_A_LINE = 1000
# Hostile text has errors without end; one is enough.
_BEFORE_OUTPUT = ("-fmax-errors=16", "-g", "-fno-eliminate-unused-debug-types", "-c", "-o")


@dataclass(frozen=True, slots=True)
class Probe:
    """What to compile: ``file`` (relative to the tree) in a unit of its own, or through the unit ``through``.

    ``variable`` declares an object of the record: ``struct inode``; empty where no record has to be there. Headers that
    have to be ``known`` are included before it, as from anywhere in the tree.
    """

    file: str
    variable: str
    through: str | None = None
    known: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The file of the tree that the probe unit includes."""
        return self.through or self.file


@dataclass(frozen=True, slots=True)
class CompiledProbe:
    """The records of a probe unit, the command that compiled it, and the overlay (gone perhaps) that it read."""

    layouts: LayoutTable
    command: Command
    overlay: Overlay


def compiled(build: TreeBuild, probe: Probe, contents: Contents) -> CompiledProbe:
    """The records of a probe in a tree with other ``contents``, by file relative to the tree, ``None`` for no file.

    Raises ``VerificationFailed`` with the compiler's first error, ``ToolMissing`` without the compiler.
    """
    with scratch() as root:
        overlay = lay_out(root, build.tree, contents, (probe.file, probe.unit), Quotes(build.sources))
        return compiled_in(overlay, build, probe)


def first_compiled(build: TreeBuild, tried: Sequence[Probe], contents: Contents) -> tuple[Probe, CompiledProbe]:
    """The first of ``tried`` that compiles, each with the flags of its own unit.

    Raises ``VerificationFailed`` with what the compiler says of the first one.
    """
    failures: list[str] = []
    for probe in tried:
        try:
            return probe, compiled(for_unit(build, probe.unit), probe, contents)
        except VerificationFailed as failure:
            failures.append(str(failure))
    units = [one.through for one in tried if one.through]
    through = f" (nor does it through {', '.join(units)})" if units else ""
    raise VerificationFailed(f"before any change, {failures[0]}{through}")


def compiled_in(overlay: Overlay, build: TreeBuild, probe: Probe, seconds: float = COMPILE_SECONDS) -> CompiledProbe:
    """The same with what is laid out in ``overlay``, in which nothing is written but links; for ``seconds`` at most."""
    with scratch() as made:
        unit = _unit(made, overlay, probe)
        output = made / "probe.o"
        flags = build.flags
        quoted = overlay.quoted(file for file in (probe.through, probe.file) if file)
        argv = (flags.compiler, *overlay.options(flags), *quoted, *_BEFORE_OUTPUT, str(output), str(unit))
        within = build.confinement(build.flags.compiler, (overlay.root,), made)
        command = Command(argv, build.flags.directory, min(seconds, COMPILE_SECONDS), within)
        check_reads(command, made / "reads.d")
        # Text can write any debug information, so its reader is confined: it may reach what the compiler may.
        reader = object_reader()
        words = (str(reader), str(output), find(argv[0]), *argv[1:])
        reached = within if isinstance(within, Confinement) else Confinement()
        reached = replace(reached, readable=(*reached.readable, reader))
        try:
            written = run_apart(replace(command, argv=words, confinement=reached))
        except CommandTimedOut:
            raise timed_out(command) from None
        if written.status == _NOT_COMPILED:
            raise VerificationFailed(_complaint(probe, overlay, written.errors))
        try:
            layouts = table_from_reader(written.output, written.status)
        except (ElfError, DebugInfoMissing, DebugInfoDamaged) as error:
            why = str(error).replace(f"{made}/", "")
            message = f"what {build.flags.compiler} made of {probe.file} cannot be read back: {why}"
            raise VerificationFailed(message) from error
    stale = overlay.stale(one.file for one in layouts if one.file)
    if stale:
        how = ", which the change takes away" if stale in overlay.gone else " by a path that leads past the change"
        raise VerificationFailed(f"{probe.file} includes {stale}{how}")
    return CompiledProbe(layouts, command, overlay)


def _unit(folder: Path, overlay: Overlay, probe: Probe) -> Path:
    """Write the unit that includes the file; returns its path."""
    unit = folder / PROBE_NAME
    variable = f"{probe.variable} linesmith_probe;\n" if probe.variable else ""
    known = "".join(f"#include <{one}>\n" for one in probe.known)
    unit.write_text(f'{known}#include "{overlay.unit(probe.unit)}"\n{variable}', encoding="utf-8")
    return unit


def _complaint(probe: Probe, overlay: Overlay, output: str) -> str:
    """The first error; the text of one in a file that does not change is not shown, for it may quote any file."""
    match = next((found for line in output.splitlines() if (found := _ERROR.match(line[:_MOST_OF_A_LINE]))), None)
    through = f" (through {probe.through})" if probe.through else ""
    if match is None:
        return f"{probe.file} does not compile{through}: {(output.strip().splitlines() or ['no message'])[0][:200]}"
    if match["file"].endswith(f"/{PROBE_NAME}"):
        said = f"{probe.file} does not define {probe.variable} in the tree's configuration"
        return f"{said} ({match['text']}); configure the tree like the ELF file"
    file = overlay.original(match["file"])
    if missing := _MISSING.fullmatch(match["text"]):
        name = missing["name"].removeprefix(f"{overlay.root}/")
        return f"{probe.file} does not compile{through}: {file}:{match['line']}: {name} is not among the sources"
    if file in overlay.files:
        return f"{probe.file} does not compile{through}: {file}:{match['line']}: {match['text']}"
    return f"{probe.file} does not compile{through}: there is an error at {file}:{match['line']}"


_MOST_UNITS = 3
_MOST_FILES = 400
# A kernel has 1,400 in one folder.
_MOST_HEADERS = 4_000
# Between them they include what nearly all units of a kernel do.
_BASIC_HEADERS = ("linux/module.h", "linux/netdevice.h", "linux/pci.h")


def probes(build: TreeBuild, file: str, variable: str, recorded: str | None) -> tuple[Probe, ...]:
    """The ways to compile ``file``, the surest first; ``recorded`` is the unit that DWARF names.

    A header that cannot stand alone is compiled through units that include it, or behind what most units include.
    """
    alone = Probe(file, variable)
    units = _including_units(build.sources, file, recorded)
    behind = (replace(alone, known=_BASIC_HEADERS),) if build.is_kernel and file.endswith(".h") else ()
    return (alone, *(replace(alone, through=unit) for unit in units), *behind)


def _including_units(tree: Path, file: str, recorded: str | None) -> tuple[str, ...]:
    """Units to try for ``file``, relative to ``tree``: the one DWARF names, then neighbours that include the file.

    Headers next to it come last, for what needs the headers that another one includes before it.
    """
    if file.endswith(".c"):
        return ()
    found: dict[str, None] = {}
    unit = recorded_file(tree, recorded)
    if unit is not None and unit.endswith(".c"):
        found[unit] = None
    found.update(dict.fromkeys(islice(_neighbours(tree, PurePosixPath(file)), _MOST_UNITS)))
    return tuple(islice(found, _MOST_UNITS))


def _neighbours(tree: Path, file: PurePosixPath) -> Iterator[str]:
    for path, text in _mentioning(tree, file, "*.c", _MOST_FILES):
        if (True, file.name) in included(text):
            yield path
    # A header next to the file means it in angles by the end of its path, with a folder at least.
    ends = {str(PurePosixPath(*file.parts[start:])) for start in range(len(file.parts) - 1)}
    for path, text in _mentioning(tree, file, "*.h", _MOST_HEADERS):
        if any(
            name == file.name if in_quotes else str(PurePosixPath(name)) in ends for in_quotes, name in included(text)
        ):
            yield path


def _mentioning(tree: Path, file: PurePosixPath, pattern: str, most: int) -> Iterator[tuple[str, bytes]]:
    """Other files of the same folder with the name of ``file`` in their text."""
    name = file.name.encode()
    for path in islice(sorted((tree / file.parent).glob(pattern)), most):
        place = str(file.parent / path.name)
        text = source_bytes(tree, place) if path.name != file.name else None
        if text is not None and name in text:
            yield place, text
