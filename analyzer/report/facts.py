# SPDX-License-Identifier: GPL-2.0-or-later
"""What machines said of themselves, one entry for each name however often they said it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linesmith.analyzer.report.figures import number

MOST_VALUES = 4


def merged(facts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The names in order, each with its one value, the range of its numbers, or its first few texts."""
    found: dict[str, list[str]] = {}
    for name, value in facts:
        values = found.setdefault(name, [])
        if value not in values:
            values.append(value)
    return tuple((name, _together(values)) for name, values in found.items())


def _together(values: Sequence[str]) -> str:
    if len(values) == 1:
        return values[0]
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        more = f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
        return ", ".join(values[:MOST_VALUES]) + more
    return f"{number(min(numbers))} to {number(max(numbers))}"
