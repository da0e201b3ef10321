# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases members still meet under a candidate, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import gcd

from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, PhaseProof, Residual
from linesmith.analyzer.report.moves import MOST_PAIRS

MOST_PLACES = 3


def meeting_rows(candidate: Candidate) -> list[str]:
    """For each pair in how many phases it shares a line, now and then, by the size of the line.

    Where it still does, the places follow at which objects are known to lie. None where no pair was sampled.
    """
    pairs = [list(group) for _, group in groupby(candidate.residuals, lambda one: (one.first, one.second))]
    sizes = list(dict.fromkeys(one.line_bytes for one in candidate.residuals))
    table = [["phases on one line of", *(f"{size} bytes" for size in sizes)]]
    details: list[list[str]] = [[]]
    for group in pairs[:MOST_PAIRS]:
        table.append([f"{group[0].first} and {group[0].second}", *(_told(one, candidate) for one in group)])
        details.append([row for one in group for row in _places(one, candidate.proofs)])
    widths = [max(map(len, column)) for column in zip(*table, strict=False)]
    rows = [line for row, more in zip(table, details, strict=True) for line in (_row(row, widths), *more)]
    if len(pairs) > MOST_PAIRS:
        rows.append(f"… and {len(pairs) - MOST_PAIRS} more pairs; --format json has them")
    return rows if pairs else []


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False)).rstrip()


def _told(residual: Residual, candidate: Candidate) -> str:
    steps, size = candidate.steps, residual.line_bytes
    old, new = share_of_phases(residual.before, size, steps[0]), share_of_phases(residual.after, size, steps[1])
    return f"{old.removesuffix(' phases')} -> {new.removesuffix(' phases')}"


def share_of_phases(share: float, line_bytes: int, step: int) -> str:
    """A share of phases as a count of those there are where objects start at multiples of ``step`` bytes."""
    if share in (0.0, 1.0):
        return "always" if share else "never"
    count = line_bytes // gcd(line_bytes, step)
    met = share * count
    return f"{met:.0f} of {count} phases" if met == round(met) else f"{share:.0%} of the phases"


def _places(residual: Residual, proofs: Sequence[PhaseProof]) -> Iterator[str]:
    """At the usual line only: pairs of lines are fetched together on some machines, and at times."""
    if residual.line_bytes == CACHE_LINE_BYTES and (told := by_place(residual, proofs)):
        yield f"  of the objects {told}"


def by_place(residual: Residual, proofs: Sequence[PhaseProof]) -> str:
    """In how many of the objects of each cache the pair still meets, most first; empty where it never does.

    Of caches that are alike one is named, and how many more there are: ``100% in inode_cache and 2 others``.
    """
    if not residual.after:
        return ""
    pair = residual.first, residual.second, residual.line_bytes
    known = [one for one in proofs if one.place and (one.first, one.second, one.line_bytes) == pair]
    grouped: dict[str, list[str]] = {}
    for one in sorted(known, key=lambda one: -one.share):
        grouped.setdefault(_met(one), []).append(_cache(one, known))
    told = [f"{met} in {caches[0]}{_others(caches)}" for met, caches in grouped.items()]
    more = f", {len(told) - MOST_PLACES} more" if len(told) > MOST_PLACES else ""
    return f"{', '.join(told[:MOST_PLACES])}{more}"


def _others(caches: Sequence[str]) -> str:
    """How many caches there are besides the first: ``and 2 others``."""
    more = len(caches) - 1
    return f" and {more} other{'s' * (more != 1)}" if more else ""


def _cache(one: PhaseProof, known: Sequence[PhaseProof]) -> str:
    """The slab cache, with the place in its objects where there are several."""
    cache = one.place.partition(",")[0]
    several = sum(other.place.partition(",")[0] == cache for other in known) > 1
    return f"{one.place.replace(', ', '.')}" if several else cache


def _met(one: PhaseProof) -> str:
    return f"{one.share:.0%}" if one.together else "none"
