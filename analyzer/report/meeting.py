# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases members still meet under a candidate, in rows of text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import gcd

from linesmith.analyzer.model import Candidate, Layout, PhaseProof, Residual

# Pairs of members that are told; a candidate for a line that many members share parts many.
MOST_PAIRS = 4


def meeting_rows(candidate: Candidate) -> Iterator[str]:
    """How often each pair shares a line, now and then; where objects are known to lie if they still do."""
    pairs = [list(group) for _, group in groupby(candidate.residuals, lambda one: (one.first, one.second))]
    for group in pairs[:MOST_PAIRS]:
        for residual in group:
            yield _told(residual, candidate.before, candidate.after)
            yield from (f"  {row}" for row in _places(residual, candidate.proofs))
    if len(pairs) > MOST_PAIRS:
        yield f"… and {len(pairs) - MOST_PAIRS} more pairs; --format json has them"


def _told(residual: Residual, before: Layout, after: Layout) -> str:
    old = share_of_phases(residual.before, residual.line_bytes, before)
    new = share_of_phases(residual.after, residual.line_bytes, after)
    return f"{residual.first} and {residual.second} on one line of {residual.line_bytes} bytes: {old} -> {new}"


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
            yield f"{proof.place}: {_counted(proof)}"


def _counted(proof: PhaseProof) -> str:
    if proof.phases == 1:
        return "always, there is one phase" if proof.together else "never, there is one phase"
    share = f", {proof.share:.0%} of the objects" if proof.together else ""
    return f"{proof.together or 'none'} of {proof.phases} phases{share}"
