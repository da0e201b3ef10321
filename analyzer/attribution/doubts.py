# SPDX-License-Identifier: GPL-2.0-or-later
"""What is held against the best explanation of a line, and what the lines close by say of it.

Of an object with nested records the one is named that says most: an ``address_space`` rather than the ``inode`` around
it. What meets on a line are members; seen from a record around the one that is accessed they would be one member.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log

from linesmith.analyzer.attribution.code_touches import touching_leaves
from linesmith.analyzer.attribution.evidence import (
    INLINED,
    POINTS_INTO_ANOTHER,
    RETURNED,
    UNEXPLAINED_LEAF,
    Clue,
    CodeEvidence,
    clues_of,
    probability,
    quality,
    touched,
)
from linesmith.analyzer.attribution.hypotheses import Hypothesis, Proposer, prior
from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import CACHE_LINE_BYTES, Access, CacheLine, Layout, Leaf, LineObject, Outcome
from linesmith.analyzer.slab.starts import SlabStarts

# Clues of at least this weight are taken for certain; an object must explain this share of the line's samples.
MOSTLY = 0.5
# Share of the functions that may touch nothing of theirs in the object: optimisation loses a variable now and then.
MOST_MISFITS = 0.25
# Share of a function's accesses whose places are known, from which on it is known to touch none of them.
WELL_KNOWN = 0.7
# A record held by value in this many others is a building block (a lock, a list head), not an object.
BUILDING_BLOCK = 8
# A nested record must hold this share of the accesses to stand for the whole object.
NEARLY_ALL = 0.9
# Lines of one report this close (bytes) may belong to one object.
NEIGHBOURHOOD = 4096
# How many explanations of a line are looked at more closely.
EXAMINED = 8
MOST_KEPT = 1 << 18  # likelihoods of clues, some 40 MB
# Distinct places on a line that a building block can have, in bytes from one to the next.
WORD = 8


def _certain(clues: Sequence[Clue]) -> Sequence[Clue]:
    """The clues that are taken for certain, all where there are none."""
    return [clue for clue in clues if clue.weight >= MOSTLY] or clues


def lone(clues: Sequence[Clue]) -> str:
    """Why a line is no pattern: one function at one offset, which may be any of several places that it touches."""
    certain = _certain(clues)
    if len(certain) != 1 or len(certain[0].spots) == 1:
        return ""
    places = f": it touches {len(certain[0].spots)} places that could lie there" if certain[0].spots else ""
    return f"one function at one offset is no pattern{places}"


def one_offset(clues: Sequence[Clue]) -> str:
    """Why a line is hardly a pattern: all is at one offset, where each function may mean several places."""
    certain = _certain(clues)
    if len({clue.offset for clue in certain}) > 1 or any(len(clue.spots) == 1 for clue in certain):
        return ""
    return "one offset is no pattern: each function there touches several places"


def contradiction(one: Hypothesis, clues: Sequence[Clue]) -> str:
    """Why the winner must be doubted: many of the functions surely work on records that it does not have there."""
    certain = [clue for clue in clues if clue.weight >= MOSTLY and clue.known.records]
    places = [(clue, one.layout, one.place(clue.offset)) for clue in certain]
    # An instruction that takes an entry out of a list touches the next one, or the head, whosever that is.
    doubtful = [place for place in places if not (place[0].by_instruction and touched(*place))]
    against = [place[0] for place in doubtful if quality(*place) <= POINTS_INTO_ANOTHER]
    if len(against) <= MOST_MISFITS * len(certain):
        return ""
    return misfit_words([against[0].offset])


def misfit_words(offsets: Sequence[int]) -> str:
    """What is reported of places in the line that hardly fit."""
    places = ", ".join(f"{offset:#x}" for offset in offsets)
    return f"what is touched at {places} hardly fits the likeliest type, which may be laid out otherwise there"


def ill_fitting(one: Hypothesis, clues: Sequence[Clue]) -> tuple[int, ...]:
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
        # Well known is also the code that touches some place of the record.
        records = {record for record, _ in (*clue.touches.spots, *clue.touches.inside)}
        works = not records.isdisjoint({one.layout, *(holder for holder, _ in clue.containment.embeddings(one.layout))})
        known = bool(clue.spots) and (clue.mapped >= WELL_KNOWN or works)
        if known and not touched(clue, one.layout, one.place(clue.offset)):
            against[clue.offset] += clue.samples
    return tuple(offset for offset in sorted(samples) if 2 * against[offset] > samples[offset])


def hearsay(one: Hypothesis, clues: Sequence[Clue]) -> str:
    """Why the winner must be doubted: no function is known to work on what it has there, at most to be able to."""
    surest = max(quality(clue, one.layout, one.place(clue.offset)) for clue in _certain(clues))
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
    records = {record for record, _ in blocks}
    holding = [frozenset(place.container for place in containment.places(record)) for record in records]
    owners = frozenset.intersection(*holding) - records
    within = {holder for owner in owners for holder, _ in containment.embeddings(owner)}
    return trust / (1.0 - trust) * places / max(1, len(owners - within))


def _building_blocks(one: Hypothesis, clues: Sequence[Clue], containment: Containment) -> set[tuple[int, int]]:
    """The building blocks that the code touches, as (record, place on the line); none where it names the owner."""
    blocks: set[tuple[int, int]] = set()
    for clue in _certain(clues):
        variables = {name for name, reach in clue.known.records.items() if reach.quality >= INLINED}
        for leaf, number in _known_as(clue, one, containment):
            around = {containment.layouts.by_id(it.record).name for it in leaf.entered[:number]}
            if number < 1 or around & variables:
                return set()
            # The outermost block between the hypothesis's own record and the one that is known, or that one.
            inner = leaf.entered[1 : number + 1]
            outermost = (it for it in inner if containment.direct_holders(it.record) >= BUILDING_BLOCK)
            block = next(outermost, leaf.entered[number])
            blocks.add((block.record, one.start + block.offset))
    return blocks


def _known_as(clue: Clue, one: Hypothesis, containment: Containment) -> Iterator[tuple[Leaf, int]]:
    """The leaves that the clue's function works on, with the number along ``entered`` of the record that it knows."""
    offset = one.place(clue.offset)
    if quality(clue, one.layout, offset) <= POINTS_INTO_ANOTHER:
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


def as_nested_record(one: LineObject, seen: Sequence[Access], containment: Containment) -> LineObject:
    """The object as the nested record that says most, with the outer one as its container.

    ``seen`` are the accesses to it.
    """
    if one.layout is None or one.outcome not in (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY):
        return one
    outer = containment.layouts.by_id(one.layout)
    layout, begin = _innermost(outer, one.start, seen, containment)
    if layout.id == outer.id:
        return one
    row = one.row and replace(one.row, address=one.row.address + begin)
    ways = tuple((offset, way + begin) for offset, way in one.ways)
    where = replace(one, start=one.start + begin, size=one.size and layout.size, row=row, ways=ways)
    # Which of many holders the outer record lies in stays open; what it holds itself is known.
    sure = one.outcome is Outcome.RESOLVED or containment.direct_holders(layout.id) < BUILDING_BLOCK
    if sure and one.outcome is not Outcome.RESOLVED:
        where = replace(where, outcome=Outcome.RESOLVED, reason="")
    # The records around it, the innermost first.
    chain = next((leaf.chain for leaf in containment.leaves(outer.id, begin) if (layout.name, begin) in leaf.chain), ())
    around = dict.fromkeys(name for name, _ in reversed(chain[: chain.index((layout.name, begin))] if chain else ()))
    containers = tuple(dict.fromkeys((*filter(None, around), one.type, *one.containers)))
    return replace(where, type=layout.name, layout=layout.id, containers=containers)


def as_nested_records(
    objects: Sequence[LineObject], line: CacheLine, containment: Containment
) -> tuple[LineObject, ...]:
    """The objects of a line that no snapshot knows, each as the nested record that says most."""
    found = []
    for one in objects:
        if one.layout is not None and not one.origin:
            held = range(one.start, one.start + containment.layouts.by_id(one.layout).size)
            seen = [access for access in line.accesses if access.offset in held]
            found.append(as_nested_record(one, seen, containment))
        else:
            found.append(one)
    return tuple(found)


def weight(access: Access) -> int:
    """How much an access counts: its contended loads and stores, or its samples where there are none."""
    return access.contended + access.stores or access.records or 0


def _innermost(outer: Layout, start: int, seen: Sequence[Access], containment: Containment) -> tuple[Layout, int]:
    """The smallest record in it that holds nearly all accesses, and nearly all that contend, and its offset.

    It is longer than a line, unless the outer record has no name.
    """
    least = CACHE_LINE_BYTES if outer.name else 0
    enclosed, contended = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for access in seen:
        for record in {one for it in containment.leaves(outer.id, (access.offset or 0) - start) for one in it.chain}:
            enclosed[record] += weight(access)
            contended[record] += access.contended
    total, met = sum(map(weight, seen)), sum(access.contended for access in seen)
    best = outer, 0
    for (name, begin), held in enclosed.items():
        smaller = [one for one in containment.layouts.variants(name) if least < one.size < best[0].size]
        enough = held >= NEARLY_ALL * total and contended[name, begin] >= NEARLY_ALL * met
        if smaller and enough and not is_lock(name):
            best = smaller[0], begin
    return best


@dataclass(frozen=True)
class _OwnObject:
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

    @cached_property
    def alike(self) -> tuple[int, ...]:
        """Equal for clues that differ at most in where they are and in their weight."""
        parts = ((id(it.known), id(it.touches), it.sampled, it.mapped, it.spots) for it in self.clues)
        return tuple(map(hash, parts))


class Neighbourhood:
    """The lines of one report by address; each is explained once, when a line close by asks for it."""

    def __init__(self, lines: Iterable[CacheLine], evidence: CodeEvidence, starts: SlabStarts | None) -> None:
        """``starts`` is what slabs leave possible on these lines, where that is known."""
        self.evidence = evidence
        self.starts = starts
        self.proposer = Proposer()
        self._lines = {line.address: line for line in lines if line.address is not None}
        self._addresses = sorted(self._lines)
        self._own_objects: dict[int, _OwnObject] = {}
        self._likelihoods: dict[tuple[int, int, int], float] = {}

    def support(self, one: Hypothesis, line: CacheLine) -> float:
        """What the lines around ``line`` say for an object that covers them, against objects of their own.

        One piece of code counts once, however many lines it touched: what is wrongly known of it is so everywhere.
        """
        if line.address is None:
            return 0.0
        size = self.evidence.containment.layouts.by_id(one.layout).size
        begin, end = one.start_at(-NEIGHBOURHOOD), one.start_at(NEIGHBOURHOOD) + size
        reach = range(max(begin, -NEIGHBOURHOOD), min(end, NEIGHBOURHOOD + line.bytes))
        first = bisect_right(self._addresses, line.address + reach.start - line.bytes)
        by_code: dict[tuple[int, int], list[float]] = {}
        priors = 0.0
        for address in self._addresses[first : bisect_left(self._addresses, line.address + reach.stop)]:
            if address == line.address:
                continue
            own, way = self._own_object(address), address - line.address
            known = zip(own.codes, own.alike, own.clues, own.gains, strict=True)
            covered = [it for it in known if begin <= it[2].offset + way < end]
            priors += -own.prior if covered else 0.0
            for code, kind, clue, gain in covered:
                by_code.setdefault(code, []).append(self._gain(clue, kind, way, one) - gain)
        return priors + sum(sum(gains) / len(gains) for gains in by_code.values())

    def _gain(self, clue: Clue, kind: int, way: int, one: Hypothesis) -> float:
        """The log likelihood of a clue, computed once for all of its ``kind`` at a place of a layout."""
        key = kind, one.layout, one.place(clue.offset + way)
        found = self._likelihoods.get(key)
        if found is None:
            if len(self._likelihoods) >= MOST_KEPT:
                self._likelihoods.clear()
            found = self._likelihoods[key] = _log_odds(clue, way, one)
        return clue.weight * found

    def _own_object(self, address: int) -> _OwnObject:
        found = self._own_objects.get(address)
        if found is None:
            line = self._lines[address]
            clues = clues_of(line.accesses, self.evidence)
            found = _OwnObject(clues, (0.0,) * len(clues), 0.0)
            for one in self.proposer.best(clues, line.bytes, EXAMINED):
                gains = tuple(clue.weight * _log_odds(clue, 0, one) for clue in clues)
                tried = _OwnObject(clues, gains, prior(one, line, self.evidence.containment, self.starts))
                found = max(found, tried, key=lambda it: it.prior + sum(it.gains))
            self._own_objects[address] = found
        return found


def _log_odds(clue: Clue, way: int, one: Hypothesis) -> float:
    """The log likelihood of a clue on a line ``way`` bytes on, against that of a leaf without a reason."""
    likelihood, _ = probability(clue, one.layout, one.place(clue.offset + way))
    return log(likelihood / UNEXPLAINED_LEAF)
