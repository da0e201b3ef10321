# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a plan to a result in a run directory, and what is told on the way."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size

import click

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli.interruption import interruptible
from linesmith.analyzer.cli.options import write
from linesmith.analyzer.cli.remarks import quiet, remark
from linesmith.analyzer.cli.waiting import CLEAR_LINE
from linesmith.analyzer.errors import JournalError, PlanError
from linesmith.analyzer.model import Fidelity, Variant
from linesmith.plugins.api import Pool, Settings
from linesmith.plugins.registry import executor
from linesmith.tuner.tuning.preview import Preview
from linesmith.tuner.tuning.progress import Progress
from linesmith.tuner.tuning.run_directory import RunDirectory
from linesmith.tuner.tuning.variants import BASELINE

_SECONDS = 60
_RUNGS: dict[Fidelity | None, str] = {Fidelity.SIMULATION: "simulated", Fidelity.BENCHMARK: "benchmarked"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is kept and carried out; ``resume`` tells that it was begun before."""

    folder: Path
    resume: bool
    executor: str
    settings: Settings


@contextmanager
def at_work(plan_file: Path, place: Place) -> Iterator[tuple[RunDirectory, Pool]]:
    """The run directory, locked, and the workers; an interrupt says how to go on.

    Raises ``JournalError``, ``ExecutorFailed``, ``PlanError``, and ``ToolMissing``.
    """
    chosen = executor(place.executor)
    with _run_directory(plan_file, place) as run, interruptible():
        try:
            with chosen.open(place.settings, run.workers) as pool:
                yield run, pool
        except (KeyboardInterrupt, click.Abort):
            words = [word for word in sys.argv[1:] if word != "--resume"]
            click.echo(f"\nlinesmith: interrupted; go on with: linesmith {shlex.join(words)} --resume", err=True)
            raise click.Abort from None


def _run_directory(plan_file: Path, place: Place) -> RunDirectory:
    text = plan_file.read_text("utf-8")
    if not place.resume:
        return RunDirectory.create(place.folder, text, plan_file.absolute().parent)
    run = RunDirectory.open(place.folder)
    if (run.plan, run.folder) == (text, plan_file.absolute().parent):
        return run
    run.close()
    raise JournalError(
        f"{plan_file} is not the plan that {place.folder} was begun with (kept there as tune.toml); give that one, "
        "or leave --resume away where nothing was measured yet, or begin another run with --run"
    )


def show(preview: Preview, output: Path | None) -> None:
    """Write the commands of a run to ``output`` or the terminal, and what it would leave out to standard error."""
    for sentence in preview.remarks:
        remark(sentence)
    write("".join(f"{line}\n" for line in preview.commands), output)


def variants_of(patches: Sequence[Path]) -> tuple[Variant, ...]:
    """A variant for each patch, called after its file; raises ``PlanError`` where two have one name."""
    variants = tuple(Variant(path.stem, (path.read_bytes().decode("utf-8", "surrogateescape"),)) for path in patches)
    names = [variant.name for variant in variants]
    for name in names:
        if names.count(name) > 1 or name == BASELINE.name:
            raise PlanError(f"two variants would be called {name}; rename one of the patches")
    return variants


class Narrator:
    """Tells a person how a run goes: one line that changes, or a line for each change where nobody looks."""

    def __init__(self) -> None:
        self._last = ""
        self._quiet = quiet()

    def __call__(self, progress: Progress) -> None:
        """Show ``progress`` on standard error."""
        if self._quiet:
            return
        if sys.stderr.isatty():
            click.echo(
                f"{CLEAR_LINE}{fitting(visible(line(progress)), get_terminal_size().columns)}", err=True, nl=False
            )
        elif progress.doing != self._last:
            click.echo(visible(line(progress)), err=True)
        self._last = progress.doing


def line(progress: Progress) -> str:
    """How far the run is, for one line of a terminal."""
    parts = [progress.doing]
    if progress.budget:
        parts.append(f"{progress.trials} of {progress.budget} trials")
    if progress.limit:
        parts.append(f"{_minutes(progress.seconds)} of {progress.limit / _SECONDS:g} min")
    if progress.best is not None and progress.cost is not None:
        parts.append(_best(progress.best, progress.cost, progress.rung))
    return "; ".join(parts)


def fitting(text: str, columns: int) -> str:
    """As much of it as a line of the terminal holds: what is wider cannot be cleared."""
    return text if len(text) < columns else f"{text[: columns - 2]}…"


def _best(variant: str, cost: float, rung: Fidelity | None) -> str:
    """What a search has come to: a cost is like a time, whichever way the benchmark counts."""
    how = _RUNGS.get(rung, "estimated")
    if cost >= 1:
        return f"nothing better than the baseline so far ({how})"
    return f"best so far {variant}, cost {cost:.3f} of the baseline's ({how})"


def _minutes(seconds: float) -> str:
    """Minutes that are over, with tenths while they are few."""
    tenths = int(seconds / _SECONDS * 10)
    return f"{tenths / 10:.1f}" if tenths < 100 else f"{tenths // 10}"
