# SPDX-License-Identifier: GPL-2.0-or-later
"""All candidates of a line side by side: what each gains, what it costs, what a reviewer reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Simulation
from linesmith.analyzer.report.moves import short_change
from linesmith.analyzer.report.prose import WIDTH, prose
from linesmith.analyzer.report.savings import saved
from linesmith.analyzer.report.suggested import Numbered

# What a table says of the change in its own column, at least; with less room it stands below the row.
LEAST_CHANGE = 24
HEAD = ("", "change", "saves", "limits", "size", "pages/1,000", "moved", "diff")


def alternative_rows(ones: Sequence[Numbered], columns: int = WIDTH) -> list[str]:
    """A table of the candidates, the recommended one marked with ``*``; columns that say nothing are left out."""
    table = alternative_cells(ones)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    room = columns - sum(widths) + widths[1] - 2 * (len(widths) - 1)
    if room < min(widths[1], LEAST_CHANGE):
        return list(_rows_with_changes_below(table, widths, columns))
    widths[1] = min(widths[1], room)
    return [_row(row, widths) for row in table]


def _rows_with_changes_below(table: Sequence[Sequence[str]], widths: Sequence[int], columns: int) -> Iterator[str]:
    first, _, *others = widths
    for row in table:
        cells = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[2:], others, strict=True))
        yield f"{row[0]:>{first}}  {cells}".rstrip()
        yield from prose(row[1], " " * 4, " " * 6, columns).splitlines()


def alternative_cells(ones: Sequence[Numbered]) -> list[list[str]]:
    """The same in cells, first the head; columns that say nothing are left out."""
    simulated = any(one.simulation is not None for one in ones)
    table = [[*HEAD, "replayed"] if simulated else list(HEAD), *(_cells(one, simulated) for one in ones)]
    kept = [column for column in range(len(table[0])) if column < 2 or any(row[column] for row in table[1:])]
    return [[row[column] for column in kept] for row in table]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right, the change to the left."""
    parts = [
        f"{cut(cell, width):<{width}}" if place == 1 else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(parts).rstrip()


def _cells(one: Numbered, simulated: bool) -> list[str]:
    candidate, churn = one.candidate, one.candidate.churn
    change, gain = short_change(candidate), saved(candidate)
    cells = [f"{'* ' if candidate.recommended else ''}{one.name}"]
    cells += [change]
    cells += [f"{gain.likely:,.0f}", gain.limits_text, f"{candidate.after.size:,}", _pages(candidate)]
    cells += [f"{churn.members}", f"{churn.lines}"] if churn.members else ["", ""]
    return [*cells, _replayed(one.simulation)] if simulated else cells


def cut(change: str, width: int) -> str:
    """What changes, in no more columns than there are for it."""
    return change if len(change) <= width else f"{change[: width - 1]}…"


def _pages(candidate: Candidate) -> str:
    """Pages of the cache that the change costs most in."""
    pairs = list(zip(*(cost.memory for cost in candidate.costs), strict=False))
    if not pairs:
        return ""
    old, new = max(pairs, key=lambda pair: pair[1].pages_per_1000 - pair[0].pages_per_1000)
    same = old.pages_per_1000 == new.pages_per_1000
    return f"{new.pages_per_1000}" if same else f"{old.pages_per_1000} -> {new.pages_per_1000}"


def _replayed(simulation: Simulation | None) -> str:
    """The change of the misses at the usual line, over as many phases as were looked at."""
    lines = [one for one in simulation.lines if one.line_bytes == CACHE_LINE_BYTES] if simulation else []
    widest = max(lines, key=lambda one: one.phases, default=None)
    return f"{widest.change:+.1%}" if widest else "-"
