# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings by type: a table for the top of a report, and which lines need not be told one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linesmith.analyzer.model import Finding
from linesmith.analyzer.report.cost import share_range
from linesmith.analyzer.report.prose import WIDTH, row
from linesmith.analyzer.sharing.line_cost import by_removable
from linesmith.analyzer.sharing.type_totals import TypeTotal, place_of, type_totals

MOST_TYPES = 12
# Lines at one place of objects of one type that are told in full.
MOST_ALIKE = 3
MOST_RANKS = 12
# Lines that are told in full in all.
MOST_LINES = 50


def type_rows(found: Sequence[Finding], columns: int = WIDTH) -> list[str]:
    """The table of types; none where it would say what the only line says."""
    if len(found) < 2:
        return []
    totals = type_totals(found)
    rows = [
        f"{len(found):,} lines by type:",
        f"  {'removable':<16} {'lines':>6} {'contended':>10}  type: members that meet",
    ]
    rows += [_row(one, columns) for one in totals[:MOST_TYPES]]
    more = len(totals) - MOST_TYPES
    return [*rows, f"  … and {more} more types"] if more > 0 else rows


def _row(one: TypeTotal, columns: int) -> str:
    pairs = ", ".join(f"{first} with {second}" for first, second in one.pairs)
    what = f"{one.type or 'object not known'}{': ' if pairs else ''}{pairs}"
    return row(f"  {share_range(one.share):<16} {one.lines:>6,} {one.contended:>10,}  ", what, columns)


def examples(found: Iterable[Finding]) -> tuple[list[tuple[Finding, tuple[int, ...]]], int]:
    """The findings to tell in full, the last of each place with the ranks of the lines like it; and how many are left.

    Lines of which no object is known are like no other.
    """
    places: dict[object, list[Finding]] = {}
    for finding in found:
        places.setdefault(place_of(finding) or finding.rank, []).append(finding)
    shown = {id(one) for group in places.values() for one in group[:MOST_ALIKE]}
    kept = [one for group in places.values() for one in group if id(one) in shown]
    alike = {id(group[MOST_ALIKE - 1]): group[MOST_ALIKE:] for group in places.values() if len(group) > MOST_ALIKE}
    ordered = by_removable(kept)
    told = [(one, tuple(sorted(more.rank for more in alike.get(id(one), ())))) for one in ordered[:MOST_LINES]]
    return told, len(ordered) - len(told)


def alike_row(finding: Finding, ranks: Sequence[int]) -> str:
    """What is said of lines that are like this one; ``""`` without any."""
    if not ranks:
        return ""
    place = place_of(finding)
    where = f"{place[0]}, from byte {place[1]} on" if place else ""
    listed = ", ".join(map(str, ranks[:MOST_RANKS])) + (" ..." if len(ranks) > MOST_RANKS else "")
    count = f"{len(ranks):,} more line{'' if len(ranks) == 1 else 's'}"
    return f"… and {count} like these ({where}): {listed}; --format json tells each"
