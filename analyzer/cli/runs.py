# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of ``tune`` and ``bench``: the options that both have, how a run is carried out, and what it leaves for people.

A run is kept in a directory, from which it can go on; an interrupt says how. ``report`` shows the same results.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import JournalError, OutputError, PlanError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.group import interruptible
from linesmith.analyzer.cli.output import CLEAR_LINE, quiet, remark

if TYPE_CHECKING:
    from linesmith.analyzer.model import Fidelity, Result, TunePlan, Variant
    from linesmith.plugins.api import Pool
    from linesmith.tuner.run.laboratory import RunProgress
    from linesmith.tuner.run.preparation import Preview
    from linesmith.tuner.run.run_directory import RunDirectory


BEST = "best.patch"
_END_OF_MESSAGE = "\n---\n"
_SECONDS = 60


# The options.


@dataclass(frozen=True, slots=True)
class RunOptions:
    """A plan, where its run is kept (``folder``) and carried out; ``resume`` tells that it was begun before.

    ``minutes`` are those of wall time, where the plan's do not count.
    """

    plan: Path
    folder: Path | None
    resume: bool
    executor: str
    scheduler: str
    machines: str
    workers: int | None
    minutes: float | None

    def within(self, plan: TunePlan, trials: int | None = None) -> TunePlan:
        """The plan with another budget."""
        budget = plan.budget
        budget = replace(budget, trials=trials or budget.trials, minutes=self.minutes or budget.minutes)
        return replace(plan, budget=budget)

    def settings(self) -> dict[str, str | int]:
        """The settings of the executor's plugin: only those that were given.

        Raises ``click.UsageError`` for what is another's.
        """
        if self.executor == "local" and (self.scheduler or self.machines):
            raise click.UsageError("--scheduler and --machines need --executor dask")
        if self.executor == "dask" and not self.scheduler:
            raise click.UsageError("--executor dask needs --scheduler tcp://HOST:PORT")
        if self.executor == "dask" and self.workers is not None:
            raise click.UsageError("--workers needs --executor local; workers of dask are started separately")
        given = {"scheduler": self.scheduler or None, "bench": self.machines or None, "workers": self.workers}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def place(self) -> Path:
        """The run directory."""
        return self.folder or self.plan.with_suffix(".run")


run_given = options.gathered(
    "given",
    RunOptions,
    click.argument("plan", metavar="PLAN.toml", type=options.EXISTING_FILE),
    click.option(
        "--run", "folder", metavar="DIR", type=options.NEW_DIRECTORY, help="Run directory.  [default: PLAN.run]"
    ),
    click.option("--resume", is_flag=True, help="Continue an interrupted run."),
    click.option(
        "--executor", metavar="[local|dask]", default="local", show_default=True, help="Where to run builds and boots."
    ),
    click.option("--scheduler", metavar="ADDRESS", default="", help="With dask: scheduler address, tcp://HOST:PORT."),
    click.option("--machines", metavar="CLASS", default="", help="With dask: use workers with resource bench:CLASS."),
    click.option("--workers", metavar="N", type=click.IntRange(1, 256), help="With local: number of processes."),
    click.option(
        "--minutes", metavar="M", type=click.FloatRange(0, min_open=True), help="Time limit. Default: from the plan."
    ),
)


# From a plan to a result in a run directory.


@contextmanager
def at_work(given: RunOptions) -> Iterator[tuple[RunDirectory, Pool]]:
    """The run directory, locked, and the workers; an interrupt says how to go on.

    Raises ``JournalError``, ``ExecutorFailed``, ``PlanError``, ``ToolMissing``, and ``click.UsageError`` for settings
    of another executor.
    """
    from linesmith.plugins.registry import executor

    chosen, settings = executor(given.executor), given.settings()
    with _run_directory(given) as run, interruptible():
        try:
            with chosen.open(settings, run.workers) as pool:
                yield run, pool
        except (KeyboardInterrupt, click.Abort):
            words = [word for word in sys.argv[1:] if word != "--resume"]
            click.echo(f"\nlinesmith: interrupted; continue with: linesmith {shlex.join(words)} --resume", err=True)
            raise click.Abort from None


def _run_directory(given: RunOptions) -> RunDirectory:
    from linesmith.tuner.run.run_directory import RunDirectory

    text, beside = given.plan.read_text("utf-8"), given.plan.absolute().parent
    if not given.resume:
        return RunDirectory.create(given.place, text, beside)
    run = RunDirectory.open(given.place)
    if (run.plan, run.journal.folder) == (text, beside):
        return run
    run.close()
    raise JournalError(
        f"{given.plan} is not the plan of {given.place} (its tune.toml); give that plan, or leave out --resume if"
        " nothing was measured yet, or start another run with --run"
    )


def show(preview: Preview, output: Path | None) -> None:
    """Write the commands of a run to ``output`` or the terminal, and what it would leave out to standard error."""
    for sentence in preview.remarks:
        remark(sentence)
    options.write("".join(f"{line}\n" for line in preview.commands), output)


def variants_of(patches: Sequence[Path]) -> tuple[Variant, ...]:
    """A variant for each patch, called after its file; raises ``PlanError`` where two have one name."""
    from linesmith.analyzer.model import Variant
    from linesmith.tuner.run.journal import BASELINE

    variants = tuple(Variant(path.stem, (path.read_bytes().decode("utf-8", "surrogateescape"),)) for path in patches)
    names = [variant.name for variant in variants]
    for name in names:
        if names.count(name) > 1 or name == BASELINE.name:
            raise PlanError(f"two variants have the name {name}; rename one of the patches")
    return variants


class Narrator:
    """Tells a person how a run goes: one line that changes, or a line for each change where nobody looks."""

    def __init__(self) -> None:
        self._last = ""
        self._quiet = quiet()

    def __call__(self, progress: RunProgress) -> None:
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


def line(progress: RunProgress) -> str:
    """How far the run is, for one line of a terminal."""
    parts = [progress.doing]
    if progress.budget:
        parts.append(f"{progress.trials} of {progress.budget} trials")
    if progress.limit:
        # Minutes that are over, with tenths while they are few.
        tenths = int(progress.seconds / _SECONDS * 10)
        over = f"{tenths / 10:.1f}" if tenths < 100 else f"{tenths // 10}"
        parts.append(f"{over} of {progress.limit / _SECONDS:g} min")
    if progress.best is not None and progress.cost is not None:
        parts.append(_best(progress.best, progress.cost, progress.rung))
    return "; ".join(parts)


def fitting(text: str, columns: int) -> str:
    """As much of it as a line of the terminal holds: what is wider cannot be cleared."""
    return text if len(text) < columns else f"{text[: columns - 2]}…"


def _best(variant: str, cost: float, rung: Fidelity | None) -> str:
    """What a search has come to: a cost is like a time, whichever way the benchmark counts."""
    from linesmith.analyzer.model import Fidelity

    measured: dict[Fidelity | None, str] = {Fidelity.SIMULATION: "simulated", Fidelity.BENCHMARK: "benchmarked"}
    how = measured.get(rung, "estimated")
    if cost >= 1:
        return f"nothing better than the baseline so far ({how})"
    return f"best so far {variant}, cost {cost:.3f} of the baseline's ({how})"


# What a run leaves for people: reports in its folder, the best patch with its evidence, and what is printed.


def deliver(result: Result, folder: Path, format_: str, output: Path | None) -> None:
    """Keep the result in the run directory ``folder``, and write it where the user wants it; raises ``OutputError``."""
    keep(result, folder)
    show_results(result, format_, output)


def keep(result: Result, folder: Path) -> None:
    """Write the reports into the run directory ``folder``, and into its patches what was measured of each.

    Raises ``OutputError``.
    """
    for name, text in _files(result, folder):
        try:
            files.replace_file(folder / name, text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise OutputError(f"cannot write {folder / name}: {error.strerror}; free space there") from error


def show_results(result: Result, format_: str, output: Path | None) -> None:
    """Write the result in ``format_`` to ``output`` or the terminal."""
    from linesmith.analyzer.report.run import render_text
    from linesmith.analyzer.report.run_forms import render_json

    text = render_json(result) if format_ == "json" else render_text(result)
    options.write_shown(text, format_, output)


def _files(result: Result, folder: Path) -> Iterator[tuple[str, str]]:
    from linesmith.analyzer.report.prose import fitted
    from linesmith.analyzer.report.run import render_text
    from linesmith.analyzer.report.run_forms import evidence, render_json
    from linesmith.patches.message.message import with_evidence

    yield "report.txt", visible(fitted(render_text(result)))
    yield "report.json", visible(render_json(result))
    for variant, place in result.patches:
        text = (folder / place).read_bytes().decode("utf-8", "surrogateescape")
        measured = visible(evidence(result, variant))
        message, end, diff = text.partition(_END_OF_MESSAGE)
        patch = text
        if end and measured:  # it has a message of ours
            patch = with_evidence(f"{message}\n", measured).removesuffix("\n") + end + diff
        if measured:
            yield str(Path(place).with_suffix(".evidence.txt")), measured
        if patch != text:
            yield place, patch
        if variant == result.best:
            yield BEST, patch
