# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a plan can be carried out, asked of the workers before anything is built."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import TunePlan
from linesmith.plugins import registry
from linesmith.plugins.api import Pool
from linesmith.tuner.tuning.tasks import BENCH, BUILD

# Who cannot work, and why; nobody with an empty reason.
Obstacle = tuple[str, str | None]


def check(plan: TunePlan, pool: Pool) -> None:
    """Raise ``PlanError`` with what keeps the builder, the machine or a benchmark from working."""
    waiting = [pool.submit(partial(_of_building, plan), BUILD), pool.submit(partial(_of_measuring, plan), BENCH)]
    for who, reason in (one for future in waiting for one in future.result()):
        if reason is not None:
            raise PlanError(f"the plan cannot be carried out: {who}: {reason}")


def _of_building(plan: TunePlan, warm: Path) -> tuple[Obstacle, ...]:  # noqa: ARG001 - what workers are given
    builder = plan.recipe.builder
    return ((f"builder {builder}", registry.builder(builder).obstacle(plan.recipe)),)


def _of_measuring(plan: TunePlan, warm: Path) -> tuple[Obstacle, ...]:  # noqa: ARG001 - what workers are given
    return tuple(_measuring(plan)) if plan.benchmarks else ()


def _measuring(plan: TunePlan) -> Iterator[Obstacle]:
    yield f"machine {plan.site.name}", registry.machine(plan.site.name).obstacle(plan.site)
    for use in plan.benchmarks:
        yield f"benchmark {use.label}", registry.benchmark(use.benchmark).obstacle(dict(use.settings))
