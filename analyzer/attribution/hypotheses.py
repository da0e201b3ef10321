# SPDX-License-Identifier: GPL-2.0-or-later
"""What may lie on a line: every record type laid at every start that some access speaks for.

In the build of the report members may lie elsewhere. Releases add, remove and grow members; what is behind such a place
moves as a whole, so the members of a line keep their order and mostly their distances. An explanation is then a way
through the offsets of the line, at each the start of the object. A start that changes costs as much as such changes are
rare between Linux 6.1 and 6.12. docs/attribution.md has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.attribution.code_touches import SampledKinds, Spot
from linesmith.analyzer.attribution.evidence import (
    OUTSIDE,
    UNEXPLAINED_LEAF,
    Clue,
    Reach,
    probability,
    reach_likelihood,
    touch_likelihood,
)
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import CacheLine
from linesmith.analyzer.slab.starts import SlabStarts

# Physical memory is mapped here, and nothing else is: x86-64 with four and with five levels of page tables, up to the
# lowest address that the array of struct page can have behind the vmalloc area; arm64. Slab objects lie there, never
# a ``struct page``. Sources: Documentation/arch/x86/x86_64/mm.rst, arch/x86/mm/kaslr.c (bases move, their order and
# the room of the vmalloc area stay), Documentation/arch/arm64/memory.rst.
_LINEAR_MAPS = (
    range(0xFFFF_8880_0000_0000, 0xFFFF_A880_0000_0000),
    range(0xFF11_0000_0000_0000, 0xFF43_0000_0000_0000),
    range(0xFFFF_0000_0000_0000, 0xFFFF_8000_0000_0000),
)

# Which hypotheses are asked for: by columns of layouts, starts and sizes.
Column = NDArray[np.int64]
Allowed = Callable[[Column, Column, Column], NDArray[np.bool_]]

_Code = tuple[int, SampledKinds, tuple[Spot, ...], frozenset[Spot], frozenset[Spot]]

# Log odds against an object that its type never has at such an address.
ELSEWHERE = 20.0
# How many times likelier than another start is the start of a line.
ON_LINE_START = 1.25
# A start as one number with its layout: starts are within this many bytes of the line.
FARTHEST = 1 << 31


class Hypothesis(NamedTuple):
    """A record (a layout id) that begins ``start`` bytes from the line, negative before it.

    Of one that is laid out otherwise in the build of the report, ``ways`` has the offsets of the line, each with where
    the record would begin if it were laid out as here.
    """

    layout: int
    start: int
    ways: tuple[tuple[int, int], ...] = ()

    def place(self, offset: int) -> int:
        """Where an offset of the line is in the record as it is laid out here."""
        return offset - self.start_at(offset)

    def start_at(self, offset: int) -> int:
        """Where the record would begin by what lies at an offset of the line, or at the one before it that is known."""
        if not self.ways:
            return self.start
        before = [start for one, start in self.ways if one <= offset]
        return before[-1] if before else self.ways[0][1]


@dataclass(frozen=True, slots=True)
class CluePlaces:
    """Where an access of a function may lie: columns of ``layout``, ``offset`` in it, and the log of how likely.

    ``touched`` tells the places that it is known to touch, ``alignment`` and ``size`` are those of the layout, in
    bytes. ``of`` keeps alive what they were made from.
    """

    of: Mapping[str, Reach]
    layout: Column
    offset: Column
    gain: NDArray[np.float64]
    touched: NDArray[np.bool_]
    alignment: Column
    size: Column


class Proposer:
    """Finds what may lie on lines; what one function proposes is looked up once."""

    def __init__(self) -> None:
        self._known: dict[_Code, CluePlaces] = {}
        self._held: dict[int, Column] = {}

    def best(
        self, clues: Sequence[Clue], line_bytes: int, most: int, allowed: Allowed | None = None
    ) -> list[Hypothesis]:
        """At most ``most`` hypotheses of those ``allowed``, first what gains most over explaining nothing."""
        keys: list[Column] = []
        gains: list[NDArray[np.float64]] = []
        for clue in clues:
            one = self.places(clue)
            start = clue.offset - one.offset
            fits = (start % one.alignment == 0) & (start < line_bytes) & (start + one.size > 0)
            if allowed is not None:
                fits &= allowed(one.layout, start, one.size)
            keys.append(one.layout[fits] * (2 * FARTHEST) + start[fits] + FARTHEST)
            gains.append(one.gain[fits] * clue.weight)
        if not keys:
            return []
        distinct, which = np.unique(np.concatenate(keys), return_inverse=True)
        summed = np.bincount(which, np.concatenate(gains), len(distinct))
        foremost = distinct[np.argsort(-summed, kind="stable")[:most]].tolist()
        return [Hypothesis(key // (2 * FARTHEST), key % (2 * FARTHEST) - FARTHEST) for key in foremost]

    def places(self, clue: Clue) -> CluePlaces:
        """Where the clue may lie, in every type."""
        # Of instructions that are known, only what they touch matters.
        declared = 0 if clue.by_instruction else id(clue.known.records)
        code = declared, clue.sampled, clue.spots, clue.touches.elements, frozenset(clue.touches.inside)
        found = self._known.get(code)
        if found is None:
            found = self._known[code] = _places(clue, self._held)
        return found


def _places(clue: Clue, held: dict[int, Column]) -> CluePlaces:
    """Where the clue may lie; ``held`` keeps by record where others hold it, each as one number."""
    containment, touch, met = clue.containment, touch_likelihood(clue), _met(clue)
    for layout in {layout for layout, _ in met} - held.keys():
        near = ((one, at) for one, at in containment.places(layout) if at < FARTHEST)
        held[layout] = np.array([2 * FARTHEST * one + at for one, at in near], np.int64)
    columns = [held[layout] for layout, _ in met]
    inside = ((layout, at) for layout, at in (clue.touches.inside if clue.spots else ()) if at < FARTHEST)
    named = [2 * FARTHEST * layout + at for layout, at in inside if containment.layouts.by_id(layout).name]
    columns.append(np.array(named, np.int64))
    lengths = [len(column) for column in columns]
    every = np.concatenate(columns) + np.repeat([*(start for _, start in met), 0], lengths)
    likelihoods = np.repeat([*met.values(), touch], lengths)
    places, at = np.unique(every, return_inverse=True)
    best = np.zeros(len(places))
    np.maximum.at(best, at, likelihoods)
    layouts, offsets = np.divmod(places, 2 * FARTHEST)
    distinct, which = np.unique(layouts, return_inverse=True)
    records = [containment.layouts.by_id(layout) for layout in distinct.tolist()]
    alignment = np.array([max(one.natural_alignment, one.alignment or 1) for one in records], np.int64)
    sizes = np.array([one.size for one in records], np.int64)
    known = np.isin(places, every[likelihoods == touch])
    gains = np.log(best / OUTSIDE)
    return CluePlaces(clue.known.records, layouts, offsets, gains, known, alignment[which], sizes[which])


def _met(clue: Clue) -> dict[tuple[int, int], float]:
    """The places, as (record, offset in it), that the clue may have met, by what its function reaches and touches."""
    containment = clue.containment
    found: dict[tuple[int, int], float] = {}
    for record in () if clue.by_instruction else clue.known.records:
        for layout in containment.layouts.variants(record):
            starts = containment.starts(layout.id)
            # All that are no operands are as likely.
            for alike in (starts - clue.known.operands, *({one} for one in starts & clue.known.operands)):
                likelihood = reach_likelihood(clue, record, layout.id, next(iter(alike), 0))
                if likelihood > UNEXPLAINED_LEAF:
                    found.update(((layout.id, start), likelihood) for start in alike)
    if not clue.spots:
        return found
    places = {(spot[0], start) for spot in clue.spots for start in containment.elements(*spot)}
    likelihood = touch_likelihood(clue)
    for one in places | clue.touches.elements:
        found[one] = max(likelihood, found.get(one, 0.0))
    return found


def prior(one: Hypothesis, line: CacheLine, containment: Containment, starts: SlabStarts | None) -> float:
    """Log: by the starts that slabs leave a type at the line's address, where that is known; else even over them all.

    Allocators begin more objects on a line than anywhere else.
    """
    mapped = line.address is not None and any(line.address in one for one in _LINEAR_MAPS)
    elsewhere = mapped and bool(containment.overlays(one.layout))
    known = starts.log_prior(one.layout, one.start, line.address, line.bytes) if starts and not elsewhere else None
    if known is not None and not one.ways:
        return known
    layout = containment.layouts.by_id(one.layout)
    step = layout.natural_alignment if one.ways else max(layout.natural_alignment, layout.alignment or 1)
    possible = (layout.size + line.bytes) / step
    even = log(ON_LINE_START if one.start % line.bytes == 0 and not one.ways else 1.0) - log(possible)
    if known is not None:  # as likely as not, nothing in front of these members has changed
        return log((exp(known) + exp(even)) / 2)
    return even - ELSEWHERE if elsewhere else even


def same_place(one: Hypothesis, other: Hypothesis, containment: Containment) -> bool:
    """Whether both are the same bytes: one is embedded in the other just there, or both name one piece of memory."""
    if _distances(one, other) == {0}:
        names = {containment.layouts.by_id(it.layout).name for it in (one, other)}
        if len(names) == 1 or other.layout in containment.overlays(one.layout):
            return True
    return inside(one, other, containment) or inside(other, one, containment)


def inside(inner: Hypothesis, outer: Hypothesis, containment: Containment) -> bool:
    """Whether ``outer`` holds ``inner`` by value just there."""
    embeddings = containment.embeddings(inner.layout)
    return all((outer.layout, distance) in embeddings for distance in _distances(inner, outer))


def related(one: Hypothesis, other: Hypothesis, containment: Containment) -> bool:
    """Whether both are of one type, or of one that the other holds by value somewhere."""
    pairs = ((one.layout, other.layout), (other.layout, one.layout))
    return one.layout == other.layout or any(
        outer == place for inner, outer in pairs for place, _ in containment.embeddings(inner)
    )


def _distances(one: Hypothesis, other: Hypothesis) -> set[int]:
    """By how many bytes one begins behind the other, by what lies at each offset."""
    offsets = [offset for offset, _ in one.ways or other.ways]
    return {one.start_at(offset) - other.start_at(offset) for offset in offsets} or {one.start - other.start}


def overlap(one: Hypothesis, other: Hypothesis, containment: Containment) -> bool:
    """Whether the two share a byte."""
    ends = [it.start + containment.layouts.by_id(it.layout).size for it in (one, other)]
    return one.start < ends[1] and other.start < ends[0]


def within(clues: Iterable[Clue], one: Hypothesis, containment: Containment) -> tuple[list[Clue], list[Clue]]:
    """The clues that lie in the object, and those that do not."""
    size = containment.layouts.by_id(one.layout).size
    held: list[Clue] = []
    rest: list[Clue] = []
    for clue in clues:
        (held if 0 <= one.place(clue.offset) < size else rest).append(clue)
    return held, rest


# How likely the distance of two members a word apart is another one in the other build; further apart it grows up to
# that of 24 bytes. Of 17,577 pairs of neighbouring members that code touches, 8 % changed theirs.
CHANGED_IN_WORD, CHANGED_AT_MOST = 0.06, 0.25
# Of the changes, how many are by one word, or by half of one; larger ones by the power of their size.
BY_WORD, BY_HALF, BY_BYTES, POWER = 0.13, 0.07, 0.01, 1.3
# Two members that have changed places; they are among the changes, and less likely than those.
SWAPPED = 0.3
# Below odds of about six to one the answer is "cannot tell", and a member is uncertain.
SURE = 0.85
# A member that is likelier than any other; a record without one is not known.
LIKELIER = 0.5
# Types that are looked at more closely, and starts of each.
MOST_TYPES = 24
MOST_STARTS = 64
_WORD = 8


def drifted(clues: Sequence[Clue], proposer: Proposer) -> Iterator[Hypothesis]:
    """The best way of each type that explains most, if it changes and has members once; none with instructions."""
    offsets = sorted({clue.offset for clue in clues})
    if len(offsets) < 2 or any(clue.by_instruction for clue in clues):
        return
    for layout, starts in _promising(clues, proposer):
        way = _Ways(layout, starts, offsets, clues).best()
        ways = tuple(zip(offsets, way, strict=True))
        leaves = ((clues[0].containment.leaves(layout, offset - start), start) for offset, start in ways)
        met = {(found[0].offset, start) for found, start in leaves if found}
        if len(set(way)) > 1 and len(met) < 2 * len({at for at, _ in met}):
            most = max(way, key=lambda start: (way.count(start), -way.index(start)))
            yield Hypothesis(layout, most, ways)


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
