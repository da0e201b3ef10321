# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line: the (type, start) that best explains offsets and functions.

Every hypothesis is a record type laid at one start over the line. Its likelihood is a product over the accesses: one
that meets a leaf of a record that its function reaches counts ``quality / sqrt(leaves)``, any other a small constant.
The prior spreads evenly over a type's possible starts. docs/attribution.md gives the reasons.
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
from linesmith.analyzer.attribution.evidence import (
    UNEXPLAINED_LEAF,
    Clue,
    CodeEvidence,
    clues_of,
    evidence_of,
    probability,
    symbol_name,
    touched,
)
from linesmith.analyzer.attribution.hypotheses import (
    SURE,
    Allowed,
    Column,
    Hypothesis,
    change_cost,
    drifted,
    inside,
    overlap,
    prior,
    related,
    same_place,
    within,
)
from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.gaps import record_alignment
from linesmith.analyzer.model import CacheLine, LineObject, Outcome

EXAMINED = 200
# Hypotheses whose log odds are worse than this change no answer.
HOPELESS = 12.0
# Log odds that the lines close by can add or take.
MOST_SUPPORT = 12.0
# How likely two objects in a row are both hot, where one is.
TWO_IN_A_ROW = 0.1
# Share of the samples outside the first object from which on a second one is looked for.
LEFT_OVER = 0.15
_NO_OFFSETS = "the profile gives no offsets for this line"
HOLDER = "by the code around the lock alone"


def attribute(line: CacheLine, neighbours: Neighbourhood) -> tuple[LineObject, ...]:
    """The objects on a line, best explained first; a second one when much of the line is left unexplained.

    What a long object covers of the ``neighbours`` of the line it must fit as well.
    """
    if not any(access.offset is not None for access in line.accesses):
        return (LineObject("", None, 0, 0.0, Outcome.NO_OFFSETS, reason=_NO_OFFSETS),)
    whole = _LineClues(clues_of(line.accesses, neighbours.evidence), line, neighbours)
    first = whole.best()
    if first is None or first.layout is None:
        return (LineObject("", None, 0, 0.0, Outcome.NO_EVIDENCE, reason=_why_no_evidence(line, neighbours.evidence)),)
    place = Hypothesis(first.layout, first.start, first.ways)
    held, rest = within(whole.clues, place, whole.containment)
    total = sum(clue.samples for clue in whole.clues)
    if not rest or not total or sum(clue.samples for clue in rest) / total < LEFT_OVER:
        return (first,)
    second = replace(whole, clues=rest).best()
    if (
        second is None
        or second.layout is None
        or overlap(place, Hypothesis(second.layout, second.start), whole.containment)
    ):
        return (first,)
    if second.outcome is Outcome.RESOLVED:
        # What a sure second object explains does not speak against the first one.
        alone = replace(whole, clues=held).best()
        if alone is not None and (alone.layout, alone.start) == place[:2]:
            first = replace(alone, score=first.score)
    return first, second


def attribute_to(one: Hypothesis, line: CacheLine, neighbours: Neighbourhood) -> LineObject | None:
    """The object ``one``, sure from elsewhere, if it explains most of the line too; else ``None``."""
    whole = _LineClues(clues_of(line.accesses, neighbours.evidence), line, neighbours)
    explanation = whole.judged(one)
    return replace(whole.described(explanation), margin=1.0) if explanation.explained >= MOSTLY else None


def attribute_begun(one: Hypothesis, line: CacheLine, neighbours: Neighbourhood) -> LineObject | None:
    """The part ``one``, sure on the line behind, if most of this line is in it and no code that is known objects.

    Code that the ELF file does not have is taken to touch it: where it begins is known.
    """
    clues = clues_of(line.accesses, neighbours.evidence)
    held, _ = within(clues, one, neighbours.evidence.containment)
    known = [clue for clue in held if clue.spots or clue.known.records]
    fitting = [clue for clue in known if probability(clue, one.layout, clue.offset - one.start)[1]]
    share = sum(clue.samples for clue in held) / max(1, sum(clue.samples for clue in clues))
    if not known or len(fitting) < len(known) or share < MOSTLY:
        return None
    described = _LineClues(clues, line, neighbours).described(_JudgedHypothesis(one, 0.0, 0.0, share))
    return replace(described, outcome=Outcome.INNER_TYPE_ONLY, margin=1.0)


def attribute_at(start: int, size: int, line: CacheLine, neighbours: Neighbourhood) -> LineObject | None:
    """The type that best explains the accesses to an object of ``size`` bytes known to begin at ``start``.

    ``None`` when no type that fits there is reached by the functions seen.
    """

    def fits(_: Column, starts: Column, sizes: Column) -> NDArray[np.bool_]:
        fitting: NDArray[np.bool_] = (starts == start) & (sizes <= size)
        return fitting

    held = [access for access in line.accesses if start <= (access.offset or 0) < start + size]
    return _LineClues(clues_of(held, neighbours.evidence), line, neighbours).best(fits)


def _why_no_evidence(line: CacheLine, evidence: CodeEvidence) -> str:
    names = {symbol_name(access) for access in line.accesses} - {None}
    if not names:
        return "no function of this line is named: its code is not in the ELF file, and the profile has no name for it"
    if not any(evidence_of(access, evidence).records for access in line.accesses):
        return f"no type of the ELF file fits what {', '.join(sorted(filter(None, names))[:3])} touched"
    return "no type of the ELF file has members at these offsets that these functions could touch"


@dataclass(frozen=True, slots=True)
class _JudgedHypothesis:
    """A hypothesis with its log likelihood, the part of it that the clues gain, and the share of samples explained."""

    hypothesis: Hypothesis
    likelihood: float
    gain: float
    explained: float


@dataclass(frozen=True, slots=True)
class _LineClues:
    """The clues of a line, and what hypotheses about it are judged by."""

    clues: Sequence[Clue]
    line: CacheLine
    neighbours: Neighbourhood

    @property
    def containment(self) -> Containment:
        """The layouts of the ELF file."""
        return self.neighbours.evidence.containment

    def judged(self, one: Hypothesis) -> _JudgedHypothesis:
        """How well a hypothesis explains the clues."""
        starts = self.neighbours.starts
        places = {offset: one.place(offset) for offset in {clue.offset for clue in self.clues}}
        rows = {offset: starts.in_row(one.layout, place) for offset, place in places.items()} if starts else places
        elsewhere = rows != places
        gain = 0.0
        reasoned = samples = 0
        for clue in self.clues:
            likelihood, reason = probability(clue, one.layout, rows[clue.offset])
            gain += clue.weight * log(likelihood / UNEXPLAINED_LEAF)
            samples += clue.samples
            reasoned += clue.samples if reason else 0
        likely = prior(one, self.line, self.containment, starts) + change_cost(one)
        whole = likely + gain + (log(TWO_IN_A_ROW) if elsewhere else 0.0)
        return _JudgedHypothesis(one, whole, gain, reasoned / samples if samples else 0.0)

    def best(self, allowed: Allowed | None = None) -> LineObject | None:
        """The best hypothesis of those ``allowed``; ``None`` when nothing proposes one."""
        promising = self.neighbours.proposer.best(self.clues, self.line.bytes, EXAMINED, allowed)
        if not promising:
            return None
        if allowed is None:
            promising += drifted(self.clues, self.neighbours.proposer)
        ranked = _ranked(_supported(_ranked(map(self.judged, promising)), self.neighbours, self.line))
        # The best explanation, or the innermost one within it that explains all that it explains.
        parts = [one for one in ranked if inside(one.hypothesis, ranked[0].hypothesis, self.containment)]
        enough = [one for one in parts if one.gain >= ranked[0].gain and one.explained >= ranked[0].explained]
        winner = min([ranked[0], *enough], key=lambda one: self.containment.layouts.by_id(one.hypothesis.layout).size)
        owner = inf if allowed else self._odds_of_owner(winner)
        rival = self._rival(winner, ranked)
        found = self._with_open_start(self._answer(winner, rival, owner), winner, ranked)
        if found.outcome is not Outcome.CANNOT_TELL or (found.margin >= SURE and owner == inf):
            return self._with_holder(found, allowed)
        # Of the lock within the winner, and within its rival, one may be sure, and not of whose it is.
        outer = [winner.hypothesis] + ([rival.hypothesis] if rival is not None and owner == inf else [])
        for part in ranked:
            if all(inside(part.hypothesis, one, self.containment) for one in outer):
                inner = self._answer(part, self._rival(part, ranked), self._odds_of_owner(part))
                if inner.outcome in (Outcome.INNER_TYPE_ONLY, Outcome.RESOLVED):
                    return self._with_holder(inner, allowed)
        return found

    def _with_holder(self, found: LineObject, allowed: Allowed | None) -> LineObject:
        """The one record around a lock that the other code on the line is known to touch just there."""
        if found.outcome is not Outcome.INNER_TYPE_ONLY or found.layout is None or found.ways or allowed:
            return found
        held, rest = within(self.clues, Hypothesis(found.layout, found.start), self.containment)
        around = [clue for clue in rest if clue.spots]
        if not around or not is_lock(found.type):
            return found
        places = self.containment.embeddings(found.layout)
        # Code that works on the lock may say whose it is as well.
        named = [clue.touches.records.intersection(one for one, _ in places) for clue in held]
        fitting = [
            one
            for one in (Hypothesis(it, found.start - at) for it, at in places)
            if one.start % record_alignment(self.containment.layouts.by_id(one.layout)) == 0
            and all(touched(clue, one.layout, one.place(clue.offset)) >= SURE for clue in around)
            and all(not holders or one.layout in holders for holders in named)
            and not contradiction(one, self.clues)
        ]
        if not fitting:
            return found
        inner = min(fitting, key=lambda one: self.containment.layouts.by_id(one.layout).size)
        if not all(one == inner or inside(inner, one, self.containment) for one in fitting):
            return found
        # What else is in it, and how far it goes, is known of this build alone.
        ways = tuple((offset, inner.start) for offset in sorted({one.offset for one in self.clues}))
        return replace(self.described(self.judged(inner)), margin=SURE, ways=ways, reason=HOLDER)

    def _with_open_start(
        self, found: LineObject, winner: _JudgedHypothesis, ranked: Sequence[_JudgedHypothesis]
    ) -> LineObject:
        """The object; where another start explains the line almost as well, its own is not taken for known."""
        mine = winner.hypothesis
        near = (one for one in ranked if winner.likelihood - one.likelihood < log(SURE / (1.0 - SURE)))
        same = (one for one in near if one.hypothesis.layout == mine.layout and one is not winner)
        if found.outcome is not Outcome.RESOLVED or mine.ways or not any(same):
            return found
        return replace(found, ways=tuple((offset, mine.start) for offset in sorted({one.offset for one in self.clues})))

    def _odds_of_owner(self, one: _JudgedHypothesis) -> float:
        return odds_of_owner(one.hypothesis, self.clues, self.line.bytes, self.containment)

    def _rival(self, one: _JudgedHypothesis, ranked: Iterable[_JudgedHypothesis]) -> _JudgedHypothesis | None:
        """The best explanation by another place."""
        mine = one.hypothesis
        for other in ranked:
            theirs = other.hypothesis
            if other is one or same_place(mine, theirs, self.containment):
                continue
            if not related(mine, theirs, self.containment) or any(clue.by_instruction for clue in self.clues):
                return other
        return None

    def _answer(self, winner: _JudgedHypothesis, rival: _JudgedHypothesis | None, owner: float) -> LineObject:
        """The winner as an object; ``owner`` are the odds that it owns what the code is known to touch."""
        odds = exp(min(winner.likelihood - rival.likelihood, 50.0)) if rival else exp(50.0)
        margin = min(odds, owner) / (1.0 + min(odds, owner))
        described = self.described(winner)
        runner_up = self.described(rival) if rival else None
        outcome = Outcome.CANNOT_TELL
        if owner < odds and margin < SURE:
            reason = "only locks, links and the like are known here, which lie in many types"
        elif margin < SURE and runner_up and runner_up.type == described.type:
            starts = f"two starts ({described.start} and {runner_up.start})"
            reason = f"{described.type} explains the line from {starts} almost equally well"
        elif margin < SURE:
            reason = "two types explain the line almost equally well"
        elif doubt := lone(self.clues):
            reason = doubt
        elif winner.explained < MOSTLY:
            reason = "no type explains most of the samples"
        elif doubt := hearsay(winner.hypothesis, self.clues) or contradiction(winner.hypothesis, self.clues):
            reason = doubt
        elif (holders := self.containment.direct_holders(winner.hypothesis.layout)) >= BUILDING_BLOCK:
            outcome = Outcome.INNER_TYPE_ONLY
            reason = f"{holders} types hold a {described.type}; nothing on the line tells which"
        elif doubt := one_offset(self.clues):
            reason = doubt
        else:
            outcome, reason = Outcome.RESOLVED, ""
        return replace(described, outcome=outcome, reason=reason, margin=margin, runner_up=runner_up)

    def described(self, one: _JudgedHypothesis) -> LineObject:
        """The object that a hypothesis means."""
        record, start, ways = one.hypothesis
        layout = self.containment.layouts.by_id(record)
        holders = tuple(dict.fromkeys(holder.name for holder in self.containment.holders(record)))
        found = LineObject(layout.name, record, start, one.explained, Outcome.RESOLVED, line_bytes=self.line.bytes)
        return replace(found, containers=holders, ways=ways)


def _ranked(explanations: Iterable[_JudgedHypothesis]) -> list[_JudgedHypothesis]:
    return sorted(explanations, key=lambda one: (-one.likelihood, one.hypothesis))


def _supported(
    ranked: Iterable[_JudgedHypothesis], neighbours: Neighbourhood, line: CacheLine
) -> Iterator[_JudgedHypothesis]:
    """Other lines may confirm what this line says, not replace it: some large type always fits a neighbour."""
    best = -inf
    for one in ranked:
        most = min(max(one.gain, 0.0), MOST_SUPPORT)
        if one.likelihood + most < best - HOPELESS:
            yield one
            continue
        more = max(-MOST_SUPPORT, min(neighbours.support(one.hypothesis, line), most))
        with_others = replace(one, likelihood=one.likelihood + more)
        best = max(best, with_others.likelihood)
        yield with_others
