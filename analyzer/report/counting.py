# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts and lists of numbers in words; imports nothing, for every command says such things."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, thing: str) -> str:
    """``1 line``, ``2,000 lines``."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def amount(count: int, things: str) -> str:
    """The same with the word for several: ``1 access``, ``2,000 accesses``, ``1 load``."""
    thing = things.removesuffix("es" if things.endswith("sses") else "s")
    return f"{count:,} {things if count != 1 else thing}"


def runs(numbers: Sequence[int]) -> str:
    """Rising numbers as a short list: ``0-3 and 8``, ``0, 2-4 and 9``."""
    found: list[list[int]] = []
    for one in numbers:
        if found and found[-1][1] == one - 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    told = [f"{first}-{last}" if last > first else f"{first}" for first, last in found]
    return " and ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))
