# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run would do, as commands: its build, its recording and its benchmarks, once and of the tree as it is.

Nothing of it is run, but programs of benchmarks that have to be compiled are, into a folder that goes again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from linesmith.analyzer.model import Built, Fidelity, TunePlan, Variant
from linesmith.plugins import registry
from linesmith.tuner.recording_order import unbuilt
from linesmith.tuner.tuning.given_profile import given_profile
from linesmith.tuner.tuning.obstacles import check_here
from linesmith.tuner.tuning.recordable import planned_order, recording_commands, steps_of
from linesmith.tuner.tuning.refusals import refusal, refuse_all
from linesmith.tuner.tuning.settling import check_ladder, is_recorded, settled, without_search
from linesmith.tuner.tuning.variants import BASELINE


@dataclass(frozen=True, slots=True)
class Preview:
    """The ``commands`` of a run as for a shell, and ``remarks`` on what it would leave out."""

    commands: tuple[str, ...]
    remarks: tuple[str, ...]


def of_tune(plan: TunePlan, run: Path) -> Preview:
    """What ``tune`` would do in the run directory ``run``; raises what it raises before it builds anything."""
    settling = settled(plan)
    check_ladder(settling.plan)
    if settling.plan.evidence is not None:
        given_profile(settling.plan.evidence, plan.search)
    return Preview(_commands(settling.plan, run.absolute(), run.absolute() / "profile.trace"), settling.remarks)


def of_bench(plan: TunePlan, variants: Sequence[Variant], run: Path) -> Preview:
    """What ``bench`` would do, likewise; the remarks name the patches that do not fit the tree."""
    settling = settled(plan)
    check_ladder(settling.plan)
    found = {one.name: refusal(plan.recipe, one) for one in variants}
    refused = {name: reason for name, reason in found.items() if reason is not None}
    refuse_all(refused, variants)
    remarks = (*settling.remarks, *(f"{name} would not be measured: {reason}" for name, reason in refused.items()))
    return Preview(_commands(without_search(settling.plan), run.absolute(), None), remarks)


def _commands(plan: TunePlan, run: Path, trace: Path | None) -> tuple[str, ...]:
    with TemporaryDirectory(prefix="linesmith-dry-run-") as folder:
        scratch = Path(folder)
        check_here(plan, scratch)
        builder = registry.builder(plan.recipe.builder)
        built = unbuilt(builder.products(plan.recipe), run / "artifacts/KEY")
        return (
            *builder.commands(plan.recipe, BASELINE),
            *_of_recording(plan, built, run, trace, scratch),
            *_of_benchmarks(plan, built, scratch),
        )


def _of_recording(plan: TunePlan, built: Built, run: Path, trace: Path | None, scratch: Path) -> Iterator[str]:
    if plan.evidence is not None and is_recorded(plan):
        steps = steps_of(plan.evidence, scratch)
        order = planned_order(built, plan.evidence, steps, plan.search.seed, run / "logs/recording")
        yield from recording_commands(built, replace(order, trace=trace), steps)


def _of_benchmarks(plan: TunePlan, built: Built, scratch: Path) -> Iterator[str]:
    for use in plan.benchmarks if Fidelity.BENCHMARK in plan.search.ladder else ():
        for threads in use.threads:
            steps = registry.benchmark(use.benchmark).steps(dict(use.settings), threads, scratch)
            yield from registry.machine(plan.site.name).commands(plan.site, built, steps)
