# SPDX-License-Identifier: GPL-2.0-or-later
"""The outcome of the race in words and figures."""

from __future__ import annotations

from statistics import median

from linesmith.analyzer.demo.cpus import Placement
from linesmith.analyzer.demo.race import Comparison, Race, Verdict, compare

_MILLION = 1e6
_ANSWERS = {
    Verdict.BETTER: "The change helps here: {ratio:.2f} times the lookups per second.",
    Verdict.WORSE: "The change does not help here: only {ratio:.2f} times the lookups per second.",
    Verdict.NO_DIFFERENCE: "No difference of the lookups was seen here.",
    Verdict.TOO_NOISY: "The lookups differ too much from run to run to tell; try again on an idle machine.",
}


def race_text(run: Race) -> str:
    """A table of both operations, medians in millions per second with minimum and maximum, and the answer."""
    lookups = compare([one.lookups for one in run.before], [one.lookups for one in run.after])
    renewals = compare([one.renewals for one in run.before], [one.renewals for one in run.after])
    rows = [
        f"{'million per second':<20}{'before':^26}{'after':^26}{'after / before':^26}",
        _row("lookups", lookups),
        _row("renewals", renewals),
        "",
        f"Medians of {len(run.before)} runs (lowest … highest); ratios of neighbouring runs (95 % interval).",
        _ANSWERS[lookups.verdict].format(ratio=lookups.ratio),
    ]
    if run.choice.placement is not Placement.CORES:
        rows.append(f"Mind that {run.choice.placement.value}.")
    return "\n".join(rows) + "\n"


def _row(name: str, comparison: Comparison) -> str:
    before, after = _spread(comparison.before), _spread(comparison.after)
    ratio = f"{comparison.ratio:.2f} ({comparison.low:.2f} … {comparison.high:.2f})"
    return f"{name:<20}{before:^26}{after:^26}{ratio:^26}{comparison.verdict.value}"


def _spread(values: tuple[float, ...]) -> str:
    low, middle, high = (value / _MILLION for value in (min(values), median(values), max(values)))
    return f"{middle:.1f} ({low:.1f} … {high:.1f})"
