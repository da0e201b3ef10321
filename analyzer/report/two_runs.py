# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs side by side: whether what one says of a variant is what the other says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from linesmith.analyzer.model import Comparison, Metric, Result
from linesmith.analyzer.report.bench import told
from linesmith.analyzer.report.figures import interval, mean_and_spread, scale, signed

_Key = tuple[str, Metric, int, str]


def render_two_runs(first: Result, second: Result) -> str:
    """For each comparison that both runs made: the changes, whether they agree, and how the baselines stand.

    The runs were not interleaved, so a baseline that differs is a difference of machine, tree or day, not of layout.
    """
    ours, theirs = _by_key(first), _by_key(second)
    rows = [row for key in ours if key in theirs for row in _rows(ours[key], theirs[key])]
    head = [f"first:  {first.title}", f"second: {second.title}", ""]
    return "\n".join(head + (rows or ["the runs have no comparison in common"]) + list(_alone(ours, theirs))) + "\n"


def _by_key(result: Result) -> Mapping[_Key, Comparison]:
    return {(one.variant, one.metric, one.threads, one.benchmark): one for one in told(result)}


def _rows(one: Comparison, other: Comparison) -> Iterator[str]:
    yield f"{one.variant}, {one.name}, {scale(one)}: {_agreement(one, other)}"
    for name, run in (("first", one), ("second", other)):
        base = f"base {mean_and_spread(run.base)}"
        yield f"  {name:<6}  {signed(run.change):>8} ({interval(run)}), {run.verdict.value}; {base}"


def _agreement(one: Comparison, other: Comparison) -> str:
    if one.high < other.low or other.high < one.low:
        return "the runs contradict each other"
    same = one.verdict == other.verdict
    return f"both say {one.verdict.value}" if same else "the intervals agree, the verdicts are not the same"


def _alone(ours: Mapping[_Key, Comparison], theirs: Mapping[_Key, Comparison]) -> Iterator[str]:
    for name, these, those in (("first", ours, theirs), ("second", theirs, ours)):
        alone = [f"{one.variant} {one.name} ({scale(one)})" for key, one in these.items() if key not in those]
        if alone:
            yield f"only in the {name}: {', '.join(alone)}"
