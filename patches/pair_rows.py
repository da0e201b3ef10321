# SPDX-License-Identifier: GPL-2.0-or-later
"""How often pairs of members meet on a line, as rows of a message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import gcd

from linesmith.analyzer.model import Residual

# Pairs of members that are listed in any case.
_PAIRS = 6


def pair_rows(residuals: Sequence[Residual], granules: tuple[int, int]) -> list[str]:
    """A row for each of the heaviest pairs, which come first, and for all that meet more often than before.

    Objects start at multiples of ``granules`` bytes before and after the change; each size of a line has its share.
    """
    sizes = line_sizes(residuals)
    pairs = [list(them) for _, them in groupby(residuals, lambda one: (one.first, one.second))]
    shown = [them for at, them in enumerate(pairs) if at < _PAIRS or any(one.after > one.before for one in them)]
    rows = [f"{them[0].first} and {them[0].second}: {_by_size(them, sizes, granules)}" for them in shown]
    if left := len(pairs) - len(shown):
        rows.append(f"{left} more pair{'s' * (left != 1)}: no more often than before")
    return rows


def line_sizes(residuals: Sequence[Residual]) -> tuple[int, ...]:
    """The sizes of lines in bytes, in the order of the columns."""
    return tuple(dict.fromkeys(one.line_bytes for one in residuals))


def _by_size(of_pair: Sequence[Residual], sizes: Sequence[int], granules: tuple[int, int]) -> str:
    """What a pair has for each size of a line."""
    found = {
        one.line_bytes: f"{_share(one.before, one.line_bytes, granules[0])} -> "
        f"{_share(one.after, one.line_bytes, granules[1])}"
        for one in of_pair
    }
    return "; ".join(found.get(size, "not known") for size in sizes)


def _share(share: float, line_bytes: int, granule: int) -> str:
    starts = line_bytes // gcd(line_bytes, granule)
    return f"{round(share * starts)} of {starts}"
