# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that ``tune`` and ``bench`` share, and the plan that they change."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import (
    DebugInfoDamaged,
    DebugInfoMissing,
    ElfError,
    JournalError,
    OutputError,
    PlanError,
)
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli.analysis import load
from linesmith.analyzer.cli.group import interruptible
from linesmith.analyzer.cli.options import write, write_page, write_shown
from linesmith.analyzer.cli.output import CLEAR_LINE, quiet, remark

if TYPE_CHECKING:
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.model import Fidelity, Result, TunePlan, Variant
    from linesmith.analyzer.report.html.pages import RunFiles
    from linesmith.plugins.api import Pool, Settings
    from linesmith.tuner.run.preparation import Preview
    from linesmith.tuner.run.progress import RunProgress
    from linesmith.tuner.run.run_directory import RunDirectory


PLAN = click.argument("plan", metavar="PLAN.toml", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_OPTIONS = (
    click.option(
        "--run",
        "folder",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where everything is kept.  [default: PLAN.run]",
    ),
    click.option("--resume", is_flag=True, help="Go on with the run that is there."),
    click.option(
        "--executor", metavar="[local|dask]", default="local", show_default=True, help="Where builds and boots run."
    ),
    click.option("--scheduler", metavar="ADDRESS", default="", help="With dask: tcp://HOST:PORT."),
    click.option(
        "--machines", metavar="CLASS", default="", help="With dask: benchmark on workers that offer bench:CLASS."
    ),
    click.option("--workers", metavar="N", type=click.IntRange(1, 256), help="With local: so many processes."),
    click.option(
        "--minutes", metavar="M", type=click.FloatRange(0, min_open=True), help="Wall time, instead of the plan's."
    ),
)


def tune_options(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Put the options on a command, in their order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def within(plan: TunePlan, minutes: float | None, trials: int | None = None) -> TunePlan:
    """The plan with another budget."""
    budget = plan.budget
    return replace(plan, budget=replace(budget, trials=trials or budget.trials, minutes=minutes or budget.minutes))


def executor_settings(executor: str, scheduler: str, machines: str, workers: int | None) -> dict[str, str | int]:
    """What the executor's plugin is told: only what was said; raises ``click.UsageError`` for what is another's."""
    if executor == "local" and (scheduler or machines):
        raise click.UsageError("--scheduler and --machines go with --executor dask")
    if executor == "dask" and not scheduler:
        raise click.UsageError("--executor dask needs its scheduler: --scheduler tcp://HOST:PORT")
    if executor == "dask" and workers is not None:
        raise click.UsageError("--workers goes with --executor local; dask's workers are started beside it")
    given: dict[str, str | int | None] = {"scheduler": scheduler or None, "bench": machines or None, "workers": workers}
    return {name: value for name, value in given.items() if value is not None}


# The way from a plan to a result in a run directory, and what is told on the way.

_SECONDS = 60


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
    from linesmith.plugins.registry import executor

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
    from linesmith.tuner.run.run_directory import RunDirectory

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
    from linesmith.analyzer.model import Variant
    from linesmith.tuner.run.journal_tables import BASELINE

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
        parts.append(f"{_minutes(progress.seconds)} of {progress.limit / _SECONDS:g} min")
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


def _minutes(seconds: float) -> str:
    """Minutes that are over, with tenths while they are few."""
    tenths = int(seconds / _SECONDS * 10)
    return f"{tenths / 10:.1f}" if tenths < 100 else f"{tenths // 10}"


# What a run leaves for people: reports in its folder, the best patch with its evidence, and what is printed.

BEST = "best.patch"
_END_OF_MESSAGE = "\n---\n"


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
            raise OutputError(f"cannot write {folder / name}: {error.strerror}; make room there") from error


def _renderers() -> dict[str, Callable[[Result], str]]:
    """The forms of a result by the words of ``--format``."""
    from linesmith.analyzer.report.run import render_text
    from linesmith.analyzer.report.run_forms import render_json, render_markdown
    from linesmith.analyzer.report.run_forms import samples_json as render_matrix

    return {"text": render_text, "markdown": render_markdown, "json": render_json, "matrix": render_matrix}


def show_results(result: Result, format_: str, output: Path | None) -> None:
    """Write the result in ``format_`` to ``output`` or the terminal."""
    write_shown(_renderers()[format_](result), format_, output)


def show_page(result: Result, folder: Path, destination: Path) -> None:
    """Write the page of the run in ``folder``; raises ``OutputError`` and ``JournalError``."""
    from linesmith.analyzer.report.html.pages import render_run

    write_page(render_run(result, files_of(folder, result)), destination)


def compare(result: Result, other: Result, output: Path | None) -> None:
    """Write what two runs say of the same variants to ``output`` or the terminal."""
    from linesmith.analyzer.report.run_forms import render_two_runs

    write_shown(render_two_runs(result, other), "text", output)


def _files(result: Result, folder: Path) -> Iterator[tuple[str, str]]:
    from linesmith.analyzer.report.prose import fitted
    from linesmith.analyzer.report.run import render_text
    from linesmith.analyzer.report.run_forms import evidence, render_json
    from linesmith.analyzer.report.run_forms import samples_json as render_matrix

    yield "report.txt", visible(fitted(render_text(result)))
    yield "report.json", visible(render_json(result))
    yield "matrix.json", visible(render_matrix(result))
    for variant, place in result.patches:
        text = (folder / place).read_bytes().decode("utf-8", "surrogateescape")
        measured = visible(evidence(result, variant))
        patch = _measured(text, measured)
        if measured:
            yield str(Path(place).with_suffix(".evidence.txt")), measured
        if patch != text:
            yield place, patch
        if variant == result.best:
            yield BEST, patch


def _measured(patch: str, text: str) -> str:
    """The patch with what was measured in its message, where it has one of ours."""
    from linesmith.patches.message.message import with_evidence

    message, end, diff = patch.partition(_END_OF_MESSAGE)
    return with_evidence(f"{message}\n", text).removesuffix("\n") + end + diff if end and text else patch


# What lies in a run directory beside its journal: the patch to take, and the layouts of what was built.


def files_of(run: Path, result: Result) -> RunFiles:
    """The recommended patch, or the most promising one, and what it does to the layouts; raises ``JournalError``."""
    return replace(_of_variant(run, result), folder=str(run.resolve()))


def _of_variant(run: Path, result: Result) -> RunFiles:
    from linesmith.analyzer.cli.report import ChangedVariant, record_changes
    from linesmith.analyzer.report.html.pages import RunFiles
    from linesmith.tuner.run.evidence import run_profile

    patches = dict(result.patches)
    variant = _chosen(result)
    if not variant:
        return RunFiles()
    patch = (run / patches[variant]).read_text("utf-8", "surrogateescape") if variant in patches else ""
    before, after = _reading(run, result.baseline), _reading(run, variant)
    if before is None or after is None:
        gone = result.baseline if before is None else variant
        return RunFiles(variant, patch, (), f"The build of {gone} is gone or has no debug information")
    changes, more = record_changes(ChangedVariant(variant, before, after, patch, run_profile(run)))
    left = f"{more} more records differ; `linesmith diff` shows them" if more > 0 else ""
    return RunFiles(variant, patch, changes, left if changes else f"Every record of {variant} is laid out as before")


def _chosen(result: Result) -> str:
    """The variant that was confirmed; without one that of the largest gain among those that were compared."""
    from linesmith.analyzer.report.run import decisive

    if result.best:
        return result.best
    deciding = [one for one in decisive(result) if one.decides]
    return max(deciding, key=lambda one: one.gain).variant if deciding else ""


def _reading(run: Path, variant: str) -> Reading | None:
    """The layouts of the first product of a variant's build that has any."""
    from linesmith.tuner.run.journal_tables import read_build

    built = read_build(run, variant)
    for _, product in sorted(built.products, key=lambda one: one[0] != "vmlinux") if built else ():
        try:
            return load(product)
        except (ElfError, DebugInfoMissing, DebugInfoDamaged):
            continue
    return None
