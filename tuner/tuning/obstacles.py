# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a plan can be carried out, asked before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import TunePlan
from linesmith.plugins import registry
from linesmith.plugins.api import BENCH, BUILD, Pool
from linesmith.tuner.recording_order import product_of, unbuilt
from linesmith.tuner.tuning.placeholders import stray
from linesmith.tuner.tuning.recordable import planned_order, recording_commands, steps_of
from linesmith.tuner.tuning.settling import is_recorded

# Who cannot work, and why; nobody with an empty reason.
Obstacle = tuple[str, str | None]
# Asked in a folder where programs of benchmarks may be compiled.
Question = Callable[[TunePlan, Path], Iterable[Obstacle]]


def check(plan: TunePlan, pool: Pool) -> None:
    """Raise ``PlanError`` with what keeps the builder, the recording, the machine or a benchmark from working."""
    asked: tuple[tuple[Question, str], ...] = (
        (_of_building, BUILD),
        (_of_recording, BUILD),
        (_of_machine, BENCH),
        (_of_benchmarks, BENCH),
    )
    waiting = [pool.submit(partial(_first, question, plan), needs) for question, needs in asked]
    for future in waiting:
        _refuse(future.result())


def check_here(plan: TunePlan, scratch: Path) -> None:
    """The same of this process, which need not reach the machine; raises ``PlanError``."""
    for question in (_of_building, _of_recording, _of_benchmarks):
        _refuse(_first(question, plan, scratch))


def _first(question: Question, plan: TunePlan, warm: Path) -> str | None:
    """The first obstacle in words."""
    return next((f"{who}: {reason}" for who, reason in question(plan, warm) if reason is not None), None)


def _refuse(complaint: str | None) -> None:
    if complaint is not None:
        raise PlanError(f"the plan cannot be carried out: {complaint}")


def _of_building(plan: TunePlan, scratch: Path) -> Iterator[Obstacle]:  # noqa: ARG001 - what every question is given
    yield f"builder {plan.recipe.builder}", registry.builder(plan.recipe.builder).obstacle(plan.recipe)


def _of_recording(plan: TunePlan, scratch: Path) -> Iterator[Obstacle]:
    """Raises what keeps from recording here."""
    products = registry.builder(plan.recipe.builder).products(plan.recipe)
    if plan.evidence is not None:
        product_of(unbuilt(products, scratch), plan.evidence)
    if plan.evidence is None or not is_recorded(plan):
        return
    if not (plan.evidence.command or plan.evidence.use):
        yield "[record]", "it has no `command` and no `benchmark` to simulate"
    steps = steps_of(plan.evidence, scratch / "recorded")
    yield "[record]", stray(steps, products)
    built = unbuilt(products, scratch / "unbuilt")
    tuple(recording_commands(built, planned_order(built, plan.evidence, steps, plan.search.seed, scratch), steps))


def _of_machine(plan: TunePlan, scratch: Path) -> Iterator[Obstacle]:  # noqa: ARG001 - what every question is given
    if plan.benchmarks:
        yield f"machine {plan.site.name}", registry.machine(plan.site.name).obstacle(plan.site)


def _of_benchmarks(plan: TunePlan, scratch: Path) -> Iterator[Obstacle]:
    products = registry.builder(plan.recipe.builder).products(plan.recipe)
    folder = scratch / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    for use in plan.benchmarks:
        benchmark, settings = registry.benchmark(use.benchmark), dict(use.settings)
        yield f"benchmark {use.label}", benchmark.obstacle(settings)
        yield f"benchmark {use.label}", stray(benchmark.steps(settings, max(use.threads), folder), products)
