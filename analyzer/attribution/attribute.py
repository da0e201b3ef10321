# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line: the (type, start) that best explains offsets and functions.

Every hypothesis is a record type laid at one start over the line. Its likelihood is a product over the
accesses: a function that reaches record R touches a few of R's leaves, about the square root of their number,
so an access that meets R's leaf inside the hypothesis counts ``quality / sqrt(leaves(R))``; one that meets a
leaf without such a reason, a hole, or nothing counts a small constant. The prior spreads evenly over a type's
possible starts, so a large type, which can be laid in many ways, must earn its place. docs/attribution.md
gives the reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.attribution.doubts import (
    BUILDING_BLOCK,
    MOSTLY,
    Neighbourhood,
    contradiction,
    hearsay,
    lone,
    odds_of_owner,
    one_offset,
)
from linesmith.analyzer.attribution.evidence import Evidence, evidence_of, symbol_name
from linesmith.analyzer.attribution.hypotheses import (
    Allowed,
    Column,
    Hypothesis,
    Proposer,
    inside,
    overlap,
    prior,
    same_place,
    within,
)
from linesmith.analyzer.attribution.likelihood import UNEXPLAINED_LEAF, Clue, clues_of, probability
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import LineObject, Outcome, SharedLine
from linesmith.analyzer.slab.possible import SlabStarts

EXAMINED = 200
# Hypotheses whose log odds are worse than this change no answer.
HOPELESS = 12.0
# Log odds that the lines close by can add or take.
MOST_SUPPORT = 12.0
# Below odds of about six to one the answer is "cannot tell".
SURE = 0.85
# How likely two objects in a row are both hot, where one is.
TWO_IN_A_ROW = 0.1
LEFT_OVER = 0.15


@dataclass(frozen=True, slots=True)
class _Verdict:
    hypothesis: Hypothesis
    likelihood: float
    gain: float
    explained: float


def attribute(
    line: SharedLine, evidence: Evidence, containment: Containment, around: Neighbourhood | None = None
) -> tuple[LineObject, ...]:
    """The objects on a line, best explained first; a second one when much of the line is left unexplained.

    What a long object covers of the lines ``around`` it must fit as well.
    """
    if not any(access.offset is not None for access in line.accesses):
        return (_unknown(Outcome.NO_OFFSETS, "the profile gives no offsets for this line"),)
    clues = clues_of(line.accesses, evidence)
    first = _best(clues, around, line, containment)
    if first is None:
        return (_unknown(Outcome.NO_EVIDENCE, _why_no_evidence(line, evidence)),)
    rest = _left_over(clues, first, containment)
    second = _best(rest, around, line, containment) if rest else None
    if second is None or _overlapping(first, second, containment):
        return (first,)
    return _beside(first, second, clues, around, line, containment), second


def _beside(
    first: LineObject,
    second: LineObject,
    clues: Sequence[Clue],
    around: Neighbourhood | None,
    line: SharedLine,
    containment: Containment,
) -> LineObject:
    """The first object, judged without what a sure second one explains: that does not speak against it."""
    if first.layout is None or second.outcome is not Outcome.RESOLVED:
        return first
    held, _ = within(clues, Hypothesis(first.layout, first.start), containment)
    alone = _best(held, around, line, containment)
    same = alone is not None and (alone.layout, alone.start) == (first.layout, first.start)
    return replace(alone, score=first.score) if alone is not None and same else first


def attribute_as(
    wanted: str, line: SharedLine, evidence: Evidence, containment: Containment, around: Neighbourhood | None = None
) -> tuple[LineObject, ...]:
    """As ``attribute``, but for the ``wanted`` type where that explains a line too.

    That is a line of which ``attribute`` is not sure, or one that holds a part of a ``wanted`` object.
    """
    found = attribute(line, evidence, containment, around)
    if found[0].outcome not in (Outcome.CANNOT_TELL, Outcome.INNER_TYPE_ONLY) and wanted not in found[0].containers:
        return found
    only = [layout.id for layout in containment.layouts.variants(wanted)]
    clues = clues_of(line.accesses, evidence)
    best = _best(clues, around, line, containment, lambda layouts, _, __: np.isin(layouts, only))
    if best is None or best.score < MOSTLY:
        return found
    reason = f"because {wanted} was asked for; {best.reason}".strip("; ")
    return (replace(best, outcome=Outcome.RESOLVED, reason=reason, doubt=best.reason, asked_for=True),)


def attribute_to(
    one: Hypothesis, line: SharedLine, evidence: Evidence, containment: Containment, around: Neighbourhood
) -> LineObject | None:
    """The object ``one``, sure from elsewhere, if it explains most of the line too; else ``None``."""
    verdict = _judge(one, clues_of(line.accesses, evidence), line, containment, around.starts)
    if verdict.explained < MOSTLY:
        return None
    return replace(_describe(verdict, line.bytes, containment), margin=1.0)


def attribute_begun(
    one: Hypothesis, line: SharedLine, evidence: Evidence, containment: Containment
) -> LineObject | None:
    """The part ``one``, sure on the line behind, if most of this line is in it and no code that is known objects.

    Code that the ELF file does not have is taken to touch it: where it begins is known.
    """
    clues = clues_of(line.accesses, evidence)
    held, _ = within(clues, one, containment)
    known = [clue for clue in held if clue.spots or clue.known.records]
    fitting = [clue for clue in known if probability(clue, one.layout, clue.offset - one.start, containment)[1]]
    share = sum(clue.samples for clue in held) / max(1, sum(clue.samples for clue in clues))
    if not known or len(fitting) < len(known) or share < MOSTLY:
        return None
    described = _describe(_Verdict(one, 0.0, 0.0, share), line.bytes, containment)
    return replace(described, outcome=Outcome.INNER_TYPE_ONLY, margin=1.0)


def attribute_at(
    start: int,
    size: int,
    line: SharedLine,
    evidence: Evidence,
    containment: Containment,
    around: Neighbourhood | None = None,
) -> LineObject | None:
    """The type that best explains the accesses to an object of ``size`` bytes known to begin at ``start``.

    ``None`` when no type that fits there is reached by the functions seen.
    """

    def fits(_: Column, starts: Column, sizes: Column) -> NDArray[np.bool_]:
        fitting: NDArray[np.bool_] = (starts == start) & (sizes <= size)
        return fitting

    held = [access for access in line.accesses if start <= (access.offset or 0) < start + size]
    return _best(clues_of(held, evidence), around, line, containment, fits)


def _unknown(outcome: Outcome, reason: str) -> LineObject:
    return LineObject("", None, 0, 0, 0.0, outcome, reason=reason)


def _why_no_evidence(line: SharedLine, evidence: Evidence) -> str:
    names = {symbol_name(access) for access in line.accesses} - {None}
    if not names:
        return "no function of this line is named: its code is not in the ELF file, and the profile has no name for it"
    if not any(evidence_of(access, evidence).records for access in line.accesses):
        return f"the ELF file declares nothing that {', '.join(sorted(filter(None, names))[:3])} could touch"
    return "no type of the ELF file has members at these offsets that these functions could touch"


def _best(
    clues: Sequence[Clue],
    around: Neighbourhood | None,
    line: SharedLine,
    containment: Containment,
    allowed: Allowed | None = None,
) -> LineObject | None:
    """The best hypothesis of those ``allowed``; ``None`` when nothing proposes one."""
    proposer = Proposer(containment) if around is None else around.proposer
    promising = proposer.best(clues, line.bytes, EXAMINED, allowed)
    starts = None if around is None else around.starts
    judged = [_judge(one, clues, line, containment, starts) for one in promising]
    if not judged:
        return None
    verdicts = _ranked(judged if around is None else _supported(_ranked(judged), around, line))
    winner = _smallest(verdicts, containment)
    owner = inf if allowed else odds_of_owner(winner.hypothesis, clues, line.bytes, containment)
    rival = _rival(winner, verdicts, containment)
    found = _answer(winner, rival, owner, clues, line.bytes, containment)
    if found.outcome is not Outcome.CANNOT_TELL or (found.margin >= SURE and owner == inf):
        return found
    for part in _parts(winner, rival if owner == inf else None, verdicts, containment):
        owner = odds_of_owner(part.hypothesis, clues, line.bytes, containment)
        inner = _answer(part, _rival(part, verdicts, containment), owner, clues, line.bytes, containment)
        if inner.outcome in (Outcome.INNER_TYPE_ONLY, Outcome.RESOLVED):
            return inner
    return found


def _smallest(verdicts: Sequence[_Verdict], containment: Containment) -> _Verdict:
    """The best verdict, or the innermost one within it that explains all that it explains."""
    best = verdicts[0]
    parts = [one for one in verdicts if inside(one.hypothesis, best.hypothesis, containment)]
    enough = [one for one in parts if one.gain >= best.gain and one.explained >= best.explained]
    return min([best, *enough], key=lambda one: containment.layouts.by_id(one.hypothesis.layout).size)


def _rival(one: _Verdict, verdicts: Sequence[_Verdict], containment: Containment) -> _Verdict | None:
    """The best verdict that is another place."""
    others = (other for other in verdicts if other is not one)
    return next((other for other in others if not same_place(one.hypothesis, other.hypothesis, containment)), None)


def _parts(
    winner: _Verdict, rival: _Verdict | None, verdicts: Sequence[_Verdict], containment: Containment
) -> list[_Verdict]:
    """What the winner, and its rival, hold there: of the lock one may be sure, and not of whose it is."""
    around = [it.hypothesis for it in (winner, rival) if it is not None]
    return [one for one in verdicts if all(inside(one.hypothesis, outer, containment) for outer in around)]


def _judge(
    one: Hypothesis, clues: Sequence[Clue], line: SharedLine, containment: Containment, starts: SlabStarts | None
) -> _Verdict:
    gain = 0.0
    reasoned = samples = beside = 0
    for clue in clues:
        place = clue.offset - one.start
        in_row = starts.in_row(one.layout, place) if starts else place
        beside += in_row != place
        likelihood, reason = probability(clue, one.layout, in_row, containment)
        gain += clue.weight * log(likelihood / UNEXPLAINED_LEAF)
        samples += clue.samples
        reasoned += clue.samples if reason else 0
    likelihood = prior(one, line, containment, starts) + gain + (log(TWO_IN_A_ROW) if beside else 0.0)
    return _Verdict(one, likelihood, gain, reasoned / samples if samples else 0.0)


def _ranked(verdicts: Iterable[_Verdict]) -> list[_Verdict]:
    return sorted(verdicts, key=lambda verdict: (-verdict.likelihood, verdict.hypothesis))


def _supported(ranked: Iterable[_Verdict], around: Neighbourhood, line: SharedLine) -> Iterator[_Verdict]:
    """Other lines may confirm what this line says, not replace it: some large type always fits a neighbour."""
    best = -inf
    for one in ranked:
        most = min(max(one.gain, 0.0), MOST_SUPPORT)
        if one.likelihood + most < best - HOPELESS:
            yield one
            continue
        more = max(-MOST_SUPPORT, min(around.support(one.hypothesis, line), most))
        with_others = replace(one, likelihood=one.likelihood + more)
        best = max(best, with_others.likelihood)
        yield with_others


def _answer(
    winner: _Verdict,
    rival: _Verdict | None,
    owner: float,
    clues: Sequence[Clue],
    line_bytes: int,
    containment: Containment,
) -> LineObject:
    """The winner as an object; ``owner`` are the odds that it owns what the code is known to touch."""
    odds = exp(min(winner.likelihood - rival.likelihood, 50.0)) if rival else exp(50.0)
    margin = min(odds, owner) / (1.0 + min(odds, owner))
    described = _describe(winner, line_bytes, containment)
    runner_up = _describe(rival, line_bytes, containment) if rival else None
    if owner < odds and margin < SURE:
        reason = "only locks, links and the like are known here, which lie in many types"
        outcome = Outcome.CANNOT_TELL
    elif margin < SURE:
        outcome, reason = Outcome.CANNOT_TELL, _why_unsure(described, runner_up)
    elif doubt := lone(clues):
        outcome, reason = Outcome.CANNOT_TELL, doubt
    elif winner.explained < MOSTLY:
        outcome, reason = Outcome.CANNOT_TELL, "no type explains most of the samples"
    elif doubt := hearsay(winner.hypothesis, clues, containment) or contradiction(
        winner.hypothesis, clues, containment
    ):
        outcome, reason = Outcome.CANNOT_TELL, doubt
    elif (holders := containment.direct_holders(winner.hypothesis.layout)) >= BUILDING_BLOCK:
        outcome = Outcome.INNER_TYPE_ONLY
        reason = f"{holders} types hold a {described.type}; nothing on the line tells which"
    elif doubt := one_offset(clues):
        outcome, reason = Outcome.CANNOT_TELL, doubt
    else:
        outcome, reason = Outcome.RESOLVED, ""
    return replace(described, outcome=outcome, reason=reason, margin=margin, runner_up=runner_up)


def _why_unsure(first: LineObject, second: LineObject | None) -> str:
    if second and second.type == first.type:
        return f"{first.type} explains the line from two starts ({first.start} and {second.start}) almost equally well"
    return "two types explain the line almost equally well"


def _describe(verdict: _Verdict, line_bytes: int, containment: Containment) -> LineObject:
    one = verdict.hypothesis
    layout = containment.layouts.by_id(one.layout)
    holders = tuple(dict.fromkeys(holder.name for holder in containment.holders(one.layout)))
    start, phase = one.start, one.start % line_bytes
    return LineObject(layout.name, layout.id, start, phase, verdict.explained, Outcome.RESOLVED, containers=holders)


def _left_over(clues: Sequence[Clue], first: LineObject, containment: Containment) -> tuple[Clue, ...]:
    """The clues outside the first object, if they are a good part of the line."""
    if first.layout is None:
        return ()
    _, rest = within(clues, Hypothesis(first.layout, first.start), containment)
    total = sum(clue.samples for clue in clues)
    return tuple(rest) if total and sum(clue.samples for clue in rest) / total >= LEFT_OVER else ()


def _overlapping(first: LineObject, second: LineObject, containment: Containment) -> bool:
    if first.layout is None or second.layout is None:
        return True
    return overlap(Hypothesis(first.layout, first.start), Hypothesis(second.layout, second.start), containment)
