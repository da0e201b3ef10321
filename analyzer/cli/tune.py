# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith tune``: search for the best layout by rebuilding and measuring."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options, runs


@click.command()
@runs.run_given
@click.option("--trials", metavar="N", type=click.IntRange(min=1), help="Number of trials. Default: from the plan.")
@options.format_
@options.output
@options.dry_run
def command(given: runs.RunOptions, trials: int | None, format_: str, output: Path | None, dry_run: bool) -> None:
    """Find the best layout for a workload: propose, rebuild, boot, benchmark and compare.

    PLAN.toml names the tree, the build, the workload and the budget. The tree is not modified. All data is stored in a
    run directory; --resume continues an interrupted run.
    """
    from linesmith.tuner.run.plan_file import read_plan
    from linesmith.tuner.run.preparation import of_tune

    plan = given.within(read_plan(given.plan), trials)
    if dry_run:
        runs.show(of_tune(plan, given.place), output)
        return
    from linesmith.tuner.run.tune import tune

    with runs.at_work(given) as (run, pool):
        result = tune(plan, run, pool, runs.Narrator())
    runs.deliver(result, given.place, format_, output)
