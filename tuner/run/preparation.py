# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens before a run builds anything: what its plan leaves open is settled, and whether it can work is asked.

``check`` asks the workers whether the builder, the recording, the machine and the benchmarks can work; ``refusals``
finds the patches that do not fit the tree. ``of_tune`` and ``of_bench`` say what a run would do, as commands: its
build, its recording and its benchmarks, once and of the tree as it is. ``reopen`` forgets what does not hold any more
when a run is gone on with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from linesmith.analyzer.base.errors import PatchRefused, PlanError
from linesmith.analyzer.model import Evidence, FailureKind, Fidelity, Recipe, TunePlan, Use, Variant
from linesmith.plugins import registry
from linesmith.plugins.api import BENCH, BUILD, Pool
from linesmith.plugins.machines.system import kvm_obstacle
from linesmith.tuner.run.evidence import read_planned_profile
from linesmith.tuner.run.journal import BASELINE, Journal
from linesmith.tuner.run.judgement import COSTLY
from linesmith.tuner.run.plan_file import stray
from linesmith.tuner.run.result import BEST, FINISHED
from linesmith.tuner.run.simulated import planned_order, product_of, recording_commands, steps_of, unbuilt

_SIMULATED = (Fidelity.REPLAY, Fidelity.SIMULATION)
# Builds a kernel that can be recorded, with the file of its symbols.
_KBUILD = "kbuild"
# Machines that emulate their CPUs where KVM runs no guest.
_GUESTS = ("qemu", "virtme-ng")


@dataclass(frozen=True, slots=True)
class CompletePlan:
    """The whole plan, and what a reader of its results must know of how it was settled."""

    plan: TunePlan
    remarks: tuple[str, ...] = ()


def completed(plan: TunePlan) -> CompletePlan:
    """The plan with nothing left open; raises ``PlanError`` where its ladder asks for what cannot be done."""
    if plan.evidence is not None:
        evidence = plan.evidence
        # The misses on the record decide for a kernel, where they drown in all others; for a program what all cost: a
        # record may be rid of misses by handing them to what lies behind it, which the total shows.
        metric = evidence.metric or ("type" if plan.recipe.builder == _KBUILD else "cycles")
        operations = evidence.operations or (evidence.use and _operations(evidence.use)) or 1
        plan = replace(plan, evidence=replace(evidence, metric=metric, operations=operations))
    timed = _timed(plan.evidence)
    if not plan.search.ladder:
        return _with_ladder(plan, timed)
    if timed and not set(_SIMULATED).isdisjoint(plan.search.ladder):
        raise PlanError(f"[search] `ladder` cannot have {' or '.join(_SIMULATED)}: {timed}")
    return CompletePlan(plan)


def check_ladder(plan: TunePlan) -> None:
    """Raise ``PlanError`` when nothing on the ladder is measured, or there is nothing to simulate."""
    if not any(fidelity in COSTLY for fidelity in plan.search.ladder):
        raise PlanError(
            "the plan measures nothing; it needs a [[benchmark]], or a [record] with a `command`, and one of their"
            " rungs (benchmark, simulate) if it has a `ladder`"
        )
    recorded = plan.evidence is not None and (plan.evidence.command or plan.evidence.use)
    if Fidelity.SIMULATION in plan.search.ladder and not recorded:
        raise PlanError("[search] `ladder` has simulate, for which [record] needs a `command` or a `benchmark`")


def without_search(plan: TunePlan) -> TunePlan:
    """A complete plan for patches at hand: nothing is recorded where a machine measures."""
    return replace(plan, evidence=None) if Fidelity.BENCHMARK in plan.search.ladder else plan


def is_recorded(plan: TunePlan) -> bool:
    """Whether a recording is made by a complete plan."""
    return plan.evidence is not None and (plan.evidence.profile is None or Fidelity.SIMULATION in plan.search.ladder)


def _operations(use: Use) -> int | None:
    return registry.benchmark(use.benchmark).operations(dict(use.settings), max(use.threads))


def _timed(evidence: Evidence | None) -> str:
    """Why what is recorded cannot be compared miss by miss; empty when it can.

    In a set time a faster layout does more work and so has more misses.
    """
    if evidence is None or evidence.use is None or evidence.command or evidence.profile:
        return ""
    if _operations(evidence.use) is not None:
        return ""
    return (
        f"a run of {evidence.use.label} does not do the same work each time, because its time is fixed; give it a"
        " number of operations, or [record] a `command` that ends by itself"
    )


def _with_ladder(plan: TunePlan, timed: str) -> CompletePlan:
    recorded = plan.evidence is not None and plan.evidence.profile is None and not timed
    remarks = [f"nothing was replayed or simulated: {timed}"] if timed else []
    guest = recorded and plan.recipe.builder == _KBUILD and plan.site.name in _GUESTS
    emulated = kvm_obstacle() if plan.benchmarks and guest else None
    if emulated:
        remarks.append(
            f"the benchmarks decide nothing: {emulated}, and an emulated machine has no caches; the simulation"
            " decides (set `ladder` in [search] to change that)"
        )
    measured = plan.benchmarks and not emulated
    rungs = (Fidelity.ESTIMATE, *(_SIMULATED if recorded else ()), *((Fidelity.BENCHMARK,) if measured else ()))
    return CompletePlan(replace(plan, search=replace(plan.search, ladder=rungs)), tuple(remarks))


# What cannot work, and why; asked in a folder where programs of benchmarks may be compiled.
Question = Callable[[TunePlan, Path], Iterator[str]]


def check(plan: TunePlan, pool: Pool) -> None:
    """Raise ``PlanError`` with what keeps the builder, the recording, the machine or a benchmark from working."""
    questions = {_of_building: BUILD, _of_machine: BENCH, _of_benchmarks: BENCH}
    waiting = [pool.submit(partial(_first, question, plan), needs) for question, needs in questions.items()]
    for future in waiting:
        _refuse(future.result())


def _first(question: Question, plan: TunePlan, warm: Path) -> str | None:
    return next(question(plan, warm), None)


def _refuse(complaint: str | None) -> None:
    if complaint is not None:
        raise PlanError(f"the plan cannot run: {complaint}")


def _of_building(plan: TunePlan, scratch: Path) -> Iterator[str]:
    """Of the builder and the recording; raises what keeps from recording here."""
    builder = registry.builder(plan.recipe.builder)
    if reason := builder.obstacle(plan.recipe):
        yield f"builder {plan.recipe.builder}: {reason}"
    products = builder.products(plan.recipe)
    if plan.evidence is not None:
        product_of(unbuilt(products, scratch), plan.evidence)
    if plan.evidence is None or not is_recorded(plan):
        return
    if not (plan.evidence.command or plan.evidence.use):
        yield "[record]: it has no `command` and no `benchmark` to simulate"
    steps = steps_of(plan.evidence, scratch / "recorded")
    if reason := stray(steps, products):
        yield f"[record]: {reason}"
    built = unbuilt(products, scratch / "unbuilt")
    tuple(recording_commands(built, planned_order(built, plan.evidence, steps, plan.search.seed, scratch), steps))


def _of_machine(plan: TunePlan, scratch: Path) -> Iterator[str]:  # noqa: ARG001 - what every question is given
    reason = registry.machine(plan.site.name).obstacle(plan.site) if plan.benchmarks else None
    if reason:
        yield f"machine {plan.site.name}: {reason}"


def _of_benchmarks(plan: TunePlan, scratch: Path) -> Iterator[str]:
    products = registry.builder(plan.recipe.builder).products(plan.recipe)
    folder = scratch / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    for use in plan.benchmarks:
        benchmark, settings = registry.benchmark(use.benchmark), dict(use.settings)
        reason = benchmark.obstacle(settings) or stray(benchmark.steps(settings, max(use.threads), folder), products)
        if reason:
            yield f"benchmark {use.label}: {reason}"


def refusals(recipe: Recipe, variants: Sequence[Variant], pool: Pool) -> dict[str, str]:
    """By its name why each patch that does not fit is refused, as the workers see the tree.

    Raises ``PatchRefused`` when none fits, ``TreeError``.
    """
    waiting = {one.name: pool.submit(partial(refusal, recipe, one), BUILD) for one in variants}
    return _refused({name: future.result() for name, future in waiting.items()})


def refusal(recipe: Recipe, variant: Variant, warm: Path | None = None) -> str | None:  # noqa: ARG001 - for workers
    """Why the variant's patches do not fit the tree; ``None`` when they do. Raises ``TreeError``."""
    try:
        registry.builder(recipe.builder).commands(recipe, variant)
    except PatchRefused as error:
        return str(error)
    return None


def _refused(answers: Mapping[str, str | None]) -> dict[str, str]:
    """The answers that are refusals; raises ``PatchRefused`` when all are."""
    refused = {name: reason for name, reason in answers.items() if reason is not None}
    if len(refused) == len(answers):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise PatchRefused(f"no patch can be measured: {reasons}")
    return refused


@dataclass(frozen=True, slots=True)
class Preview:
    """The ``commands`` of a run as for a shell, and ``remarks`` on what it would leave out.

    Nothing of it was run, but programs of benchmarks that have to be compiled were, into a folder that went again.
    """

    commands: tuple[str, ...]
    remarks: tuple[str, ...]


def of_tune(plan: TunePlan, run: Path) -> Preview:
    """What ``tune`` would do in the run directory ``run``; raises what it raises before it builds anything."""
    complete = completed(plan)
    check_ladder(complete.plan)
    if complete.plan.evidence is not None:
        read_planned_profile(complete.plan.evidence, plan.search)
    return Preview(_commands(complete.plan, run.absolute(), run.absolute() / "profile.trace"), complete.remarks)


def of_bench(plan: TunePlan, variants: Sequence[Variant], run: Path) -> Preview:
    """What ``bench`` would do, likewise; the remarks name the patches that do not fit the tree."""
    complete = completed(plan)
    check_ladder(complete.plan)
    refused = _refused({one.name: refusal(plan.recipe, one) for one in variants})
    remarks = (*complete.remarks, *(f"{name} would not be measured: {reason}" for name, reason in refused.items()))
    return Preview(_commands(without_search(complete.plan), run.absolute(), None), remarks)


def _commands(plan: TunePlan, run: Path, trace: Path | None) -> tuple[str, ...]:
    with TemporaryDirectory(prefix="linesmith-dry-run-") as folder:
        scratch = Path(folder)
        for question in (_of_building, _of_benchmarks):  # which need not reach the machine
            _refuse(_first(question, plan, scratch))
        builder = registry.builder(plan.recipe.builder)
        built = unbuilt(builder.products(plan.recipe), run / "artifacts/KEY")
        commands = [*builder.commands(plan.recipe, BASELINE)]
        if plan.evidence is not None and is_recorded(plan):
            steps = steps_of(plan.evidence, scratch)
            order = planned_order(built, plan.evidence, steps, plan.search.seed, run / "logs/recording")
            commands += recording_commands(built, replace(order, trace=trace), steps)
        for use in plan.benchmarks if Fidelity.BENCHMARK in plan.search.ladder else ():
            for threads in use.threads:
                steps = registry.benchmark(use.benchmark).steps(dict(use.settings), threads, scratch)
                commands += registry.machine(plan.site.name).commands(plan.site, built, steps)
        return tuple(commands)


# What befell a machine, and may not befall it again: there may be more memory now, or fewer workers.
_ACCIDENTS = (FailureKind.KILLED, FailureKind.WORKER)
_FORGET_ACCIDENTS = (
    "DELETE FROM trials WHERE json_extract(trial, '$.failure.kind') IN (?, ?)",
    "DELETE FROM blocks WHERE json_extract(block, '$.failure.kind') IN (?, ?)",
    "DELETE FROM builds WHERE json_extract(failure, '$.kind') IN (?, ?)",
)


def reopen(journal: Journal) -> None:
    """Forget what came out of the run, what was remarked on it, and the accidents of machines."""
    with journal.transaction():
        journal.write("DELETE FROM notes WHERE name IN (?, ?)", (BEST, FINISHED))
        journal.write("DELETE FROM remarks")
        for statement in _FORGET_ACCIDENTS:
            journal.write(statement, _ACCIDENTS)
