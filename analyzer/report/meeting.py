# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases members still meet under a candidate, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import gcd

from linesmith.analyzer.model import Candidate, Layout, PhaseProof, Residual

# Pairs of members that are told; a candidate for a line that many members share parts many.
MOST_PAIRS = 6


def meeting_rows(candidate: Candidate) -> list[str]:
    """For each pair in how many phases it shares a line, now and then, by the size of the line.

    Where it still does, the places follow at which objects are known to lie. None where no pair was sampled.
    """
    pairs = [list(group) for _, group in groupby(candidate.residuals, lambda one: (one.first, one.second))]
    sizes = list(dict.fromkeys(one.line_bytes for one in candidate.residuals))
    table = [["on one line of", *(f"{size} bytes" for size in sizes)]]
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
    old = share_of_phases(residual.before, residual.line_bytes, candidate.before)
    return f"{old} -> {share_of_phases(residual.after, residual.line_bytes, candidate.after)}"


def share_of_phases(share: float, line_bytes: int, layout: Layout) -> str:
    """A share of phases as a count of those the record's alignment allows."""
    if share in (0.0, 1.0):
        return "always" if share else "never"
    count = line_bytes // gcd(line_bytes, max(layout.natural_alignment, layout.alignment or 1))
    met = share * count
    return f"{met:.0f} of {count} phases" if met == round(met) else f"{share:.0%} of the phases"


def _places(residual: Residual, proofs: tuple[PhaseProof, ...]) -> Iterator[str]:
    """Where objects are known to lie, and how many of them are in a phase in which the pair meets."""
    if not residual.after:
        return
    for proof in proofs:
        same = (proof.first, proof.second, proof.line_bytes) == (residual.first, residual.second, residual.line_bytes)
        if same and proof.place:
            yield f"  {proof.line_bytes} bytes, {proof.place}: {_counted(proof)}"


def _counted(proof: PhaseProof) -> str:
    if proof.phases == 1:
        return "always, there is one phase" if proof.together else "never, there is one phase"
    share = f", {proof.share:.0%} of the objects" if proof.together else ""
    return f"{proof.together or 'none'} of {proof.phases} phases{share}"
