# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith tune``: search for the best layout by rebuilding and measuring."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.runs import PLAN, executor_settings, tune_options, within


@click.command()
@PLAN
@tune_options
@click.option("--trials", metavar="N", type=click.IntRange(min=1), help="So many, instead of the plan's.")
@options.result_format
@options.output
@options.dry_run
def command(
    plan: Path,
    folder: Path | None,
    resume: bool,
    executor: str,
    scheduler: str,
    machines: str,
    workers: int | None,
    trials: int | None,
    minutes: float | None,
    format_: str,
    output: Path | None,
    dry_run: bool,
) -> None:
    """Find the best layout for a workload: propose, rebuild, boot, benchmark, and say what is certain.

    PLAN.toml names the tree, how it is built, the workload and the budget. The tree is only read. Everything is kept
    in a run directory, from which an interrupted run goes on with --resume.
    """
    from linesmith.analyzer.cli import runs
    from linesmith.tuner.run.plan_file import read_plan
    from linesmith.tuner.run.preparation import of_tune

    given = within(read_plan(plan), minutes, trials)
    settings = executor_settings(executor, scheduler, machines, workers)
    place = runs.Place(folder or plan.with_suffix(".run"), resume, executor, settings)
    if dry_run:
        runs.show(of_tune(given, place.folder), output)
        return
    from linesmith.analyzer.cli import runs
    from linesmith.analyzer.report.layout import excerpt
    from linesmith.tuner.run.tune import tune

    with runs.at_work(plan, place) as (run, pool):
        result = tune(given, run, pool, runs.Narrator(), excerpt)
    runs.deliver(result, place.folder, format_, output)
