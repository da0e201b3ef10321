# SPDX-License-Identifier: GPL-2.0-or-later
"""Records whose members lie elsewhere in the build of the report: which of them its offsets are, in this build's words.

Releases add, remove and grow members. What is behind such a place moves as a whole, so the members of a line keep their
order and mostly their distances. An explanation is a way through the offsets of the line: at each the start that the
object would have if it were laid out as here. A start that stays costs nothing; one that changes costs as much as such
changes are rare between Linux 6.1 and 6.12. docs/attribution.md has the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log, log1p

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.attribution.hypotheses import Column, Hypothesis, Proposer
from linesmith.analyzer.attribution.likelihood import OUTSIDE, UNEXPLAINED_LEAF, Clue, probability

# How likely the distance of two members a word apart is another one in the other build; further apart it grows up to
# that of 24 bytes. Of 17,577 pairs of neighbouring members that code touches, 8 % changed theirs.
CHANGED_IN_WORD, CHANGED_AT_MOST = 0.06, 0.25
# Of the changes, how many are by one word, or by half of one; larger ones by the power of their size.
BY_WORD, BY_HALF, BY_BYTES, POWER = 0.13, 0.07, 0.01, 1.3
# Two members that have changed places; they are among the changes, and less likely than those.
SWAPPED = 0.3
# Below odds of about six to one a member is in doubt.
SURE = 0.85
# A member that is likelier than any other; a record without one is not known.
LIKELIER = 0.5
# Types that are looked at more closely, and starts of each.
MOST_TYPES = 24
MOST_STARTS = 64
_WORD = 8


def drifted(clues: Sequence[Clue], proposer: Proposer) -> Iterator[Hypothesis]:
    """The best way of each type that explains most, if it has a change in it; none where instructions are known."""
    offsets = sorted({clue.offset for clue in clues})
    if len(offsets) < 2 or any(clue.by_instruction for clue in clues):
        return
    for layout, starts in _promising(clues, proposer):
        way = _Ways(layout, starts, offsets, clues).best()
        if len(set(way)) > 1:
            most = max(way, key=lambda start: (way.count(start), -way.index(start)))
            yield Hypothesis(layout, most, tuple(zip(offsets, way, strict=True)))


def certainties(one: Hypothesis, clues: Sequence[Clue], proposer: Proposer) -> dict[int, float]:
    """How likely each offset of the line is the member there, if the record may be laid out otherwise (0 to 1).

    Empty where instructions are known.
    """
    offsets = sorted({clue.offset for clue in clues})
    if not offsets or any(clue.by_instruction for clue in clues):
        return {}
    starts = next((starts for layout, starts in _promising(clues, proposer, one.layout)), [])
    usable = sorted({one.start_at(offset) for offset in offsets}.union(starts))
    shares = _Ways(one.layout, usable, offsets, clues).shares()
    at = [usable.index(one.start_at(offset)) for offset in offsets]
    return {offset: float(shares[number, at[number]]) for number, offset in enumerate(offsets)}


def change_cost(one: Hypothesis) -> float:
    """Log odds of the changes of distance that a hypothesis takes for granted; 0 for a layout as in this build."""
    steps = pairwise(one.ways)
    return sum(float(_cost(np.array([there - here]), after - before)[0]) for (before, here), (after, there) in steps)


def _cost(change: Column, gap: int) -> NDArray[np.float64]:
    """Log odds of changes of the start (bytes) between two offsets that are ``gap`` bytes apart."""
    size = np.abs(change)
    likely = np.where(size % _WORD == 0, BY_WORD, np.where(size % 4 == 0, BY_HALF, BY_BYTES))
    words = np.maximum(size / np.where(size % _WORD == 0, _WORD, np.where(size % 4 == 0, 4, 1)), 1)
    happens = min(CHANGED_IN_WORD * gap / _WORD, CHANGED_AT_MOST)
    cost = log(happens) - log1p(-happens) + np.log(likely) - POWER * np.log(words)
    cost = np.where(change > gap, cost + log(SWAPPED), cost)
    cost = np.where(change == gap, -np.inf, cost)  # both would be one member
    return np.where(change == 0, 0.0, cost)


def _promising(clues: Sequence[Clue], proposer: Proposer, only: int | None = None) -> Iterator[tuple[int, list[int]]]:
    """The types that explain most clues if each may lie anywhere, with the starts that the clues speak for."""
    layouts: list[Column] = []
    starts: list[Column] = []
    gains: list[NDArray[np.float64]] = []
    most: list[tuple[Column, NDArray[np.float64]]] = []
    for clue in clues:
        places = proposer.places(clue)
        layout, gain = places.layout[places.touched], places.gain[places.touched] * clue.weight
        layouts.append(layout)
        starts.append(clue.offset - places.offset[places.touched])
        gains.append(gain)
        distinct, which = np.unique(layout, return_inverse=True)
        best = np.zeros(len(distinct))
        np.maximum.at(best, which, gain)
        most.append((distinct, best))
    every, which = np.unique(np.concatenate([one for one, _ in most]), return_inverse=True)
    explained = np.bincount(which, np.concatenate([best for _, best in most]), len(every))
    layout, start, gain = np.concatenate(layouts), np.concatenate(starts), np.concatenate(gains)
    foremost = every[np.argsort(-explained, kind="stable")[:MOST_TYPES]]
    for one in foremost if only is None else every[every == only]:
        mine = layout == one
        distinct, which = np.unique(start[mine], return_inverse=True)
        summed = np.bincount(which, gain[mine], len(distinct))
        yield int(one), distinct[np.argsort(-summed, kind="stable")[:MOST_STARTS]].tolist()


class _Ways:
    """All ways through the offsets of a line that the starts of a record allow, with how likely each is."""

    def __init__(self, layout: int, starts: Sequence[int], offsets: Sequence[int], clues: Sequence[Clue]) -> None:
        self._starts = starts
        column = np.array(starts, np.int64)
        change = column[np.newaxis, :] - column[:, np.newaxis]  # from row to column
        gaps = (after - before for before, after in pairwise(offsets))
        self._steps = [_cost(change, gap) for gap in gaps]
        here = [[clue for clue in clues if clue.offset == offset] for offset in offsets]
        self._explained = np.array(
            [[sum(_gain(clue, layout, start) for clue in clues) for start in starts] for clues in here]
        )

    def best(self) -> list[int]:
        """The start at each offset on the likeliest way."""
        score, came = self._explained[0], []
        for explained, step in zip(self._explained[1:], self._steps, strict=True):
            reached = score[:, np.newaxis] + step
            came.append(np.argmax(reached, axis=0))
            score = np.max(reached, axis=0) + explained
        way = [int(np.argmax(score))]
        for before in reversed(came):
            way.append(int(before[way[-1]]))
        return [self._starts[one] for one in reversed(way)]

    def shares(self) -> NDArray[np.float64]:
        """Of all ways by their likelihood, the share that has each start (a column) at each offset (a row)."""
        ahead, back = [self._explained[0]], [np.zeros(len(self._starts))]
        for explained, step in zip(self._explained[1:], self._steps, strict=True):
            ahead.append(np.logaddexp.reduce(ahead[-1][:, np.newaxis] + step, axis=0) + explained)
        for explained, step in zip(self._explained[:0:-1], self._steps[::-1], strict=True):
            back.append(np.logaddexp.reduce(step + (back[-1] + explained)[np.newaxis, :], axis=1))
        both = np.array(ahead) + np.array(back[::-1])
        shares: NDArray[np.float64] = np.exp(both - np.logaddexp.reduce(both, axis=1)[:, np.newaxis])
        return shares


def _gain(clue: Clue, layout: int, start: int) -> float:
    """Log likelihood against a leaf without a reason; members keep their alignment."""
    place = clue.offset - start
    leaf = next(iter(clue.containment.leaves(layout, place)), None)
    misplaced = leaf is not None and leaf.size and start % min(leaf.size & -leaf.size, _WORD)
    likelihood = OUTSIDE if misplaced else probability(clue, layout, place)[0]
    return clue.weight * log(likelihood / UNEXPLAINED_LEAF)
