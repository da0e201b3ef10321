# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's result as JSON, and as evidence for a commit message.

In JSON (docs/json.md) nothing is left out; changes, costs, spreads and floors are shares of the baseline,
times are wall seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

import msgspec

from linesmith.analyzer.base.text import WIDTH, paragraph
from linesmith.analyzer.model import Comparison, FailureKind, Result
from linesmith.analyzer.report import run
from linesmith.analyzer.report.prose import json_text

SCHEMA_VERSION = 1


def render_json(result: Result) -> str:
    """The result as one indented JSON document that ends in a newline.

    Bytes of a file name or a log that are no UTF-8 are spelled out in hexadecimal: JSON has no other place for them.
    """
    return json_text(_legible(msgspec.to_builtins({"schema": SCHEMA_VERSION, "result": result})))


def _legible(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, (list, tuple)):
        return [_legible(one) for one in value]
    return {key: _legible(one) for key, one in value.items()} if isinstance(value, dict) else value


# What was measured, for a commit message: at most 75 columns, and no claim beyond the verdict.

_ROW = "    {:<11} {:>18}  {:>16}  {:>7}"


def evidence(result: Result, variant: str) -> str:
    """Paragraphs about ``variant``: a table of timed and one of simulated metrics, the circumstances, what is open.

    Confirmed comparisons are taken; without any those of the search, named as such. Of a variant that failed when it
    was measured only that is reported. Empty of one that was never measured.
    """
    confirmed = [one for one in result.confirmed if one.variant == variant]
    ones = confirmed or [one for one in result.explored if one.variant == variant]
    if not ones:
        failures = [one.failure for one in result.trials if one.variant == variant and one.failure is not None]
        met = next((one for one in failures if one.kind in _WHEN_MEASURED), None)
        return f"{paragraph(f'It failed when it was measured: {met.kind.value}: {met.reason}.')}\n" if met else ""
    blocks = []
    for title, rows in (
        (_EMULATED if run.emulated(result.facts) else _TIMED, [one for one in ones if not one.simulated]),
        (_SIMULATED, [one for one in ones if one.simulated]),
    ):
        blocks += [paragraph(title), "\n".join(_comparison_rows(rows))] if rows else []
    blocks += [_method(result, ones, bool(confirmed)), _circumstances(result, variant)]
    unmeasured = "; ".join(run.unchecked(result, ones))
    blocks += [paragraph(f"Not measured: {unmeasured}.")] if unmeasured else []
    return "\n\n".join(filter(None, blocks)) + "\n"


# What happens to a variant that has been built.
_WHEN_MEASURED = (
    *(FailureKind.BOOT, FailureKind.PANIC, FailureKind.HANG, FailureKind.OUT_OF_MEMORY),
    *(FailureKind.BENCHMARK, FailureKind.NONSENSE, FailureKind.RECORDING, FailureKind.GUARD),
)
# Facts about one boot or the day, which the report tells and a commit message does not need.
_PASSING = ("boot seconds", "build-id", "emulated because", "load before")
_TIMED = "Measured, baseline against this patch (mean ± standard deviation over runs):"
_EMULATED = (
    "Timed in an emulated machine, which has no caches, baseline against this patch (mean ± standard deviation over "
    "runs):"
)
_SIMULATED = (
    "Simulated, baseline against this patch; these are counts of an emulated machine with a model of private caches, "
    "no time of a real one:"
)


def _comparison_rows(ones: Sequence[Comparison]) -> Iterator[str]:
    for _, same in groupby(ones, lambda one: (one.name, one.metric.unit, one.guard, one.only_shown)):
        group = list(same)
        first, unit = group[0], f"{group[0].metric.unit}, " if group[0].metric.unit else ""
        guard = "; a guard" if first.guard else "; only shown" if first.only_shown else ""
        yield from _row_wrapped(f"{first.name} ({unit}{first.metric.better.value} is better{guard})")
        for one in group:
            base, head = run.mean_and_spread(one.base), run.mean_and_spread(one.head)
            row = _ROW.format(run.scale(one), base, head, run.signed(one.change))
            yield from [row] if len(row) <= WIDTH else _row_wrapped(" ".join(row.split()), "    ")
            bounds = f"{100 * one.confidence:.3g}% interval {run.interval(one)}"
            yield from _row_wrapped(f"{one.verdict.value}; {bounds}", "      ")


def _row_wrapped(text: str, indent: str = "  ") -> list[str]:
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


def _method(result: Result, ones: Sequence[Comparison], confirmed: bool) -> str:
    blocks, runs = (
        f"{min(counts)} to {max(counts)}" if min(counts) != max(counts) else f"{min(counts)}"
        for counts in ([one.blocks for one in ones], [len(one.base) for one in ones])
    )
    text = f"{runs} runs of each side in {blocks} interleaved blocks; bounds are of the ratio of means, by bootstrap."
    floor = max(one.floor for one in ones)
    if floor:
        builds = 1 + len(run.equal_builds(result))
        text += f" {builds} builds of equal layout were seen to differ by up to {floor:.2%}." if builds > 1 else ""
    outliers = [value for one in ones for value in one.outliers]
    if outliers:
        text += f" Far-out runs are included: {len(outliers)} (such as {run.number(outliers[0])})."
    if not confirmed:
        text += " They are runs of the search itself; nothing was confirmed on fresh ones."
    return paragraph(text)


def _circumstances(result: Result, variant: str) -> str:
    build = next((build for build in result.builds if build.variant == variant), None)
    made = (("compiler", build.compiler), ("configuration", build.configuration[:12])) if build else ()
    parts = [
        f"{name} {value}"
        for name, value in (*made, *run.merged(result.facts))
        if value and name.removeprefix("host ") not in _PASSING
    ]
    return paragraph(f"On: {'; '.join(parts)}.") if parts else ""
