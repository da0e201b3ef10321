# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparisons as tables: base and head with their spreads over boots, the change, its interval, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from linesmith.analyzer.model import Comparison
from linesmith.analyzer.report.figures import interval, mean_and_spread, number, scale, signed, strips

MOST_OUTLIERS = 6
WIDTH = 100
_Cell = Callable[[Comparison], str]
_Column = tuple[str, _Cell]
_NUMBERS: tuple[_Column, ...] = (
    ("base ± sd", lambda one: mean_and_spread(one.base)),
    ("change", lambda one: signed(one.change)),
    ("head ± sd", lambda one: mean_and_spread(one.head)),
    ("interval of the change", interval),
)
_VERDICT: _Column = ("verdict", lambda one: one.verdict.value)
_VARIANT: _Column = ("variant", lambda one: one.variant)
_METRIC: _Column = ("metric", lambda one: metric(one))
_NAME: _Column = ("metric", lambda one: _named(one))
_RUNS: _Column = ("runs in blocks", lambda one: f"{len(one.base)} + {len(one.head)} in {one.blocks}")


def metric(one: Comparison) -> str:
    """What was measured, in which unit, with how many threads, and for what."""
    return f"{one.name} ({scale(one)}, {meaning(one)})"


def meaning(one: Comparison) -> str:
    """What the numbers mean: their unit, which way is better, and what the verdict may do."""
    unit = f"{one.metric.unit}, " if one.metric.unit else ""
    guard = f", guard {one.tolerance:.1%}" if one.guard else ""
    shown = ", decides nothing" if one.only_shown else ""
    return f"{unit}{one.metric.better.value} is better{guard}{shown}"


def render_comparisons(comparisons: Sequence[Comparison]) -> str:
    """A table for each pair of variants, and under it why each verdict is as it is; empty without a comparison."""
    return "\n\n".join(_pair(list(ones)) for _, ones in groupby(comparisons, _sides))


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """One table of all variants, without reasons and without rows of what is only shown; empty without a comparison."""
    kept = [one for one in comparisons if not one.only_shown]
    rows = list(_table(kept, (_VERDICT, _VARIANT, _METRIC))) if kept else []
    return "\n".join([*rows, *(f"  {said}" for said in _left_out(comparisons))])


def markdown_table(comparisons: Sequence[Comparison]) -> str:
    """The same in Markdown, with the number of runs, and what the metrics mean under it; empty without a comparison."""
    kept = [one for one in comparisons if not one.only_shown]
    columns = (_VARIANT, _NAME, *_NUMBERS, _VERDICT, _RUNS)
    rows = [[name for name, _ in columns], ["---"] * len(columns)] if kept else []
    rows += [[_escaped(" ".join(cell(one).split())) for _, cell in columns] for one in kept]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    said = [*dict.fromkeys(f"{one.name}: {meaning(one)}" for one in kept), *_left_out(comparisons)]
    return "\n\n".join(part for part in (table, "\n".join(f"- {one}" for one in said)) if part)


def _named(one: Comparison) -> str:
    return f"{one.name}, {scale(one)}"


def _left_out(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """How many rows there are not: those that decide are soon lost among them."""
    count = sum(one.only_shown for one in comparisons)
    if count:
        yield f"{count} row{'s' * (count != 1)} more, of metrics that decide nothing, in report.json"


def _sides(one: Comparison) -> tuple[str, str]:
    return one.baseline, one.variant


def _pair(comparisons: Sequence[Comparison]) -> str:
    first = comparisons[0]
    notes = [line for one in comparisons if not one.only_shown for line in _notes(one)]
    return "\n".join(
        [
            f"{first.variant} (head) against {first.baseline} (base)",
            *_table(comparisons, (_VERDICT, _METRIC)),
            "",
            *notes,
        ]
    )


def _table(comparisons: Sequence[Comparison], words: Sequence[_Column]) -> Iterator[str]:
    """Numbers to the right of their columns, then ``words`` to the left of theirs."""
    columns = (*_NUMBERS, *words)
    rows = [[name for name, _ in columns], *([cell(one) for _, cell in columns] for one in comparisons)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if at < len(_NUMBERS) else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "   ".join(cells).rstrip()


def _notes(one: Comparison) -> Iterator[str]:
    base, head = strips(one.base, one.head)
    yield f"  {one.name}, {scale(one)}: {one.verdict.value}"
    yield from wrap(f"{one.reason}; {runs(one)}", WIDTH, initial_indent="    ", subsequent_indent="    ")
    if one.outliers:
        shown = ", ".join(map(number, one.outliers[:MOST_OUTLIERS]))
        more = f" and {len(one.outliers) - MOST_OUTLIERS} more" if len(one.outliers) > MOST_OUTLIERS else ""
        yield f"    outliers, which count like any run: {shown}{more}"
    if one.base and one.head:
        lowest, highest = min(one.base + one.head), max(one.base + one.head)
        yield f"    base |{base}|  from {number(lowest)}"
        yield f"    head |{head}|  to {number(highest)}"


def runs(one: Comparison) -> str:
    """How often was measured: ``8 + 8 runs in 4 blocks``."""
    return f"{len(one.base)} + {len(one.head)} runs in {one.blocks} block{'s' * (one.blocks != 1)}"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
