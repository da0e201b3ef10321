# SPDX-License-Identifier: GPL-2.0-or-later
"""What was measured, for a commit message: at most 75 columns, and no claim beyond the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from linesmith.analyzer.model import Comparison, FailureKind, Result
from linesmith.analyzer.report.facts import emulated, merged
from linesmith.analyzer.report.figures import interval, mean_and_spread, number, scale, signed
from linesmith.analyzer.report.unchecked import equal_builds, unchecked

WIDTH = 75
_ROW = "    {:<11} {:>18}  {:>16}  {:>7}"


def evidence(result: Result, variant: str) -> str:
    """Paragraphs about ``variant``: a table of timed and one of simulated metrics, the circumstances, what is open.

    Confirmed comparisons are taken; without any those of the search, which are called so. Of a variant that failed when
    it was measured only that is said. Empty of one that was never measured.
    """
    confirmed = [one for one in result.confirmed if one.variant == variant]
    ones = confirmed or [one for one in result.explored if one.variant == variant]
    if not ones:
        return _failed(result, variant)
    timed, simulated = [one for one in ones if not one.simulated], [one for one in ones if one.simulated]
    title = _EMULATED if emulated(result.facts) else _TIMED
    blocks = [*_table(title, timed), *_table(_SIMULATED, simulated), _method(result, ones, bool(confirmed))]
    blocks += [_circumstances(result, variant), _open(unchecked(result, ones))]
    return "\n\n".join(block for block in blocks if block) + "\n"


# What happens to a variant that has been built.
_WHEN_MEASURED = (
    *(FailureKind.BOOT, FailureKind.PANIC, FailureKind.HANG, FailureKind.OUT_OF_MEMORY),
    *(FailureKind.BENCHMARK, FailureKind.NONSENSE, FailureKind.RECORDING, FailureKind.GUARD),
)
_TIMED = "Measured, baseline against this patch (mean ± standard deviation over runs):"
_EMULATED = (
    "Timed in an emulated machine, which has no caches, baseline against this patch (mean ± standard deviation over "
    "runs):"
)
_SIMULATED = (
    "Simulated, baseline against this patch; these are counts of an emulated machine with a model of private caches, "
    "no time of a real one:"
)


def _failed(result: Result, variant: str) -> str:
    """That the variant did not come through its benchmark, which a reader must not learn from silence."""
    failures = [one.failure for one in result.trials if one.variant == variant and one.failure is not None]
    met = next((one for one in failures if one.kind in _WHEN_MEASURED), None)
    return f"{_wrapped(f'It failed when it was measured: {met.kind.value}: {met.reason}.')}\n" if met else ""


def _table(title: str, ones: Sequence[Comparison]) -> Iterator[str]:
    if ones:
        yield _wrapped(title)
        yield "\n".join(_rows(ones))


def _rows(ones: Sequence[Comparison]) -> Iterator[str]:
    for _, same in groupby(ones, lambda one: (one.name, one.metric.unit, one.guard, one.only_shown)):
        group = list(same)
        guard = "; a guard" if group[0].guard else "; only shown" if group[0].only_shown else ""
        yield from _row_wrapped(f"{group[0].name} ({_unit(group[0])}{group[0].metric.better.value} is better{guard})")
        for one in group:
            base, head = mean_and_spread(one.base), mean_and_spread(one.head)
            row = _ROW.format(scale(one), base, head, signed(one.change))
            yield from [row] if len(row) <= WIDTH else _row_wrapped(" ".join(row.split()), "    ")
            bounds = f"{100 * one.confidence:.3g}% interval {interval(one)}"
            yield from _row_wrapped(f"{one.verdict.value}; {bounds}", "      ")


def _unit(one: Comparison) -> str:
    return f"{one.metric.unit}, " if one.metric.unit else ""


def _row_wrapped(text: str, indent: str = "  ") -> list[str]:
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


def _method(result: Result, ones: Sequence[Comparison], confirmed: bool) -> str:
    blocks, runs = _range([one.blocks for one in ones]), _range([len(one.base) for one in ones])
    text = f"{runs} runs of each side in {blocks} interleaved blocks; bounds are of the ratio of means, by bootstrap."
    floor = max(one.floor for one in ones)
    if floor:
        builds = 1 + len(equal_builds(result))
        text += f" {builds} builds of equal layout were seen to differ by up to {floor:.2%}." if builds > 1 else ""
    outliers = [value for one in ones for value in one.outliers]
    if outliers:
        text += f" Far-out runs are included: {len(outliers)} (such as {number(outliers[0])})."
    if not confirmed:
        text += " They are runs of the search itself; nothing was confirmed on fresh ones."
    return _wrapped(text)


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _circumstances(result: Result, variant: str) -> str:
    build = next((build for build in result.builds if build.variant == variant), None)
    made = (("compiler", build.compiler), ("configuration", build.configuration[:12])) if build else ()
    parts = [f"{name} {value}" for name, value in (*made, *merged(result.facts)) if value and not _passing(name)]
    return _wrapped(f"On: {'; '.join(parts)}.") if parts else ""


def _passing(name: str) -> bool:
    """Whether a fact is about one boot or the day, which the report tells and a commit message does not need."""
    return name.removeprefix("host ") in ("boot seconds", "build-id", "emulated because", "load before")


def _open(sentences: Sequence[str]) -> str:
    return _wrapped(f"Not measured: {'; '.join(sentences)}.") if sentences else ""


def _wrapped(text: str) -> str:
    return "\n".join(wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))
