# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that see a change, compiled before and after it on all our CPUs, with the warnings that are new.

Lines move with a change, so those of warnings are not compared.
"""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

from linesmith.analyzer.base.child import ChildrenOfThreads, Command, run, undisturbed
from linesmith.analyzer.base.errors import Deadline, DeadlinePassed
from linesmith.analyzer.model import CompiledUser
from linesmith.patches.build.kbuild import TreeBuild
from linesmith.patches.build.options import Flags
from linesmith.patches.build.overlay import Overlay, Quotes, lay_out, scratch
from linesmith.patches.build.preparation import Progress
from linesmith.patches.build.probe import check_reads
from linesmith.patches.matrix.choice import CheckedChange, Environment, Units, units_to_compile

_COMPLAINT = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?P<kind>warning|(?:fatal )?error): (?P<text>.*)$"
)
_MOST_OF_A_LINE = 2000
_MOST_OF_A_TEXT = 300
UNIT_SECONDS = 600
_TOLD_EVERY = 20


@dataclass(frozen=True, slots=True)
class Complaint:
    """A warning or an error of a compiler; ``file`` is relative to the tree where it lies there."""

    file: str
    line: int
    text: str
    is_error: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def complaints(output: str, overlay: Overlay) -> tuple[Complaint, ...]:
    """The warnings and errors that the compiler wrote, each once, in their order."""
    found: dict[Complaint, None] = {}
    for match in (_COMPLAINT.match(line[:_MOST_OF_A_LINE]) for line in output.splitlines()):
        if match:
            text = match["text"].replace(f"{overlay.root}/", "").replace(f"{overlay.tree}/", "")[:_MOST_OF_A_TEXT]
            is_error = match["kind"] != "warning"
            found[Complaint(overlay.original(match["file"]), int(match["line"]), text, is_error)] = None
    return tuple(found)


def new(before: Sequence[Complaint], after: Sequence[Complaint]) -> tuple[Complaint, ...]:
    """The warnings ``after`` that are not there ``before`` in the same file with the same text, as often."""
    known = Counter((one.file, one.text) for one in before)
    found = []
    for one in after:
        known[one.file, one.text] -= 1
        if known[one.file, one.text] < 0 and not one.is_error:
            found.append(one)
    return tuple(found)


def first_error(found: Sequence[Complaint], output: str) -> str:
    """The first error that names a line, else the first other one, else the last line that was written."""
    error = next((one for one in found if one.is_error), None)
    if error:
        return str(error)
    lines = output.strip().splitlines() or ["no message"]
    return next((line for line in lines if "error: " in line), lines[-1])[:_MOST_OF_A_TEXT]


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def each(function: Callable[[_Item], _Result], items: Iterable[_Item], done: Callable[[int], None]) -> list[_Result]:
    """``function`` of each item, in their order, in threads; what one raises ends all others, with their children.

    ``done`` gets how many are through. A signal that ends us, or a deadline, is heard while we wait, and no thread
    and no child is left then.
    """
    asked = list(items)
    children = ChildrenOfThreads()
    with undisturbed() as mask:  # a thread that a signal took from us would go on alone
        pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)), initializer=children.join)
        results: list[_Result] = []
        try:
            running = pool.map(function, asked)
            for number in range(1, len(asked) + 1):
                results.append(_disturbed(mask, partial(next, running)))
                done(number)
            return results
        except BaseException:
            children.end()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _disturbed(mask: set[signal.Signals], waiting: Callable[[], _Result]) -> _Result:
    """What ``waiting`` gives; a signal may end it."""
    # No generator does this: the rest of one that a signal left would run when it is collected.
    held = signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        return waiting()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


@dataclass(frozen=True, slots=True)
class CompiledUsers:
    """The units that were compiled on both sides; ``left_out`` tells how many could not be, and why.

    ``unjudged`` are the units that the deadline left out.
    """

    units: tuple[CompiledUser, ...]
    left_out: tuple[str, ...]
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _CompiledSide:
    """One unit on one side; ``status`` 0 is success, ``error`` what kept it from compiling."""

    status: int
    complaints: tuple[Complaint, ...]
    error: str = ""


def compiled_users(
    environment: Environment, change: CheckedChange, count: int | None, deadline: Deadline, progress: Progress
) -> CompiledUsers:
    """The edited units and ``count`` more that see the change, all where it is ``None``.

    Raises ``DeadlinePassed`` where not even the units are known in time.
    """
    with deadline.running():
        units = environment.units(progress)
        found = units_to_compile(environment, units, change, count)
    if not found.units:
        return CompiledUsers((), (f"no unit of this build is known to include {change.files[0].file}",))
    of_all = f" of {found.seeing}" if found.seeing else ""
    progress(f"compiling {len(found.units)}{of_all} units that see the change, before and after")
    results: dict[str, CompiledUser | str] = {}
    with scratch() as root, suppress(DeadlinePassed), deadline.running():
        sides = []
        for folder, files in ((root / "before", change.before), (root / "after", change.after)):
            folder.mkdir()
            quotes = Quotes(environment.build.sources)
            sides.append(lay_out(folder, environment.build.tree, files, found.units, quotes))

        def keep(unit: str) -> None:
            results[unit] = _compared(environment.build, units, sides[0], sides[1], unit)

        def tell(done: int) -> None:
            if done % _TOLD_EVERY == 0:
                progress(f"compiled {done} of {len(found.units)} units")

        each(keep, found.units, tell)
    ended = [results[unit] for unit in found.units if unit in results]
    late = tuple(unit for unit in found.units if unit not in results)
    failed = [one for one in ended if isinstance(one, str)]
    left = [f"units that do not compile without the change either: {len(failed)}, first {failed[0]}"] if failed else []
    if late:
        counted = f"{len(late)} of {len(found.units)}"
        left.append(f"units that were not compiled in time: {counted}, first {late[0]}: {deadline.passed}")
    return CompiledUsers(tuple(one for one in ended if isinstance(one, CompiledUser)), tuple(left), late)


def _compared(build: TreeBuild, units: Units, before: Overlay, after: Overlay, unit: str) -> CompiledUser | str:
    """The unit on both sides; why it is left out where it does not compile without the change."""
    flags = units.flags_of(unit)
    if flags is None:
        return f"{unit}: how it is compiled is not known"
    there = unit not in before.gone
    old = _side(build, flags, before, unit) if there else _CompiledSide(0, ())
    if old.status:
        return old.error
    if unit in after.gone:
        return f"{unit}: the change removes it"
    found = _side(build, flags, after, unit)
    if found.error:
        return CompiledUser(unit, failed=found.error)
    return CompiledUser(unit, tuple(map(str, new(old.complaints, found.complaints))))


def _side(build: TreeBuild, flags: Flags, overlay: Overlay, unit: str) -> _CompiledSide:
    source = overlay.unit(unit)
    with scratch() as made:
        listed = made / "unit.d"
        options = (*overlay.options(flags), *overlay.quoted((unit,)), "-MD", "-MF", str(listed))
        argv = (flags.compiler, *options, "-c", "-o", str(made / "unit.o"), str(source))
        within = build.confinement(flags.compiler, (overlay.root,), made)
        command = Command(argv, flags.directory, UNIT_SECONDS, within)
        check_reads(command, made / "reads.d")
        ended = run(command)
        found = complaints(ended.output, overlay)
        error = first_error(found, ended.output) if ended.status else _missed(overlay, listed, flags.directory)
    return _CompiledSide(ended.status, found, error)


def _missed(overlay: Overlay, listed: Path, directory: Path) -> str:
    """Says so where the compiler read a changed file as it is in the tree: by a path that leads past the change."""
    names = {PurePosixPath(file).name for file in overlay.files}
    originals = {str((overlay.tree / file).resolve()) for file in overlay.files}
    # The files of a dependency list as gcc writes it.
    text = listed.read_text(encoding="utf-8", errors="replace") if listed.is_file() else ""
    for path in (word for word in text.replace("\\\n", " ").split() if os.sep in word or "." in word):
        if PurePosixPath(path).name in names and str((directory / path).resolve()) in originals:
            return f"{overlay.original(path)} was read without the change"
    return ""
