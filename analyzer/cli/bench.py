# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith bench``: measure given patches against the tree as it is."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options, runs


@click.command()
@runs.run_given
@click.argument("patches", metavar="PATCH...", nargs=-1, required=True, type=options.EXISTING_FILE)
@options.format_
@options.output
@options.dry_run
def command(patches: tuple[Path, ...], given: runs.RunOptions, format_: str, output: Path | None, dry_run: bool) -> int:
    """Measure each PATCH against the unpatched tree, in alternating runs, until the effect is certain.

    PLAN.toml names the tree, the build and the benchmarks, as for `linesmith tune`. The tree is not modified: each
    patch is applied to a copy.

    Exit status: 0 if at least one patch was measured, 1 if none was (build, boot or run failed, or the time limit was
    reached), 2 if the run could not start.
    """
    from linesmith.tuner.run.plan_file import read_plan
    from linesmith.tuner.run.preparation import of_bench

    plan = given.within(read_plan(given.plan))
    variants = runs.variants_of(patches)
    if dry_run:
        runs.show(of_bench(plan, variants, given.place), output)
        return 0
    from linesmith.tuner.run.bench import bench

    with runs.at_work(given) as (run, pool):
        result = bench(plan, variants, run, pool, runs.Narrator())
    runs.deliver(result, given.place, format_, output)
    return 0 if result.confirmed else 1
