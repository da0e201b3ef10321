# SPDX-License-Identifier: GPL-2.0-or-later
"""Why the best explanation of a line must be doubted all the same."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log

from linesmith.analyzer.attribution.code_touches import touching_leaves
from linesmith.analyzer.attribution.evidence import INLINED, POINTS_INTO_ANOTHER, RETURNED, Evidence
from linesmith.analyzer.attribution.hypotheses import Hypothesis, Proposer, prior
from linesmith.analyzer.attribution.likelihood import UNEXPLAINED_LEAF, Clue, clues_of, probability, quality, touched
from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import CACHE_LINE_BYTES, Access, Entered, Layout, Leaf, LineObject, Outcome, SharedLine
from linesmith.analyzer.slab.possible import SlabStarts

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


# Of nested records the one that says most: an ``address_space`` rather than the ``inode`` around it.
#
# What meets on a line are members; seen from a record around the one that is accessed they would be one member.

# A nested record must hold this share of the accesses to stand for the whole object.
NEARLY_ALL = 0.9
_KNOWN = (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY)


def narrowed(
    one: LineObject, seen: Sequence[Access], line: SharedLine, containment: Containment, wanted: str | None
) -> LineObject:
    """The object as the nested record that says most, with the outer one as its container.

    ``seen`` are the accesses to it. A ``wanted`` record is named, if it is the object or one in it.
    """
    if one.layout is None or one.outcome not in _KNOWN or one.type == wanted:
        return one
    outer = containment.layouts.by_id(one.layout)
    layout, begin = _innermost(outer, _enclosing(outer, one.start, seen, containment), seen, containment, wanted)
    if layout.id == outer.id:
        return one
    start = one.start + begin
    row = one.row and replace(one.row, address=one.row.address + begin)
    where = replace(one, start=start, phase=start % line.bytes, size=one.size and layout.size, row=row)
    # Which of many holders the outer record lies in stays open; what it holds itself is known.
    sure = one.outcome is Outcome.RESOLVED or containment.direct_holders(layout.id) < BUILDING_BLOCK
    told = where if not sure or one.outcome is Outcome.RESOLVED else replace(where, outcome=Outcome.RESOLVED, reason="")
    return replace(told, type=layout.name, layout=layout.id, containers=(outer.name, *one.containers))


def narrowed_all(
    objects: Sequence[LineObject], line: SharedLine, containment: Containment, wanted: str | None
) -> tuple[LineObject, ...]:
    """The objects of a line that no snapshot knows, each as the nested record that says most."""
    return tuple(
        one if one.origin else narrowed(one, _seen(one, line, containment), line, containment, wanted)
        for one in objects
    )


def weight(access: Access) -> int:
    """How much an access counts: its contended loads and stores, or its samples where there are none."""
    return access.contended + access.stores or access.records or 0


def _seen(one: LineObject, line: SharedLine, containment: Containment) -> tuple[Access, ...]:
    """The accesses of the line that lie in the object."""
    if one.layout is None:
        return ()
    held = range(one.start, one.start + containment.layouts.by_id(one.layout).size)
    return tuple(access for access in line.accesses if access.offset in held)


def _enclosing(
    outer: Layout, start: int, seen: Sequence[Access], containment: Containment
) -> dict[tuple[str, int], int]:
    """Samples within each nested record, by its name and its offset in ``outer``."""
    enclosed: dict[tuple[str, int], int] = {}
    for access in seen:
        leaves = containment.leaves(outer.id, (access.offset or 0) - start)
        for record in {step for leaf in leaves for step in leaf.chain}:
            enclosed[record] = enclosed.get(record, 0) + weight(access)
    return enclosed


def _innermost(
    outer: Layout,
    enclosed: dict[tuple[str, int], int],
    seen: Sequence[Access],
    containment: Containment,
    wanted: str | None,
) -> tuple[Layout, int]:
    """A ``wanted`` record, else the smallest one longer than a line that holds nearly all accesses; and its offset."""
    total = sum(map(weight, seen))
    best = outer, 0
    for (name, begin), held in enclosed.items():
        smaller = [one for one in containment.layouts.variants(name) if CACHE_LINE_BYTES < one.size < best[0].size]
        if name == wanted:
            return containment.layouts.variants(name)[0], begin
        if smaller and held >= NEARLY_ALL * total and not is_lock(name):
            best = smaller[0], begin
    return best


# What lines close by say for or against an object that reaches so far.

# Lines of one report this close (bytes) may belong to one object.
NEIGHBOURHOOD = 4096
# How many explanations of a line are looked at more closely.
EXAMINED = 8


@dataclass(frozen=True)
class Alone:
    """How well the clues of a line are explained by the best object that lies there by itself.

    ``gains`` are log likelihoods, one for each clue; ``prior`` is that of the object.
    """

    clues: tuple[Clue, ...]
    gains: tuple[float, ...]
    prior: float

    @cached_property
    def codes(self) -> tuple[tuple[int, int], ...]:
        """Tells the clues' pieces of code apart by what is known of them."""
        return tuple((id(clue.known.records), hash(clue.spots)) for clue in self.clues)


class Neighbourhood:
    """The lines of one report by address; each is explained once, when a line close by asks for it."""

    def __init__(
        self,
        lines: Iterable[SharedLine],
        evidence: Evidence,
        containment: Containment,
        starts: SlabStarts | None = None,
    ) -> None:
        """``starts`` is what slabs leave possible on these lines, where that is known."""
        self.starts = starts
        self._lines = {line.address: line for line in lines if line.address is not None}
        self._evidence = evidence
        self._containment = containment
        self.proposer = Proposer(containment)
        self._addresses = sorted(self._lines)
        self._explained: dict[int, Alone] = {}

    def support(self, one: Hypothesis, line: SharedLine) -> float:
        """What the lines around ``line`` say for an object that covers them, against objects of their own."""
        if line.address is None:
            return 0.0
        end = one.start + self._containment.layouts.by_id(one.layout).size
        reach = range(max(one.start, -NEIGHBOURHOOD), min(end, NEIGHBOURHOOD + line.bytes))
        first = bisect_right(self._addresses, line.address + reach.start - line.bytes)
        covered = self._addresses[first : bisect_left(self._addresses, line.address + reach.stop)]
        told = [
            _told(one, other - line.address, end, self._alone(other), self._containment)
            for other in covered
            if other != line.address
        ]
        return _summed(told)

    def _alone(self, address: int) -> Alone:
        if address not in self._explained:
            line = self._lines[address]
            self._explained[address] = _alone(line, clues_of(line.accesses, self._evidence), self.proposer, self.starts)
        return self._explained[address]


def _alone(line: SharedLine, clues: tuple[Clue, ...], proposer: Proposer, starts: SlabStarts | None) -> Alone:
    best = Alone(clues, (0.0,) * len(clues), 0.0)
    for one in proposer.best(clues, line.bytes, EXAMINED):
        each = tuple(_gain(clue, 0, one, proposer.containment) for clue in clues)
        tried = Alone(clues, each, prior(one, line, proposer.containment, starts))
        best = max(best, tried, key=lambda it: it.prior + sum(it.gains))
    return best


@dataclass(frozen=True, slots=True)
class _Told:
    """What one line says for an object that covers it: by each clue, and because it needs no object of its own."""

    clues: tuple[tuple[tuple[int, int], float], ...]
    prior: float


def _told(one: Hypothesis, way: int, end: int, alone: Alone, containment: Containment) -> _Told:
    """Of a line that lies ``way`` bytes on; ``end`` is the first byte behind the object."""
    known = zip(alone.codes, alone.clues, alone.gains, strict=True)
    covered = [it for it in known if one.start <= it[1].offset + way < end]
    clues = tuple((code, _gain(clue, way, one, containment) - gain) for code, clue, gain in covered)
    return _Told(clues, -alone.prior if clues else 0.0)


def _summed(told: Iterable[_Told]) -> float:
    """One piece of code counts once, however many lines it touched: what is known wrongly of it is so everywhere."""
    by_code: dict[tuple[int, int], list[float]] = {}
    priors = 0.0
    for one in told:
        priors += one.prior
        for code, gain in one.clues:
            by_code.setdefault(code, []).append(gain)
    return priors + sum(sum(gains) / len(gains) for gains in by_code.values())


def _gain(clue: Clue, way: int, one: Hypothesis, containment: Containment) -> float:
    """The log likelihood of a clue on a line ``way`` bytes on, beside that of a leaf without a reason."""
    likelihood, _ = probability(clue, one.layout, clue.offset + way - one.start, containment)
    return clue.weight * log(likelihood / UNEXPLAINED_LEAF)
