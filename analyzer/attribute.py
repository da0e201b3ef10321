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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, log

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.evidence import POINTS_INTO_ANOTHER, Evidence, evidence_of, symbol_name
from linesmith.analyzer.likelihood import (
    OUTSIDE,
    UNEXPLAINED_LEAF,
    Clue,
    as_declared,
    clues_of,
    probability,
    quality,
    reach_likelihood,
    touch_likelihood,
)
from linesmith.analyzer.model import LineObject, Outcome, SharedLine

EXAMINED = 200
# Below odds of about six to one the answer is "cannot tell".
SURE = 0.85
# An object must explain at least this share of the line's samples.
MOSTLY = 0.5
# Share of the functions that may touch nothing of theirs in the object: optimisation loses a variable now and then.
MOST_MISFITS = 0.25
# A record held by value in this many others is a building block (a lock, a list head), not an object.
BUILDING_BLOCK = 8
LEFT_OVER = 0.15
# Lines of one report this close (bytes) may belong to one object.
NEIGHBOURHOOD = 4096
# How many times likelier than another start is the start of a line.
ON_LINE_START = 1.25


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    layout: int
    start: int


@dataclass(frozen=True, slots=True)
class _Verdict:
    hypothesis: _Hypothesis
    likelihood: float
    explained: float


def attribute(
    line: SharedLine, evidence: Evidence, containment: Containment, neighbours: Sequence[SharedLine] = ()
) -> tuple[LineObject, ...]:
    """The objects on a line, best explained first; a second one when much of the line is left unexplained.

    ``neighbours`` are other lines of the same report: what a long object covers of them must fit as well.
    """
    if not any(access.offset is not None for access in line.accesses):
        return (_unknown(Outcome.NO_OFFSETS, "the profile gives no offsets for this line"),)
    clues = clues_of(line.accesses, evidence)
    around = _clues_around(line, neighbours, evidence)
    first = _best(clues, around, line.bytes, containment)
    if first is None:
        return (_unknown(Outcome.NO_EVIDENCE, _why_no_evidence(line, evidence)),)
    rest = _left_over(clues, first, containment)
    second = _best(rest, around, line.bytes, containment) if rest else None
    return (first,) if second is None or _overlap(first, second, containment) else (first, second)


def attribute_as(
    wanted: str, line: SharedLine, evidence: Evidence, containment: Containment, neighbours: Sequence[SharedLine] = ()
) -> tuple[LineObject, ...]:
    """As ``attribute``, but for the ``wanted`` type where that explains a line too.

    That is a line of which ``attribute`` is not sure, or one that holds a part of a ``wanted`` object.
    """
    found = attribute(line, evidence, containment, neighbours)
    if found[0].outcome not in (Outcome.CANNOT_TELL, Outcome.INNER_TYPE_ONLY) and wanted not in found[0].containers:
        return found
    only = frozenset(layout.id for layout in containment.layouts.variants(wanted))
    clues = clues_of(line.accesses, evidence)
    around = _clues_around(line, neighbours, evidence)
    best = _best(clues, around, line.bytes, containment, lambda one: one.layout in only)
    if best is None or best.score < MOSTLY:
        return found
    return (
        replace(best, outcome=Outcome.RESOLVED, reason=f"because {wanted} was asked for; {best.reason}".strip("; ")),
    )


def attribute_at(
    start: int,
    size: int,
    line: SharedLine,
    evidence: Evidence,
    containment: Containment,
    neighbours: Sequence[SharedLine] = (),
) -> LineObject | None:
    """The type that best explains the accesses to an object of ``size`` bytes known to begin at ``start``.

    ``None`` when no type that fits there is reached by the functions seen.
    """

    def fits(one: _Hypothesis) -> bool:
        return one.start == start and containment.layouts.by_id(one.layout).size <= size

    inside = [access for access in line.accesses if start <= (access.offset or 0) < start + size]
    around = [clue for clue in _clues_around(line, neighbours, evidence) if start <= clue.offset < start + size]
    return _best(clues_of(inside, evidence), around, line.bytes, containment, fits)


def _unknown(outcome: Outcome, reason: str) -> LineObject:
    return LineObject("", None, 0, 0, 0.0, outcome, reason=reason)


def _why_no_evidence(line: SharedLine, evidence: Evidence) -> str:
    names = {symbol_name(access) for access in line.accesses} - {None}
    if not names:
        return "no function of this line is named (symbols unresolved when the profile was reported)"
    if not any(evidence_of(access, evidence).records for access in line.accesses):
        return f"the ELF file declares nothing that {', '.join(sorted(filter(None, names))[:3])} could touch"
    return "no type of the ELF file has members at these offsets that these functions could touch"


def _clues_around(line: SharedLine, neighbours: Iterable[SharedLine], evidence: Evidence) -> tuple[Clue, ...]:
    """The clues of lines close by, at offsets from this line; addresses of one report share one scale."""
    if line.address is None:
        return ()
    found: list[Clue] = []
    for other in neighbours:
        if other.address is not None and 0 < abs(distance := other.address - line.address) <= NEIGHBOURHOOD:
            moved = (replace(clue, offset=clue.offset + distance) for clue in clues_of(other.accesses, evidence))
            found += [as_declared(clue) for clue in moved]
    return tuple(found)


def _best(
    clues: Sequence[Clue],
    around: Sequence[Clue],
    line_bytes: int,
    containment: Containment,
    allowed: Callable[[_Hypothesis], bool] | None = None,
) -> LineObject | None:
    """The best hypothesis of those ``allowed``; ``None`` when nothing proposes one."""
    gains = _gains(clues, line_bytes, containment)
    if allowed is not None:
        gains = {one: gain for one, gain in gains.items() if allowed(one)}
    if not gains:
        return None
    promising = sorted(gains, key=lambda one: (-gains[one], one.layout, one.start))[:EXAMINED]
    verdicts = [_judge(one, clues, around, line_bytes, containment) for one in promising]
    verdicts.sort(key=lambda verdict: (-verdict.likelihood, verdict.hypothesis.layout, verdict.hypothesis.start))
    found = _answer(verdicts[0], _rival(verdicts[0], verdicts, containment), clues, line_bytes, containment)
    if found.outcome is not Outcome.CANNOT_TELL or found.margin >= SURE:
        return found
    for part in _common_parts(verdicts, containment):
        inner = _answer(part, _rival(part, verdicts, containment), clues, line_bytes, containment)
        if inner.outcome is Outcome.INNER_TYPE_ONLY:
            return inner
    return found


def _rival(one: _Verdict, verdicts: Sequence[_Verdict], containment: Containment) -> _Verdict | None:
    """The best verdict that is another place."""
    others = (other for other in verdicts if other is not one)
    return next((other for other in others if not _same_place(one.hypothesis, other.hypothesis, containment)), None)


def _common_parts(verdicts: Sequence[_Verdict], containment: Containment) -> list[_Verdict]:
    """What the winner and its rival both hold there: of the lock one may be sure, and not of whose it is."""
    winner = verdicts[0]
    rival = _rival(winner, verdicts, containment)
    if rival is None:
        return []
    around = (winner.hypothesis, rival.hypothesis)
    return [one for one in verdicts[1:] if all(_inside(one.hypothesis, outer, containment) for outer in around)]


def _gains(clues: Sequence[Clue], line_bytes: int, containment: Containment) -> dict[_Hypothesis, float]:
    """What each hypothesis gains over explaining nothing: the sum over the clues that it explains."""
    gains: dict[_Hypothesis, float] = {}
    for clue in clues:
        for hypothesis, likelihood in _explanations(clue, line_bytes, containment).items():
            gain = clue.weight * log(likelihood / OUTSIDE)
            gains[hypothesis] = gains.get(hypothesis, 0.0) + gain
    return gains


def _explanations(clue: Clue, line_bytes: int, containment: Containment) -> dict[_Hypothesis, float]:
    found: dict[_Hypothesis, float] = {}
    for record in clue.known.records:
        for layout in containment.layouts.variants(record):
            for start in containment.starts(layout.id):
                likelihood = reach_likelihood(clue, record, layout.id, start, containment)
                for hypothesis in _laid(layout.id, clue.offset - start, line_bytes, containment):
                    found[hypothesis] = max(likelihood, found.get(hypothesis, 0.0))
    if not clue.spots:
        return found
    likelihood = touch_likelihood(clue)
    places = {(spot[0], start) for spot in clue.spots for start in containment.elements(*spot)}
    for layout_id, start in sorted(places | clue.touches.elements):
        for hypothesis in _laid(layout_id, clue.offset - start, line_bytes, containment):
            found[hypothesis] = max(likelihood, found.get(hypothesis, 0.0))
    for layout_id, start in clue.touches.inside:
        within = containment.layouts.by_id(layout_id)
        if within.name:
            alone = _Hypothesis(layout_id, clue.offset - start)
            found[alone] = max(likelihood, found.get(alone, 0.0))
    return found


def _laid(layout: int, start: int, line_bytes: int, containment: Containment) -> Iterable[_Hypothesis]:
    for place in containment.places(layout):
        container = containment.layouts.by_id(place.container)
        begin = start - place.offset
        aligned = begin % max(container.natural_alignment, container.alignment or 1) == 0
        if aligned and begin < line_bytes and begin + container.size > 0:
            yield _Hypothesis(place.container, begin)


def _judge(
    one: _Hypothesis, clues: Sequence[Clue], around: Sequence[Clue], line_bytes: int, containment: Containment
) -> _Verdict:
    gain = 0.0
    explained = samples = 0
    for clue in clues:
        likelihood, reasoned = probability(clue, one.layout, clue.offset - one.start, containment)
        gain += clue.weight * log(likelihood / UNEXPLAINED_LEAF)
        samples += clue.samples
        explained += clue.samples if reasoned else 0
    support = sum(_support(clue, one, containment) for clue in around)
    # Other lines may confirm what this line says, not replace it: some large type always fits a neighbour.
    summed = _prior(one, line_bytes, containment) + gain + min(support, max(gain, 0.0))
    return _Verdict(one, summed, explained / samples if samples else 0.0)


def _prior(one: _Hypothesis, line_bytes: int, containment: Containment) -> float:
    """Even over the starts a type can have; allocators begin more objects on a line than anywhere else."""
    layout = containment.layouts.by_id(one.layout)
    starts = (layout.size + line_bytes) / max(layout.natural_alignment, layout.alignment or 1)
    return log(ON_LINE_START if one.start % line_bytes == 0 else 1.0) - log(starts)


def _support(clue: Clue, one: _Hypothesis, containment: Containment) -> float:
    """What a clue on another line says for or against the object, if the object reaches so far."""
    if not one.start <= clue.offset < one.start + containment.layouts.by_id(one.layout).size:
        return 0.0
    likelihood, _ = probability(clue, one.layout, clue.offset - one.start, containment)
    return clue.weight * log(likelihood / UNEXPLAINED_LEAF)


def _same_place(one: _Hypothesis, other: _Hypothesis, containment: Containment) -> bool:
    """Whether one is embedded in the other just there: the same object seen from inside and outside."""
    return _inside(one, other, containment) or _inside(other, one, containment)


def _inside(inner: _Hypothesis, outer: _Hypothesis, containment: Containment) -> bool:
    wanted = inner.start - outer.start
    return any(place.container == outer.layout and place.offset == wanted for place in containment.places(inner.layout))


def _answer(
    winner: _Verdict, rival: _Verdict | None, clues: Sequence[Clue], line_bytes: int, containment: Containment
) -> LineObject:
    odds = exp(min(winner.likelihood - rival.likelihood, 50.0)) if rival else exp(50.0)
    margin = odds / (1.0 + odds)
    described = _describe(winner, line_bytes, containment)
    runner_up = _describe(rival, line_bytes, containment) if rival else None
    if margin < SURE:
        outcome, reason = Outcome.CANNOT_TELL, _why_unsure(described, runner_up)
    elif lone := _lone(clues):
        outcome, reason = Outcome.CANNOT_TELL, lone
    elif winner.explained < MOSTLY:
        outcome, reason = Outcome.CANNOT_TELL, "no type explains most of the samples"
    elif doubt := _contradiction(winner.hypothesis, clues, containment):
        outcome, reason = Outcome.CANNOT_TELL, doubt
    elif (holders := containment.direct_holders(winner.hypothesis.layout)) >= BUILDING_BLOCK:
        outcome = Outcome.INNER_TYPE_ONLY
        reason = f"{holders} types hold a {described.type}; nothing on the line tells which"
    else:
        outcome, reason = Outcome.RESOLVED, ""
    return replace(described, outcome=outcome, reason=reason, margin=margin, runner_up=runner_up)


def _lone(clues: Sequence[Clue]) -> str:
    """Why a line is no pattern: one function at one offset, which may be any of several places that it touches."""
    certain = [clue for clue in clues if clue.weight >= MOSTLY]
    if len(certain) != 1 or len(certain[0].spots) < 2:
        return ""
    return f"one function at one offset is no pattern: it touches {len(certain[0].spots)} places that could lie there"


def _contradiction(one: _Hypothesis, clues: Sequence[Clue], containment: Containment) -> str:
    """Why the winner must be doubted: many of the functions surely work on records that it does not have there."""
    certain = [clue for clue in clues if clue.weight >= MOSTLY and clue.known.records]
    against = [
        clue
        for clue in certain
        if quality(clue, one.layout, clue.offset - one.start, containment) <= POINTS_INTO_ANOTHER
    ]
    if len(against) <= MOST_MISFITS * len(certain):
        return ""
    return f"what is touched at {against[0].offset:#x} hardly fits it: the type may be laid out otherwise there"


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
    end = first.start + containment.layouts.by_id(first.layout).size
    rest = tuple(clue for clue in clues if not first.start <= clue.offset < end)
    total = sum(clue.samples for clue in clues)
    return rest if total and sum(clue.samples for clue in rest) / total >= LEFT_OVER else ()


def _overlap(first: LineObject, second: LineObject, containment: Containment) -> bool:
    if first.layout is None or second.layout is None:
        return True
    sizes = [containment.layouts.by_id(one.layout or 0).size for one in (first, second)]
    return first.start < second.start + sizes[1] and second.start < first.start + sizes[0]
