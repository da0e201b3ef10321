# SPDX-License-Identifier: GPL-2.0-or-later
"""How likely it is that a function touches a byte of a record: what it really touches first, then what it can reach.

What the access map knows of a function counts by its share of the function's accesses; the rest is left to what
the function declares and to the displacements of its operands. docs/attribution.md gives the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log, sqrt

from linesmith.analyzer.attribution.code_touches import (
    BY_FUNCTION,
    CodeTouches,
    SampledKinds,
    Spot,
    share_known,
    together,
    touching_leaves,
)
from linesmith.analyzer.attribution.evidence import (
    INLINED,
    POINTS_INTO_ANOTHER,
    CodeEvidence,
    FunctionEvidence,
    evidence_of,
    symbol_name,
)
from linesmith.analyzer.attribution.lock import is_lock, is_opaque
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import Access, Leaf

# Likelihoods of an access that no reached record explains: on a leaf's start, inside a leaf, on another
# object of the line, in a hole. A hole is the strongest objection: nobody loads padding.
UNEXPLAINED_LEAF = 5e-4
UNEXPLAINED_INSIDE = 1e-4
OUTSIDE = 1e-4
HOLE = 2e-6

# From this many samples on, that a function touches an offset is a fact; more samples repeat it.
CERTAIN = 64
UNKNOWN_FUNCTION = 0.3
# Share of a function's accesses to a record that use displacements of its own operands; the rest goes through
# pointers moved into the record before.
OPERAND = 0.9
# What is left of that for a displacement that the function only reads, where stores were sampled.
ONLY_READ = 0.3
# Elements of an array that lie on one line, which any of its accesses may mean.
MOST_ELEMENTS = 8


@dataclass(frozen=True, slots=True)
class Clue:
    """Accesses of one function at one offset; ``sampled`` tells of which kinds they were.

    ``weight`` dampens counts, for samples of one place repeat one fact. ``mapped`` is the share of what the function
    does, 0 to 1, for which ``touches`` is known; each of ``spots`` is equally likely to be met.
    ``by_instruction`` tells that the instructions are known: then nothing else that their function does matters.
    """

    offset: int
    known: FunctionEvidence
    weight: float
    samples: int
    sampled: SampledKinds
    touches: CodeTouches
    mapped: float
    spots: tuple[Spot, ...]
    containment: Containment = field(compare=False, repr=False)
    by_instruction: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_instruction", bool(self.spots) and self.touches.trust > BY_FUNCTION)


def clues_of(accesses: Iterable[Access], evidence: CodeEvidence) -> tuple[Clue, ...]:
    """The accesses by function and offset, as clues."""
    grouped: dict[tuple[int, str | None], list[Access]] = {}
    for access in accesses:
        if access.offset is not None:
            grouped.setdefault((access.offset, symbol_name(access)), []).append(access)
    return tuple(_clue(offset, group, evidence) for (offset, _), group in grouped.items())


def _clue(offset: int, group: Sequence[Access], evidence: CodeEvidence) -> Clue:
    """A function that the ELF file does not know still says that its offset is no hole, and little else."""
    samples = sum(one.contended + one.stores or one.records or 0 for one in group)
    weight = min(1.0, max(0.1, log(1 + samples) / log(CERTAIN)))
    known = evidence_of(group[0], evidence)
    touches = together(evidence_of(access, evidence).touches for access in group)
    sampled = sampled_kinds(group)
    spots = tuple(spot for spot, counts in touches.spots.items() if sampled.suits(counts))
    judged = weight if known.records or spots else weight * UNKNOWN_FUNCTION
    return Clue(
        offset,
        known,
        judged,
        samples,
        sampled,
        touches,
        share_known(touches, sampled),
        spots,
        evidence.containment,
    )


def sampled_kinds(group: Iterable[Access]) -> SampledKinds:
    """Which kinds were sampled; only loads are contended, except those stores that a recording saw take the line."""
    kinds = [(access.contended > (access.taken or 0), access.stores > 0) for access in group]
    return SampledKinds(any(loaded for loaded, _ in kinds), any(stored for _, stored in kinds))


def reach_likelihood(clue: Clue, record: str, layout: int, offset: int) -> float:
    """Likelihood of the leaf at ``offset`` of a record that is reached: what the map leaves open is shared out.

    The record is one among all reached, the leaf one among its leaves. Where the function's operands are known, leaves
    at their displacements are what it touches, mostly.
    """
    starts = clue.containment.starts(layout)
    quality = (1.0 - clue.mapped) * clue.known.records[record].quality / clue.known.total
    if not clue.known.operands:
        return max(quality / sqrt(max(len(starts), 1)), UNEXPLAINED_LEAF)
    if offset not in clue.known.operands:
        return max(quality * (1 - OPERAND) / sqrt(max(len(starts), 1)), UNEXPLAINED_LEAF)
    doubt = ONLY_READ if clue.sampled.stored and offset not in clue.known.stores else 1.0
    return max(quality * doubt * OPERAND / len(clue.known.operands & starts | {offset}), 2 * UNEXPLAINED_LEAF)


def touch_likelihood(clue: Clue) -> float:
    """Likelihood of one of the spots that the function really touches."""
    return max(clue.mapped / len(clue.spots), 2 * UNEXPLAINED_LEAF) if clue.spots else 0.0


def probability(clue: Clue, layout: int, offset: int) -> tuple[float, bool]:
    """Likelihood that the clue met ``offset`` of a layout, and whether there is a reason that it did."""
    containment, by_instruction = clue.containment, clue.by_instruction
    if not containment.holds(layout, offset):
        return OUTSIDE, False
    leaves = containment.leaves(layout, offset)
    if not leaves:
        return HOLE, False
    reasoned = 0.0 if by_instruction else max(_leaf_probability(leaf, offset, clue) for leaf in leaves)
    if sure := touched(clue, layout, offset):
        several = clue.touches.trust <= BY_FUNCTION
        elements = min(containment.multiplicity(layout, offset), MOST_ELEMENTS) if several else 1
        reasoned += touch_likelihood(clue) * sure / elements
    if reasoned > 0:
        return reasoned, True
    if leaves[0].offset != offset:
        return UNEXPLAINED_INSIDE, False
    # What is known of all code of a function speaks against the leaf, too. An instruction touches another object's.
    return UNEXPLAINED_LEAF if by_instruction else max(UNEXPLAINED_LEAF * (1.0 - clue.mapped), OUTSIDE), False


def touched(clue: Clue, layout: int, offset: int) -> float:
    """How surely the function touches ``offset`` of this layout: 1, less where it knows a part only, 0 if it does not.

    Code that walks a list knows links only. If it also works on a record that holds such links, it is that one's
    link, or that of another object one pointer further.
    """
    if not clue.spots or clue.touches.records.isdisjoint(clue.containment.records_at(layout, offset)):
        return 0.0
    met = touching_leaves(clue.touches, clue.sampled, layout, offset, clue.containment)
    return max((_as_held(clue, leaf, number) for leaf, number in met), default=0.0)


def _as_held(clue: Clue, leaf: Leaf, number: int) -> float:
    if number < 0:
        return 1.0
    named = {name for name, reach in clue.known.records.items() if reach.quality >= INLINED}
    part = leaf.entered[number].record
    around = {clue.containment.layouts.by_id(one.record).name for one in leaf.entered[:number]}
    name = clue.containment.layouts.by_id(part).name
    holders = clue.containment.names_of_holders(part) - {other for other, _ in clue.containment.same_memory(name)}
    # What takes a lock that it was given takes anybody's, also that of a task that it runs in.
    given = name in named and is_lock(name)
    if given or around & named or not holders & named:
        return 1.0
    return POINTS_INTO_ANOTHER


def _leaf_probability(leaf: Leaf, offset: int, clue: Clue) -> float:
    """Likelihood of the best reason that the function has to reach byte ``offset`` of the hypothesis's type."""
    if any(is_opaque(record) and record not in clue.known.records for record, _ in leaf.chain):
        return 0.0
    best = 0.0
    for record, begin in leaf.chain:
        for name, layout in clue.containment.same_memory(record):
            if name in clue.known.records:
                best = max(best, _declared(clue, name, layout, offset - begin))
    return best


def _declared(clue: Clue, record: str, layout: int, offset: int) -> float:
    """Likelihood of a byte of a reached record; of an array's elements each is reached by the array's displacement."""
    elements = clue.containment.multiplicity(layout, offset)
    if elements == 1:
        return reach_likelihood(clue, record, layout, offset)
    _, first = clue.containment.folded(layout, offset)
    by_index = max(reach_likelihood(clue, record, layout, first) / elements, UNEXPLAINED_LEAF)
    return by_index if offset == first else max(by_index, reach_likelihood(clue, record, layout, offset))


def quality(clue: Clue, layout: int, offset: int) -> float:
    """How surely the function works on a record that the layout has at the clue's offset."""
    leaves = clue.containment.leaves(layout, offset)
    chained = {record for leaf in leaves for record, _ in leaf.chain}
    records = {name for record in chained for name, _ in clue.containment.same_memory(record)}
    reached = max((clue.known.records[name].quality for name in records & clue.known.records.keys()), default=0.0)
    return max(touched(clue, layout, offset), (1.0 - clue.mapped) * reached)
