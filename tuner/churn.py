# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reviewer has to read: the fewest members that move, and the lines that a diff then shows."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import Churn
from linesmith.tuner.arrangement import Arrangement
from linesmith.tuner.subject import Subject

# A diff shows a line that moves, or changes, twice: once removed and once added.
LINES = 2


def churn(subject: Subject, arrangement: Arrangement) -> Churn:
    """Members that move or are newly aligned, each taken to be one line of the source."""
    sizes = [len(part.members) for part in subject.parts]
    still = kept(arrangement.order, sizes)
    moved = sum(size for atom, size in enumerate(sizes) if atom not in still)
    members = moved + sum(1 for atom in arrangement.aligned if atom in still)
    return Churn(members, LINES * members)


def kept(order: Sequence[int], sizes: Sequence[int]) -> frozenset[int]:
    """Atoms that can stay while the others move: of all that are in their old order, those with most members.

    ``order`` has atoms by their old numbers, ``sizes`` how many members each atom has.
    """
    best: list[tuple[int, tuple[int, ...]]] = []
    for atom in order:
        before = max((one for one in best if one[1][-1] < atom), default=(0, ()))
        best.append((before[0] + sizes[atom], (*before[1], atom)))
    return frozenset(max(best, default=(0, ()))[1])
