# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan leaves open, settled: what is recorded and which metric of it decides, and which rungs there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Evidence, Fidelity, Recipe, TunePlan, Use
from linesmith.plugins import registry
from linesmith.plugins.machines.kvm import kvm_obstacle
from linesmith.tuner.tuning.fidelities import COSTLY

_SIMULATED = (Fidelity.REPLAY, Fidelity.SIMULATION)
# Builds a kernel that can be recorded, with the file of its symbols.
_KBUILD = "kbuild"
# Machines that emulate their CPUs where KVM runs no guest.
_GUESTS = ("qemu", "virtme-ng")


@dataclass(frozen=True, slots=True)
class Settled:
    """The whole plan, and what a reader of its results must know of how it was settled."""

    plan: TunePlan
    remarks: tuple[str, ...] = ()


def settled(plan: TunePlan) -> Settled:
    """The plan with nothing left open; raises ``PlanError`` where its ladder asks for what cannot be done."""
    if plan.evidence is not None:
        plan = replace(plan, evidence=_with_metric(_counted(plan.evidence), plan.recipe))
    timed = _timed(plan.evidence)
    if not plan.search.ladder:
        return _with_ladder(plan, timed)
    if timed and not set(_SIMULATED).isdisjoint(plan.search.ladder):
        raise PlanError(f"[search] `ladder` cannot have {' or '.join(_SIMULATED)}: {timed}")
    return Settled(plan)


def check_ladder(plan: TunePlan) -> None:
    """Raise ``PlanError`` when nothing on the ladder is measured, or there is nothing to simulate."""
    if not any(fidelity in COSTLY for fidelity in plan.search.ladder):
        raise PlanError(
            "there is nothing that is measured; the plan needs a [[benchmark]], or a [record] with a `command`, "
            "and one of their rungs (benchmark, simulate) where it has a `ladder`"
        )
    recorded = plan.evidence is not None and (plan.evidence.command or plan.evidence.use)
    if Fidelity.SIMULATION in plan.search.ladder and not recorded:
        raise PlanError("[search] `ladder` has simulate, for which [record] needs a `command` or a `benchmark`")


def without_search(plan: TunePlan) -> TunePlan:
    """A settled plan for patches at hand: nothing is recorded where a machine measures."""
    return replace(plan, evidence=None) if Fidelity.BENCHMARK in plan.search.ladder else plan


def is_recorded(plan: TunePlan) -> bool:
    """Whether a recording is made by a settled plan."""
    return plan.evidence is not None and (plan.evidence.profile is None or Fidelity.SIMULATION in plan.search.ladder)


def _counted(evidence: Evidence) -> Evidence:
    """How many operations the recorded benchmark does, where the plan does not say."""
    if evidence.operations:
        return evidence
    return replace(evidence, operations=(evidence.use and _operations(evidence.use)) or 1)


def _with_metric(evidence: Evidence, recipe: Recipe) -> Evidence:
    """The misses on the record decide for a kernel, where they drown in all others; for a program what all cost.

    A record may be rid of misses by handing them to what lies behind it, which the total shows.
    """
    return replace(evidence, metric=evidence.metric or ("type" if recipe.builder == _KBUILD else "cycles"))


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
        f"a run of {evidence.use.label} does not do the same work each time, for its time is set; give it a number of "
        "operations, or [record] a `command` that ends by itself"
    )


def _with_ladder(plan: TunePlan, timed: str) -> Settled:
    recorded = plan.evidence is not None and plan.evidence.profile is None and not timed
    emulated = _emulated(plan) if plan.benchmarks and recorded and plan.recipe.builder == _KBUILD else ""
    rungs = (Fidelity.ESTIMATE, *(_SIMULATED if recorded else ()))
    rungs += (Fidelity.BENCHMARK,) if plan.benchmarks and not emulated else ()
    search = replace(plan.search, ladder=rungs)
    return Settled(replace(plan, search=search), tuple(_remarks(timed, emulated)))


def _emulated(plan: TunePlan) -> str:
    """Why the machine of the benchmarks has no caches; empty when it has."""
    return (kvm_obstacle() or "") if plan.site.name in _GUESTS else ""


def _remarks(timed: str, emulated: str) -> Iterator[str]:
    if timed:
        yield f"nothing was replayed or simulated: {timed}"
    if emulated:
        yield (
            f"the benchmarks decide nothing: {emulated}, and an emulated machine has no caches; the simulation decides "
            "(name `ladder` in [search] to have it otherwise)"
        )
