# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line: the (type, start) that best explains offsets and functions.

Every hypothesis is a record type laid at one start over the line. Its likelihood is a product over the
accesses: a function that reaches record R touches each of R's leaves equally often, so an access that meets
R's leaf inside the hypothesis counts ``quality / leaves(R)``; one that meets a leaf without such a reason, a
hole, or nothing counts a small constant. The prior spreads evenly over a type's possible starts, so a large
type, which can be laid in many ways, must earn its place. See docs/attribution.md for the assumptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.evidence import Evidence, ReachByRecord, reach_of, symbol_name
from linesmith.analyzer.model import Access, LineObject, Outcome, SharedLine

# Likelihoods of an access that no reached record explains: on a leaf's start, inside a leaf, on another
# object of the line, in a hole. A hole is the strongest objection: nobody loads padding.
UNEXPLAINED_LEAF = 0.01
UNEXPLAINED_INSIDE = 0.001
OUTSIDE = 2e-4
HOLE = 2e-6

EXAMINED = 400
# Below odds of three to one the answer is "cannot tell".
SURE = 0.75
# A record held by value in this many others is a building block (a lock, a list head), not an object.
BUILDING_BLOCK = 8
LEFT_OVER = 0.15


@dataclass(frozen=True, slots=True)
class _Clue:
    """Accesses of one function at one offset; ``weight`` dampens counts, for samples of one place repeat one fact."""

    offset: int
    reach: ReachByRecord
    weight: float
    samples: int


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    layout: int
    start: int


@dataclass(frozen=True, slots=True)
class _Verdict:
    hypothesis: _Hypothesis
    likelihood: float
    explained: float


def attribute(line: SharedLine, evidence: Evidence, containment: Containment) -> tuple[LineObject, ...]:
    """The objects on a line, best explained first; a second one when much of the line is left unexplained."""
    if not any(access.offset is not None for access in line.accesses):
        return (_unknown(Outcome.NO_OFFSETS, "the profile gives no offsets for this line"),)
    clues = _clues(line.accesses, evidence)
    first = _best(clues, line.bytes, containment)
    if first is None:
        return (_unknown(Outcome.NO_EVIDENCE, _why_no_evidence(line, evidence)),)
    rest = _left_over(clues, first, containment)
    second = _best(rest, line.bytes, containment) if rest else None
    return (first,) if second is None or _overlap(first, second, containment) else (first, second)


def _unknown(outcome: Outcome, reason: str) -> LineObject:
    return LineObject("", None, 0, 0, 0.0, outcome, reason=reason)


def _why_no_evidence(line: SharedLine, evidence: Evidence) -> str:
    names = {symbol_name(access) for access in line.accesses} - {None}
    if not names:
        return "no function of this line is named (symbols unresolved when the profile was reported)"
    if not any(reach_of(access, evidence) for access in line.accesses):
        return f"the ELF file declares nothing that {', '.join(sorted(filter(None, names))[:3])} could touch"
    return "no type of the ELF file has members at these offsets that these functions could touch"


def _clues(accesses: Iterable[Access], evidence: Evidence) -> tuple[_Clue, ...]:
    grouped: dict[tuple[int, str | None], list[Access]] = {}
    for access in accesses:
        if access.offset is not None:
            grouped.setdefault((access.offset, symbol_name(access)), []).append(access)
    counts = {
        key: sum(one.contended + one.stores or one.records or 0 for one in group) for key, group in grouped.items()
    }
    top = max(counts.values(), default=0) or 1
    return tuple(
        _Clue(key[0], reach_of(group[0], evidence), max(0.1, sqrt(counts[key] / top)), counts[key])
        for key, group in grouped.items()
    )


def _best(clues: Sequence[_Clue], line_bytes: int, containment: Containment) -> LineObject | None:
    gains = _gains(clues, line_bytes, containment)
    if not gains:
        return None
    promising = sorted(gains, key=lambda one: (-gains[one], one.layout, one.start))[:EXAMINED]
    verdicts = [_judge(one, clues, line_bytes, containment) for one in promising]
    verdicts.sort(key=lambda verdict: (-verdict.likelihood, verdict.hypothesis.layout, verdict.hypothesis.start))
    winner = verdicts[0]
    rivals = [one for one in verdicts[1:] if not _same_place(winner.hypothesis, one.hypothesis, containment)]
    return _answer(winner, rivals[0] if rivals else None, line_bytes, containment)


def _gains(clues: Sequence[_Clue], line_bytes: int, containment: Containment) -> dict[_Hypothesis, float]:
    """What each hypothesis gains over explaining nothing: the sum over the clues that it explains."""
    gains: dict[_Hypothesis, float] = {}
    for clue in clues:
        for hypothesis, likelihood in _explanations(clue, line_bytes, containment).items():
            gain = clue.weight * log(likelihood / OUTSIDE)
            gains[hypothesis] = gains.get(hypothesis, 0.0) + gain
    return gains


def _explanations(clue: _Clue, line_bytes: int, containment: Containment) -> dict[_Hypothesis, float]:
    found: dict[_Hypothesis, float] = {}
    total = sum(reach.quality for reach in clue.reach.values())
    for record, reach in clue.reach.items():
        for layout in containment.layouts.variants(record):
            starts = containment.starts(layout.id)
            likelihood = max(reach.quality / max(total, 1.0) / max(len(starts), 1), 2 * OUTSIDE)
            for start in starts:
                for hypothesis in _laid(layout.id, clue.offset - start, line_bytes, containment):
                    found[hypothesis] = max(likelihood, found.get(hypothesis, 0.0))
    return found


def _laid(layout: int, start: int, line_bytes: int, containment: Containment) -> Iterable[_Hypothesis]:
    for place in containment.places(layout):
        container = containment.layouts.by_id(place.container)
        begin = start - place.offset
        aligned = begin % max(container.natural_alignment, container.alignment or 1) == 0
        if aligned and begin < line_bytes and begin + container.size > 0:
            yield _Hypothesis(place.container, begin)


def _judge(one: _Hypothesis, clues: Sequence[_Clue], line_bytes: int, containment: Containment) -> _Verdict:
    layout = containment.layouts.by_id(one.layout)
    step = max(layout.natural_alignment, layout.alignment or 1)
    likelihood = -log((layout.size + line_bytes) / step)
    explained = samples = 0
    for clue in clues:
        probability, reasoned = _probability(clue, one, containment)
        likelihood += clue.weight * log(probability)
        samples += clue.samples
        explained += clue.samples if reasoned else 0
    return _Verdict(one, likelihood, explained / samples if samples else 0.0)


def _probability(clue: _Clue, one: _Hypothesis, containment: Containment) -> tuple[float, bool]:
    offset = clue.offset - one.start
    if not 0 <= offset < containment.layouts.by_id(one.layout).size:
        return OUTSIDE, False
    leaves = containment.leaves(one.layout, offset)
    if not leaves:
        return HOLE, False
    reasoned = max(_leaf_probability(leaf.chain, clue, containment) for leaf in leaves)
    if reasoned > 0:
        return max(reasoned, 2 * OUTSIDE), True
    unexplained = UNEXPLAINED_LEAF if leaves[0].offset == offset else UNEXPLAINED_INSIDE
    return unexplained / sqrt(len(containment.starts(one.layout))), False


def _leaf_probability(chain: Iterable[tuple[str, int]], clue: _Clue, containment: Containment) -> float:
    total = max(sum(reach.quality for reach in clue.reach.values()), 1.0)
    best = 0.0
    for record, _ in chain:
        reach = clue.reach.get(record)
        variants = containment.layouts.variants(record)
        if reach and variants:
            best = max(best, reach.quality / total / max(len(containment.starts(variants[0].id)), 1))
    return best


def _same_place(one: _Hypothesis, other: _Hypothesis, containment: Containment) -> bool:
    """Whether one is embedded in the other just there: the same object seen from inside and outside."""
    return _inside(one, other, containment) or _inside(other, one, containment)


def _inside(inner: _Hypothesis, outer: _Hypothesis, containment: Containment) -> bool:
    wanted = inner.start - outer.start
    return any(place.container == outer.layout and place.offset == wanted for place in containment.places(inner.layout))


def _answer(winner: _Verdict, rival: _Verdict | None, line_bytes: int, containment: Containment) -> LineObject:
    odds = exp(min(winner.likelihood - rival.likelihood, 50.0)) if rival else exp(50.0)
    margin = odds / (1.0 + odds)
    described = _describe(winner, line_bytes, containment)
    if margin < SURE:
        outcome, reason = Outcome.CANNOT_TELL, "two types explain the line almost equally well"
    elif len(described.containers) >= BUILDING_BLOCK:
        outcome = Outcome.INNER_TYPE_ONLY
        reason = f"{len(described.containers)} types hold a {described.type}; nothing on the line tells which"
    else:
        outcome, reason = Outcome.RESOLVED, ""
    runner_up = _describe(rival, line_bytes, containment) if rival else None
    return replace(described, outcome=outcome, reason=reason, margin=margin, runner_up=runner_up)


def _describe(verdict: _Verdict, line_bytes: int, containment: Containment) -> LineObject:
    one = verdict.hypothesis
    layout = containment.layouts.by_id(one.layout)
    holders = tuple(dict.fromkeys(holder.name for holder in containment.holders(one.layout)))
    start, phase = one.start, one.start % line_bytes
    return LineObject(layout.name, layout.id, start, phase, verdict.explained, Outcome.RESOLVED, containers=holders)


def _left_over(clues: Sequence[_Clue], first: LineObject, containment: Containment) -> tuple[_Clue, ...]:
    """The clues outside the first object, if they are a good part of the line."""
    if first.layout is None:
        return ()
    end = first.start + containment.layouts.by_id(first.layout).size
    rest = tuple(clue for clue in clues if not first.start <= clue.offset < end)
    total = sum(clue.samples for clue in clues)
    return rest if total and sum(clue.samples for clue in rest) / total >= LEFT_OVER else ()


def _overlap(first: LineObject, second: LineObject, containment: Containment) -> bool:
    if first.layout is None or second.layout is None:
        return True
    sizes = [containment.layouts.by_id(one.layout or 0).size for one in (first, second)]
    return first.start < second.start + sizes[1] and second.start < first.start + sizes[0]
