# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that ``tune`` and ``bench`` share, and the plan that they change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from linesmith.analyzer.model import TunePlan

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
