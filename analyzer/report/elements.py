# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects of a line, with the elements of an array of plain values told as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.model import LineObject, VariableRow

# Elements that are called by their names.
MOST_ELEMENTS = 3


def objects_told(objects: Sequence[LineObject]) -> Iterator[LineObject]:
    """The objects in their order; where the first element of such an array is met, all of it in one."""
    told: set[VariableRow] = set()
    for one in objects:
        row = one.row if one.variable else None
        if row is None or row.count == 1:
            yield one
        elif row not in told:
            told.add(row)
            yield _joined([other for other in objects if other.row == row])


def _joined(elements: Sequence[LineObject]) -> LineObject:
    first, *others = sorted(elements, key=lambda one: one.start)
    names = [one.variable for one in others[: MOST_ELEMENTS - 1]]
    more = f" and {len(others) - len(names)} more" if len(others) > len(names) else ""
    return replace(first, origin=f"{', '.join([first.origin, *names])}{more}")
