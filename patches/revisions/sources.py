# SPDX-License-Identifier: GPL-2.0-or-later
"""From two versions of a tree to what the lint looks at: only what declares changed records is compiled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import CommandTimedOut, Deadline, DeadlinePassed
from linesmith.analyzer.base.text import shortened
from linesmith.analyzer.intent.check import symbols_in
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.lint.linting import Linted
from linesmith.analyzer.lint.rules.catalogue import LintedBuild
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.caches import served_records
from linesmith.patches.build.confinement import is_confinable
from linesmith.patches.build.overlay import scratch
from linesmith.patches.build.preparation import Progress
from linesmith.patches.matrix.choice import Environment
from linesmith.patches.matrix.users import each
from linesmith.patches.revisions.compiling import (
    BothVersions,
    CompileRequest,
    Compiling,
    EnvironmentOf,
    compiled_in_both,
    declaring,
    environments,
)
from linesmith.patches.revisions.counterparts import MOST_FILES as MOST_HOLDING
from linesmith.patches.revisions.counterparts import Counterpart, counterparts, holding
from linesmith.patches.revisions.join import (
    JoinedRecords,
    PositionalInitialisers,
    initialised,
    joined,
    removed_records,
    with_removed,
    with_task_struct,
)
from linesmith.patches.revisions.versions import Overlays, Versions

# Files that declare changed records, each of which takes a second or two.
MOST_FILES = 400
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class RevisionSources:
    """What the lint looks at, and the symbols of the kernel's configuration (``None``: not known, or no kernel).

    ``title`` is what a reader knows the configuration by, empty where nothing was compiled.
    """

    linted: Linted
    configuration: frozenset[str] | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class _CompiledFiles:
    """What files show of records, why others show nothing, and those that the deadline left out."""

    records: tuple[BothVersions, ...] = ()
    remarks: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles files of both versions, each in its environment, as long as the deadline lasts."""

    versions: Versions
    laid: Overlays
    of: EnvironmentOf
    progress: Progress
    deadline: Deadline

    def compiled(self, files: Sequence[Counterpart]) -> _CompiledFiles:
        """What the files show; raises ``VerificationFailed`` for a second version that does not compile."""
        if not files:
            return _CompiledFiles()
        self.progress(f"compiling {len(files)} files of {self.versions.base} and of {self.versions.head}")
        found: dict[Counterpart, BothVersions | str] = {}

        def keep(file: Counterpart) -> None:
            how = Compiling(self.versions, self._of(file), self.laid, self.deadline.remaining)
            with suppress(CommandTimedOut):
                found[file] = compiled_in_both(how, file)

        with suppress(DeadlinePassed), self.deadline.running():
            self._of(files[0])  # what has to be prepared is prepared before several ask for it
            each(keep, files, lambda done: self.progress(f"{done} of {len(files)} compiled"))
        results = [found[file] for file in files if file in found]
        remarks = (one.remark if isinstance(one, BothVersions) else one for one in results)
        unjudged = tuple(file.new for file in files if file not in found)
        return _CompiledFiles(
            tuple(one for one in results if isinstance(one, BothVersions)), tuple(filter(None, remarks)), unjudged
        )

    def is_here(self, file: Counterpart) -> bool:
        """Whether the machine that is compiled for has the file."""
        name = file.old or file.new
        folder = self._of(file).folder if name.startswith("arch/") else ""
        return not folder or name.startswith(f"arch/{folder}/")

    def environment(self, files: Sequence[Counterpart]) -> Environment | None:
        """How the files are compiled, those of a kernel before the programs next to it."""
        return max((self._of(one) for one in files), key=lambda one: bool(one.folder), default=None)

    def _of(self, file: Counterpart) -> Environment:
        return self.of(file.old or file.new)


def sources(
    versions: Versions, recipe: CompileRequest, requested: Collection[str], progress: Progress
) -> RevisionSources:
    """The records that differ between the versions, and those called ``requested`` where they are seen.

    Raises ``TreeError``, ``ToolMissing``, and ``VerificationFailed`` for a second version that does not compile;
    ``DeadlinePassed`` where not even the changed files could be read, or no build be prepared, in time. What was read,
    but not judged, is stated.
    """
    with recipe.deadline.running():
        files = _files(versions, requested)
    with scratch() as root:
        laid = Overlays(root, versions)
        compiler = _Compiler(versions, laid, environments(versions.root, recipe, progress), progress, recipe.deadline)
        with recipe.deadline.running():
            here = [one for one in files if compiler.is_here(one)]
            environment = compiler.environment(files)
        shown = compiler.compiled(here[:MOST_FILES])
        records = joined(shown.records, requested)
        further = _holders(compiler, records, files, environment)
    records = joined((*shown.records, *further.records), requested)
    unjudged = shown.unjudged or further.unjudged
    text, gone = PositionalInitialisers({}), tuple[str, ...]()
    try:
        with recipe.deadline.running():
            text = initialised(versions, records.pairs, progress)
            gone = removed_records(versions, requested)
    except DeadlinePassed:
        unjudged = unjudged or tuple(one.new for one in here)
    remarks = list(versions.remarks)
    if unjudged:
        counted = f"{len(unjudged)} files were" if len(unjudged) > 1 else "1 file was"
        names = shortened(unjudged, _SHOWN)
        remarks.append(
            f"{counted} not judged within {recipe.deadline.seconds:g} s: {names}; --deadline gives more time"
        )
    remarks += [*shown.remarks, *further.remarks]
    if others := len(files) - len(here):
        counted = "1 file of another machine was" if others == 1 else f"{others} files of other machines were"
        remarks.append(f"{counted} not compiled; --on names one, such as arm64")
    prepared = environment.build.preparation if environment else None
    linted = Linted(
        versions.head,
        _side(records.new, environment),
        records.pairs,
        versions.base,
        _side(with_removed(records.old, gone), environment),
        records.compared,
        records.changed,
        text.facts,
        (*remarks, *text.remarks, *_limits(here, environment)),
        tuple(dict.fromkeys(unjudged)),
    )
    symbols = symbols_in(prepared.configured().text) if prepared else None
    return RevisionSources(linted, symbols, environment.title if environment else "")


def _files(versions: Versions, requested: Collection[str]) -> tuple[Counterpart, ...]:
    """What is compiled: first what was declared elsewhere, so that it is not taken for new; last what is new."""
    found = counterparts(versions.changes)
    changed = (Counterpart(file, file) for file in declaring(versions, requested))
    new = {one.new for one in found}
    return (
        *(one for one in found if one.old),
        *(one for one in changed if one.new not in new or versions.before.get(one.new) is not None),
        *(one for one in found if not one.old),
    )


def _side(layouts: LayoutTable, environment: Environment | None) -> LintedBuild:
    if environment is None or not environment.folder:
        return LintedBuild(layouts, slabs=False)
    return LintedBuild(with_task_struct(layouts), Kernel(environment.slabs) if environment.slabs else Kernel())


def _holders(
    compiler: _Compiler, records: JoinedRecords, known: Sequence[Counterpart], environment: Environment | None
) -> _CompiledFiles:
    """What holds a record by value that takes other room than before, as far as few files show it."""
    grown = set()
    for old, new in records.pairs:
        rooms = {(one.size, max(one.natural_alignment, one.alignment or 1)) for one in (old, new) if one}
        if old and new and new.name and len(rooms) > 1:
            grown.add(new.title)
    served = served_records(environment.slabs.release) if environment and environment.slabs else ()
    names = {name for one in known for name in (one.old, one.new)}
    try:
        with compiler.deadline.running():
            others = holding(compiler.versions.root, grown, names, served)
    except DeadlinePassed:
        return _CompiledFiles(unjudged=tuple(one.new for one in known))
    found = [one for one in (Counterpart(file, file) for file in others) if compiler.is_here(one)]
    shown = compiler.compiled(found[:MOST_HOLDING])
    left, held = len(found) - len(shown.records), ", ".join(sorted(grown)[:3])
    remark = f"{left} more files that hold {held} by value were not compiled"
    if left == 1:
        remark = f"1 more file that holds {held} by value was not compiled"
    return replace(shown, remarks=(remark,) if left else ())


def _limits(files: Sequence[Counterpart], environment: Environment | None) -> Iterator[str]:
    if len(files) > MOST_FILES:
        yield f"{len(files) - MOST_FILES} of {len(files)} changed files were not compiled"
    if files and not is_confinable():
        yield "the compiler was not confined, because this system has no Landlock: it could read any file"
    yield from environment.build.remarks if environment else ()
