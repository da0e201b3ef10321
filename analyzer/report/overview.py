# SPDX-License-Identifier: GPL-2.0-or-later
"""The recommended changes of a profile with several lines, one row each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.report.alternatives import cut
from linesmith.analyzer.report.moves import short_change
from linesmith.analyzer.report.prose import WIDTH, prose, row
from linesmith.analyzer.report.savings import saved
from linesmith.analyzer.report.suggested import Numbered, Suggested

MOST_ROWS = 12
MOST_CHANGE = 40


def overview_rows(suggested: Suggested, columns: int = WIDTH) -> list[str]:
    """What is recommended where, hottest line first; none for a profile with one line to speak of."""
    ones = [one for one in suggested.numbered() if one.candidate.recommended]
    lines = [line for line in suggested.lines if line.candidates or line.advice]
    if len(lines) < 2:
        return []
    rows = ["recommended:", *_table(ones[:MOST_ROWS], columns)] if ones else ["recommended: nothing"]
    rows += [f"  … and {len(ones) - MOST_ROWS} more"] if len(ones) > MOST_ROWS else []
    return [*rows, *(prose(one, then="  ", columns=columns) for one in _advised(suggested))]


def _table(ones: Sequence[Numbered], columns: int) -> Iterator[str]:
    cells = [(f"line {one.line.finding.rank}", one.candidate.type, _said(one), _gain(one)) for one in ones]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for one in cells:
        first = "".join(f"  {cell:<{width}}" for cell, width in zip(one[:-1], widths, strict=False))
        yield row(f"{first}  ", one[-1], columns)


def _said(one: Numbered) -> str:
    return f"candidate {one.name}: {cut(short_change(one.candidate), MOST_CHANGE)}"


def _gain(one: Numbered) -> str:
    before, after = one.candidate.before.size, one.candidate.after.size
    size = f", {before} -> {after} bytes" if after != before else ""
    return f"saves {saved(one.candidate, one.replayed).in_brief}{size}"


def _advised(suggested: Suggested) -> Iterator[str]:
    """Where there is advice beside moving members, and of what kind."""
    kinds: dict[str, list[str]] = {}
    for line in suggested.lines:
        for one in line.advice:
            kinds.setdefault(one.type, []).append(one.kind.value)
    if kinds:
        told = (f"{type_} ({', '.join(dict.fromkeys(found))})" for type_, found in kinds.items())
        yield f"structure: {'; '.join(told)}"
