# SPDX-License-Identifier: GPL-2.0-or-later
"""What machines said of themselves, one entry for each name however often they said it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linesmith.analyzer.report.figures import number

MOST_VALUES = 4


def merged(facts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The names in order, each with its one value, the ranges of its numbers, or its first few texts."""
    found: dict[str, list[str]] = {}
    for name, value in facts:
        values = found.setdefault(name, [])
        if value not in values:
            values.append(value)
    return tuple((name, _together(values)) for name, values in found.items())


def emulated(facts: Iterable[tuple[str, str]]) -> bool:
    """Whether the machine was emulated by QEMU (TCG): its time is that of translated code, without caches."""
    return any(name == "machine" and "tcg" in value.casefold() for name, value in facts)


def _together(values: Sequence[str]) -> str:
    if len(values) == 1:
        return values[0]
    try:
        rows = [tuple(map(float, value.split())) for value in values]
        return ", ".join(_range(column) for column in zip(*rows, strict=True))
    except ValueError:
        more = f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
        return ", ".join(values[:MOST_VALUES]) + more


def _range(values: Sequence[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"
