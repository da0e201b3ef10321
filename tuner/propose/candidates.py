# SPDX-License-Identifier: GPL-2.0-or-later
"""A few candidates for a finding, or for a profile, in the order in which they are worth a replay.

Of all options that help, the best of each strategy for the same hot members is kept. Which one is recommended the
judge decides (``tuner.replay.judged``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nsmallest

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import Candidate, Finding, Layout, Move, MoveKind, Strategy
from linesmith.analyzer.sharing.records import WORTH_CHANGING
from linesmith.tuner.constraints.freedom import NO_PREMISES, Premises
from linesmith.tuner.cost.meetings import proofs, residuals
from linesmith.tuner.cost.phases import memory
from linesmith.tuner.propose.advice import meeting_here, nothing_helps, refuse_hopeless
from linesmith.tuner.propose.arrangement import Option, churn, lightest
from linesmith.tuner.propose.search import options
from linesmith.tuner.propose.subject import ContendedRecord, refused_elsewhere, subject
from linesmith.tuner.propose.tradeoff import (
    Tradeoff,
    best_first,
    disturbed,
    doubt,
    elsewhere,
    left,
    notes,
    smallest_first,
    split,
    tradeoff,
)

# Why nothing is recommended as long as nothing was replayed.
NOT_REPLAYED = "Nothing is recommended: no run was replayed."
# More than a handful for one line helps nobody to decide.
MOST_CANDIDATES = 5
# A candidate must remove at least this share of what the best one with as many steps removes.
WORTHWHILE = 0.5
# Candidates that are replayed, the best by their estimates.
MOST_JUDGED = 24
# Candidates of one strategy before another strategy has its turn.
SAME_STRATEGY = 2
# Options of one strategy, the cheapest, for which it is worked out what they expose.
SHORTLIST = 128


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What can be done about one line: candidates, or the reason why there are none.

    ``declined`` is a sentence why no candidate is recommended, empty where one is; ``withheld`` one that holds whatever
    a replay says. ``target`` is the record that is changed, where there is one.
    """

    finding: Finding
    candidates: tuple[Candidate, ...]
    refusal: str = ""
    declined: str = ""
    withheld: str = ""
    target: ContendedRecord | None = None


def propose(
    finding: Finding,
    layouts: Layouts,
    limit: int = 5,
    others: Iterable[Finding] = (),
    premises: Premises = NO_PREMISES,
) -> tuple[Candidate, ...]:
    """The candidates of ``proposal``."""
    return proposal(finding, layouts, limit, others, premises).candidates


def proposal(
    finding: Finding, layouts: Layouts, limit: int, others: Iterable[Finding], premises: Premises
) -> Suggestion:
    """At most ``limit`` candidates for the record of the finding's first object.

    ``others`` are the profile's other findings: where they show members of the same record hot, candidates keep clear
    of them. Raises ``NothingToSuggest`` when no legal change lowers the predicted cost, with the reason and what else
    can be done.
    """
    finding = meeting_here(finding, layouts)
    refuse_hopeless(finding, layouts)
    known = tuple(others)
    target = subject(finding, layouts, known, premises)
    legal = [one for one in options(target) if refused_elsewhere(target, one.arrangement.moves) is None]
    found = _worthwhile(target, legal)
    if not found:
        raise nothing_helps(finding, target)
    ranked = sorted(_varied(target, found), key=smallest_first)
    withheld = _too_little(finding, known, premises.shares)
    made = tuple(candidate(finding, target, one.option, layouts) for one in _handful(ranked, limit))
    return Suggestion(finding, made, declined=withheld or NOT_REPLAYED, withheld=withheld, target=target)


def _too_little(finding: Finding, others: Iterable[Finding], shares: Mapping[int, float]) -> str:
    """Why a record is left alone whose lines are a small part of the profile: a sentence, empty for any other."""
    record = finding.objects[0].layout if finding.objects else None
    same = [one for one in others if one.objects and record is not None and one.objects[0].layout == record]
    share = shares.get(finding.rank, finding.share + sum(one.share for one in same))
    if share >= WORTH_CHANGING:
        return ""
    lines = "the lines of the record have" if same else "the line has"
    return (
        f"Nothing is recommended: {lines} {share:.2%} of the contended accesses of the {finding.whole}, and below "
        f"{WORTH_CHANGING:.0%} no change is worth its review."
    )


def _handful(front: Sequence[Tradeoff], limit: int) -> list[Tradeoff]:
    """At most ``limit``, the best by the estimate first; two of each strategy before a third of any."""
    seen: Counter[Strategy] = Counter()
    ranked = []
    for place, one in enumerate(sorted(front, key=best_first)):
        strategy = one.option.arrangement.strategy
        ranked.append((seen[strategy] // SAME_STRATEGY, place, one))
        seen[strategy] += 1
    return [one for *_, one in sorted(ranked, key=lambda row: row[:2])[:limit]]


def _worthwhile(target: ContendedRecord, found: Sequence[Option]) -> tuple[Option, ...]:
    """Options that do a good part of what this effort can; growth by a move only where nothing else helps."""
    now = target.now.here
    best: dict[tuple[bool, int], float] = {}
    for option in found:
        effort = _effort(target, option)
        best[effort] = min(option.cost.here, best.get(effort, now))
    good = [one for one in found if now - one.cost.here >= WORTHWHILE * (now - best[_effort(target, one)])]
    level = [option for option in good if not _grows(target, option)]
    return tuple(level + [one for one in good if _grows(target, one) and (not level or one.arrangement.aligned)])


def _effort(target: ContendedRecord, option: Option) -> tuple[bool, int]:
    return _grows(target, option), len(option.arrangement.moves)


def _grows(target: ContendedRecord, option: Option) -> bool:
    return target.grown(option.size, option.granule) > 0


def _varied(target: ContendedRecord, found: Sequence[Option]) -> list[Tradeoff]:
    """The best option of each strategy for the same hot atoms: where a cold one goes is a detail."""
    hot = frozenset(target.hot)
    groups: dict[tuple[Strategy, bool, frozenset[int]], list[Option]] = {}
    for option in found:
        key = option.arrangement.strategy, _grows(target, option), hot.intersection(option.arrangement.moved)
        groups.setdefault(key, []).append(option)
    shortlists = (nsmallest(SHORTLIST, group, key=partial(_price, target)) for group in groups.values())
    best = min(left(option.cost) for option in found)
    return [min((tradeoff(target, one, best) for one in shortlist), key=smallest_first) for shortlist in shortlists]


def _price(target: ContendedRecord, option: Option) -> tuple[float, ...]:
    """The part of the tradeoff that is quickly known, then how much the change disturbs."""
    moved = len(option.arrangement.moved)
    left_over = option.cost.here + option.cost.anywhere
    return moved, left_over, option.cost.anywhere, elsewhere(target, option), len(disturbed(target, option))


def candidate(finding: Finding, target: ContendedRecord, option: Option, layouts: Layouts) -> Candidate:
    """The option with its layout and all that is said of it."""
    before = layouts.by_id(target.layout.id)
    option = replace(option, arrangement=lightest(target, option.arrangement, target.hot))
    then = after(target, option, before)
    moves_made, more = _named(target, option), option.size - target.layout.size
    objects = target.heat.mixes.starts(target.heat.granule), target.heat.mixes.starts(option.granule, more)
    # Of the constraints, those that limit every order, or the members that move or meet.
    touched = {target.owners[spot.member] for spot in target.heat.spots}.union(option.arrangement.moved)
    names = {name for atom in touched for name in (target.parts[atom].name, target.parts[atom].last)}
    in_doubt, torn = doubt(finding, target), split(target, option)
    return Candidate(
        type=target.type,
        before=before,
        after=then,
        moves=moves_made,
        residuals=residuals(target.heat, target.starts, option.starts, objects),
        lines=lines(then),
        constraints=tuple(str(one) for one in target.freedom.constraints if one.everywhere or one.member in names),
        notes=notes(finding, target, option, in_doubt, torn),
        doubt=in_doubt,
        strategy=replace(option.arrangement, moves=moves_made).strategy,
        memory=(
            memory(target.heat.mixes, target.heat.granule),
            memory(target.heat.mixes, option.granule, more),
        ),
        churn=churn(target, option.arrangement),
        proofs=proofs(target.heat, option.starts, option.granule, more),
        holders=target.holders.changes(option.granule, more),
        granules=(objects[0].step, objects[1].step),
        firsts=target.heat.mixes.firsts((target.heat.granule, option.granule), more),
        loose=target.heat.mixes.loose(option.granule, more),
        split=torn,
    )


def after(target: ContendedRecord, option: Option, before: Layout) -> Layout:
    """``before`` in the new order; an alignment that was only inferred is not written down as if it were declared."""
    placed = lay_out(target.layout, option.arrangement.members(target.parts))
    order = [position for atom in option.arrangement.order for position in target.positions[atom]]
    members = tuple(
        replace(member, alignment=before.members[position].alignment)
        if target.owners[position] not in option.arrangement.aligned
        else member
        for position, member in zip(order, placed.members, strict=True)
    )
    return replace(placed, members=members, alignment=before.alignment)


def _named(target: ContendedRecord, option: Option) -> tuple[Move, ...]:
    """The moves; a single one that disturbs nothing has only filled a hole."""
    first, *rest = option.arrangement.moves
    still = option.size <= target.layout.size and not disturbed(target, option)
    if not rest and first.kind is MoveKind.MOVE and still:
        return (replace(first, kind=MoveKind.FILL_HOLE),)
    return option.arrangement.moves


def answers(
    found: Sequence[Finding],
    layouts: Layouts,
    premises: Premises = NO_PREMISES,
    further: Sequence[Finding] = (),
    limit: int = MOST_CANDIDATES,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> tuple[Suggestion, ...]:
    """One suggestion per record, for its hottest line, of at most ``limit`` candidates; without any it says why.

    ``further`` are findings that are in view as well. ``progress`` gets how many of all findings are done.
    """
    given: list[Suggestion] = []
    for done, finding in enumerate(found):
        progress(done, len(found))
        if any(_holds(answer, finding) for answer in given):
            continue
        others = [one for one in (*found, *further) if one is not finding and not (one.objects and one.objects[0].ways)]
        try:
            given.append(proposal(finding, layouts, limit, others, premises))
        except NothingToSuggest as refusal:
            given.append(Suggestion(finding, (), str(refusal)))
    return tuple(given)


def _holds(answer: Suggestion, finding: Finding) -> bool:
    """Whether an answer for another line of the same record holds for this one: candidates have all lines in view."""
    mine, theirs = (one.objects[0].layout if one.objects else None for one in (finding, answer.finding))
    if mine is None or mine != theirs:
        return False
    here, there = (
        {name for pair in one.triage.pairs for name in (pair.first, pair.second)} for one in (finding, answer.finding)
    )
    return any(one.before.id == mine for one in answer.candidates) or (here == there and bool(here))


def reasons(answers: Sequence[Suggestion]) -> str:
    """Why none of the answers has a candidate, in a sentence or two."""
    if not answers:
        return "The profile holds no line to suggest anything for."
    more = len(answers) - 1
    return answers[0].refusal + (f" ({more} more lines have no candidate either.)" if more else "")
