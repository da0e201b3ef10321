# SPDX-License-Identifier: GPL-2.0-or-later
"""Why the best explanation of a line must be doubted all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from linesmith.analyzer.attribution.code_touches import touching_leaves
from linesmith.analyzer.attribution.evidence import INLINED, POINTS_INTO_ANOTHER, RETURNED
from linesmith.analyzer.attribution.hypotheses import Hypothesis
from linesmith.analyzer.attribution.likelihood import Clue, quality, touched
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import Entered, Leaf

# Clues of at least this weight are taken for certain; an object must explain this share of the line's samples.
MOSTLY = 0.5
# Share of the functions that may touch nothing of theirs in the object: optimisation loses a variable now and then.
MOST_MISFITS = 0.25
# Share of a function's accesses whose places are known, from which on it is told that it touches none of them.
WELL_KNOWN = 0.7
# A record held by value in this many others is a building block (a lock, a list head), not an object.
BUILDING_BLOCK = 8
# Distinct places on a line that a building block can have, in bytes from one to the next.
WORD = 8


def lone(clues: Sequence[Clue]) -> str:
    """Why a line is no pattern: one function at one offset, which may be any of several places that it touches."""
    certain = [clue for clue in clues if clue.weight >= MOSTLY] or clues
    if len(certain) != 1 or len(certain[0].spots) == 1:
        return ""
    places = f": it touches {len(certain[0].spots)} places that could lie there" if certain[0].spots else ""
    return f"one function at one offset is no pattern{places}"


def one_offset(clues: Sequence[Clue]) -> str:
    """Why a line is hardly a pattern: all is at one offset, where each function may mean several places."""
    certain = [clue for clue in clues if clue.weight >= MOSTLY] or clues
    if len({clue.offset for clue in certain}) > 1 or any(len(clue.spots) == 1 for clue in certain):
        return ""
    return "one offset is no pattern: each function there touches several places"


def contradiction(one: Hypothesis, clues: Sequence[Clue], containment: Containment) -> str:
    """Why the winner must be doubted: many of the functions surely work on records that it does not have there."""
    certain = [clue for clue in clues if clue.weight >= MOSTLY and clue.known.records]
    against = [
        clue
        for clue in certain
        if quality(clue, one.layout, clue.offset - one.start, containment) <= POINTS_INTO_ANOTHER
    ]
    if len(against) <= MOST_MISFITS * len(certain):
        return ""
    return misfit_words([against[0].offset])


def misfit_words(offsets: Sequence[int]) -> str:
    """What is told of places in the line that hardly fit."""
    places = ", ".join(f"{offset:#x}" for offset in offsets)
    return f"what is touched at {places} hardly fits it: the type may be laid out otherwise there"


def ill_fitting(one: Hypothesis, clues: Sequence[Clue], containment: Containment) -> tuple[int, ...]:
    """Offsets in the line where the code is known to touch other places of the winner: those may lie elsewhere.

    None where instructions are known: the file is then of the build that was profiled, and so are its layouts.
    """
    if any(clue.by_instruction for clue in clues):
        return ()
    certain = [clue for clue in clues if clue.weight >= MOSTLY]
    samples: Counter[int] = Counter()
    against: Counter[int] = Counter()
    for clue in certain:
        samples[clue.offset] += clue.samples
        known = bool(clue.spots) and clue.mapped >= WELL_KNOWN
        if known and not touched(clue, one.layout, clue.offset - one.start, containment):
            against[clue.offset] += clue.samples
    return tuple(offset for offset in sorted(samples) if 2 * against[offset] > samples[offset])


def hearsay(one: Hypothesis, clues: Sequence[Clue], containment: Containment) -> str:
    """Why the winner must be doubted: no function is known to work on what it has there, at most to be able to."""
    certain = [clue for clue in clues if clue.weight >= MOSTLY] or clues
    surest = max(quality(clue, one.layout, clue.offset - one.start, containment) for clue in certain)
    return "" if surest >= RETURNED else "the functions seen are not known to work on it"


def odds_of_owner(one: Hypothesis, clues: Sequence[Clue], line_bytes: int, containment: Containment) -> float:
    """Odds that building blocks, which lie in many types, lie here because they are those of this type.

    The other way is that the owner is laid out otherwise in the build of the report, which then could be any type with
    these blocks, each at any place. Infinite where some code names the owner.
    """
    blocks = _building_blocks(one, clues, containment)
    if not blocks:
        return inf
    trust = max(clue.touches.trust for clue in clues)
    places = (line_bytes / WORD) ** (len(blocks) - 1)
    return trust / (1.0 - trust) * places / max(1, _owners({block for block, _ in blocks}, containment))


def _building_blocks(one: Hypothesis, clues: Sequence[Clue], containment: Containment) -> set[tuple[int, int]]:
    """The building blocks that the code touches, as (record, place on the line); none where it names the owner."""
    blocks: set[tuple[int, int]] = set()
    for clue in [clue for clue in clues if clue.weight >= MOSTLY] or clues:
        for leaf, number in _known_as(clue, one, containment):
            if number < 1 or _named(clue, leaf, number, containment):
                return set()
            block = _outermost_block(leaf, number, containment)
            blocks.add((block.record, one.start + block.offset))
    return blocks


def _known_as(clue: Clue, one: Hypothesis, containment: Containment) -> Iterator[tuple[Leaf, int]]:
    """The leaves that the clue's function works on, with the number along ``entered`` of the record that it knows."""
    offset = clue.offset - one.start
    if quality(clue, one.layout, offset, containment) <= POINTS_INTO_ANOTHER:
        return
    if clue.spots:
        yield from touching_leaves(clue.touches, clue.sampled, one.layout, offset, containment)
    reached = clue.known.records
    for leaf in containment.leaves(one.layout, offset):
        for number, record in enumerate(leaf.entered):
            reach = reached.get(containment.layouts.by_id(record.record).name)
            surely = reach.quality if reach is not None and reach.quality >= RETURNED else 0.0
            if (1.0 - clue.mapped) * surely > POINTS_INTO_ANOTHER:
                yield leaf, number


def _outermost_block(leaf: Leaf, number: int, containment: Containment) -> Entered:
    """The outermost building block between the hypothesis's own record and the one that is known, or that one."""
    inner = leaf.entered[1 : number + 1]
    blocks = (one for one in inner if containment.direct_holders(one.record) >= BUILDING_BLOCK)
    return next(blocks, leaf.entered[number])


def _named(clue: Clue, leaf: Leaf, number: int, containment: Containment) -> bool:
    """Whether the function has a variable of a record around the one that is known."""
    around = {containment.layouts.by_id(one.record).name for one in leaf.entered[:number]}
    return any(reach.quality >= INLINED for name, reach in clue.known.records.items() if name in around)


def _owners(blocks: set[int], containment: Containment) -> int:
    """How many types hold all these blocks, those around another such type not counted."""
    holding = [frozenset(place.container for place in containment.places(block)) for block in blocks]
    common = frozenset.intersection(*holding) - blocks
    around = {holder for one in common for holder, _ in containment.embeddings(one)}
    return len(common - around)
