# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run does not show: a reviewer should not have to guess it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import SIMULATED, Comparison, Result, VerdictKind
from linesmith.analyzer.report.facts import emulated
from linesmith.analyzer.report.figures import scale, threads

# With fewer of them what other builds differ by is hardly known.
ENOUGH_PLACEBOS = 3


def unchecked(result: Result, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Sentences without their full stop about what ``comparisons`` of this run leave open."""
    return (*_measured(result, comparisons), *_sides(result, comparisons), *_guards(comparisons))


def _measured(result: Result, comparisons: Sequence[Comparison]) -> Iterator[str]:
    timed = [one for one in comparisons if not one.simulated]
    if not timed:
        others = any(one.benchmark != SIMULATED for one in result.samples) and not emulated(result.facts)
        yield f"time on real hardware: {'only other builds were' if others else 'nothing was'} timed there"
        return
    if emulated(result.facts):
        yield "time on real hardware: the machine was emulated, and its time knows no caches"
    if all(one.threads != 1 for one in timed):
        yield "a single thread: the fewest were " + threads(min(one.threads for one in timed))
    elif all(one.threads == 1 for one in timed):
        yield "several threads: all was measured with one"


def _sides(result: Result, comparisons: Sequence[Comparison]) -> Iterator[str]:
    placebos = len(equal_builds(result))
    if placebos < ENOUGH_PLACEBOS and comparisons:
        yield f"what other builds of the same layout differ by (placebos measured: {placebos})"
    if len(comparisons) and not any(one.guard for one in comparisons):
        yield "other workloads: there was no guard benchmark"
    if not result.finished:
        yield "the rest of the plan: the run has not come to its end"


def equal_builds(result: Result) -> frozenset[str]:
    """The placebos that were compared with the baseline; its own halves are the same build."""
    own = (result.baseline, f"{result.baseline} again")
    return frozenset(one.variant for one in result.noise if one.variant not in own)


def _guards(comparisons: Sequence[Comparison]) -> Iterator[str]:
    for one in comparisons:
        if unproven(one):
            name = f"{one.name} with {scale(one)}"
            yield f"whether {name} loses more than {one.tolerance:.1%}: up to {loss(one):.1%} is possible"


def unproven(one: Comparison) -> bool:
    """Whether a guard may have lost more than it may, for all that is known."""
    return one.guard and one.verdict != VerdictKind.WORSE and loss(one) > one.tolerance


def loss(one: Comparison) -> float:
    """The largest loss that the interval holds, as a share."""
    return 1 - one.low if one.metric.better == "higher" else one.high - 1
