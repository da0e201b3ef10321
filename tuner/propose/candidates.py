# SPDX-License-Identifier: GPL-2.0-or-later
"""A few candidates for a finding, or for a profile, in the order in which they are worth a replay.

Of all options that help, the best of each strategy for the same hot members is kept. Which one is recommended the
judge decides (``tuner.replay.recommend``).

Single steps move, swap or align one atom. Changes of several steps move two hot atoms, or a group of hot atoms that do
not disturb each other, or give a written member a line of its own. The packing solver adds orders of many moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import Candidate, Finding, Layout, Move, MoveKind, Strategy
from linesmith.analyzer.sharing.records import WORTH_CHANGING
from linesmith.tuner.constraints.freedom import NO_PREMISES, Premises
from linesmith.tuner.propose.advice import meeting_here, nothing_helps, refuse_hopeless
from linesmith.tuner.propose.arrangement import (
    Arrangement,
    Option,
    aligned,
    aligns,
    churn,
    fits,
    gathered,
    lightest,
    moves,
    placed,
    prices,
    swaps,
    unchanged,
)
from linesmith.tuner.propose.packing import packed
from linesmith.tuner.propose.phases import memory
from linesmith.tuner.propose.subject import ContendedRecord, refused_elsewhere, subject
from linesmith.tuner.propose.tradeoff import (
    Tradeoff,
    best_first,
    disturbed,
    doubt,
    elsewhere,
    exposures,
    left,
    notes,
    smallest,
    smallest_first,
    split,
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
# Up to here every single move of every atom is tried; a larger record has its cold atoms moved only in between the hot
# ones, and one such as task_struct none of them, since the work grows with the cube of the atoms.
EXHAUSTIVE_ATOMS, MOST_COLD_MOVED = 96, 192
# Second moves are tried on top of this many first moves, the best of each hot atom.
BEAM = 12
# Of a larger record two moves are tried for so many of the hottest atoms: task_struct has 200 places for each.
FEW_HOT = 6
# How many hot atoms move together.
MOST_TOGETHER = 4
# What of its own contention an atom may have with the others of its group.
HARMLESS = 0.3


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
    finding: Finding, layouts: Layouts, limit: int = 5, others: Iterable[Finding] = (), premises: Premises = NO_PREMISES
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
        f"Nothing is recommended: {lines} {share:.2%} of the {finding.unit} of the {finding.whole}, and below "
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
    now, best, varied = left(target.now), min(left(option.cost) for option in found), list[Tradeoff]()
    for group in groups.values():
        # Only those are looked at more closely that are no worse by what is quickly known.
        worst = nsmallest(SHORTLIST, map(_quickly, group))[-1]
        near = [option for option in group if _quickly(option) <= worst]
        paid = elsewhere(target, near)
        rows = ((*_quickly(one), paid[at], len(disturbed(target, one)), at) for at, one in enumerate(near))
        shortlist = [near[int(row[-1])] for row in nsmallest(SHORTLIST, list(rows))]
        moved = [churn(target, one.arrangement) for one in shortlist]
        rest = zip(shortlist, exposures(target, shortlist), moved, strict=True)
        varied.append(smallest([Tradeoff(target, one, now, best, exposed, read) for one, exposed, read in rest]))
    return varied


def _quickly(option: Option) -> tuple[float, ...]:
    """The part of the tradeoff that is quickly known."""
    return len(option.arrangement.moved), option.cost.here + option.cost.anywhere, option.cost.anywhere


def candidate(finding: Finding, target: ContendedRecord, option: Option, layouts: Layouts) -> Candidate:
    """The option with its layout and all that is stated of it."""
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
        residuals=target.heat.residuals(target.starts, option.starts, objects),
        lines=lines(then),
        constraints=tuple(str(one) for one in target.freedom.constraints if one.everywhere or one.member in names),
        notes=notes(finding, target, option, in_doubt, torn),
        doubt=in_doubt,
        strategy=replace(option.arrangement, moves=moves_made).strategy,
        memory=(memory(target.heat.mixes, target.heat.granule), memory(target.heat.mixes, option.granule, more)),
        churn=churn(target, option.arrangement),
        proofs=target.heat.proofs(option.starts, option.granule, more),
        holders=target.holders.changes(option.granule, more),
        granules=(objects[0].step, objects[1].step),
        firsts=target.heat.mixes.firsts((target.heat.granule, option.granule), more),
        loose=target.heat.mixes.loose(option.granule, more),
        split=torn,
        exposed=exposures(target, [option])[0],
    )


def after(target: ContendedRecord, option: Option, before: Layout) -> Layout:
    """``before`` in the new order; an alignment that was only inferred is not written down as if it were declared."""
    placed = lay_out(target.layout, option.arrangement.members(target.parts))
    order = [position for atom in option.arrangement.order for position in target.positions[atom]]
    members = list(placed.members)
    for at, position in enumerate(order):
        declared = before.members[position].alignment
        if members[at].alignment != declared and target.owners[position] not in option.arrangement.aligned:
            members[at] = replace(members[at], alignment=declared)
    return replace(placed, members=tuple(members), alignment=before.alignment)


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


def options(target: ContendedRecord) -> tuple[Option, ...]:
    """Every small change that lowers the cost, one for each distinct layout, single steps first.

    Of several steps only what does more than each single one. What leaves nothing at the size there is needs no more.
    """
    start = unchanged(target)
    found = _helpful(target, _single_steps(target, start))
    single = tuple(found.values())
    if any(option.cost.anywhere == 0 and target.grown(option.size, option.granule) <= 0 for option in single):
        return single
    # Of the single steps only those count that no other is as good as.
    best: list[Option] = []
    for option in single:
        if not any(_as_good(target, one, option) for one in best):
            best = [*(one for one in best if not _as_good(target, option, one)), option]
    for layout, option in _helpful(target, _several_steps(target, start)).items():
        if not any(_as_good(target, one, option) for one in best):
            found.setdefault(layout, option)
    for layout, option in _helpful(target, packed(target)).items():
        found.setdefault(layout, option)
    return tuple(found.values())


def _helpful(target: ContendedRecord, arrangements: Iterable[Arrangement]) -> dict[tuple[tuple[int, ...], int], Option]:
    """By layout (starts and size) the first that has it and costs less in the profile's phase and over all phases."""
    found: dict[tuple[tuple[int, ...], int], Option] = {}
    seen = set[tuple[object, ...]]()

    def distinct() -> Iterator[Arrangement]:
        for one in arrangements:
            if (key := (one.order, *one.aligned.items())) not in seen:
                seen.add(key)
                yield one

    for option in prices(target, distinct(), target.now):
        if (option.starts, option.size) not in found and fits(target, option):
            found[option.starts, option.size] = option
    return found


def _as_good(target: ContendedRecord, one: Option, two: Option) -> bool:
    """Whether a single step already does what several do."""
    if one.cost.here > two.cost.here or one.cost.anywhere > two.cost.anywhere or one.size > two.size:
        return False
    return target.grown(one.size, one.granule) <= target.grown(two.size, two.granule)


def _single_steps(target: ContendedRecord, start: Arrangement) -> Iterator[Arrangement]:
    hot = target.hot
    cold = [atom for atom in start.order if atom not in hot]
    yield from moves(target, start, hot)
    yield from swaps(target, start, hot)
    yield from aligns(target, start, hot)
    small = len(start.order) <= EXHAUSTIVE_ATOMS or not hot
    if small or len(start.order) <= MOST_COLD_MOVED:
        yield from moves(target, start, cold, None if small else range(min(hot), max(hot) + 1))


def _several_steps(target: ContendedRecord, start: Arrangement) -> Iterator[Arrangement]:
    """Changes of more than one step, those that need fewer first."""
    owners = {target.owners[spot.member] for spot in target.heat.spots if spot.written}
    written = [atom for atom in target.hot if atom in owners]
    yield from _two_moves(target, start)
    yield from _grouped(target, start)
    yield from _isolated(target, start, written)


def _two_moves(target: ContendedRecord, start: Arrangement) -> Iterator[Arrangement]:
    """Two hot atoms moved, on top of the best places of the first; the first alone need not help."""
    hot = target.hot if len(start.order) <= EXHAUSTIVE_ATOMS else target.hot[:FEW_HOT]
    for atom in hot:
        priced = prices(target, moves(target, start, [atom]))
        first = sorted(priced, key=lambda option: (option.cost.anywhere, option.cost.here))
        for option in first[: max(1, BEAM // len(hot))]:
            yield from moves(target, option.arrangement, [other for other in hot if other != atom])


def _grouped(target: ContendedRecord, start: Arrangement) -> Iterator[Arrangement]:
    """Each group of several hot atoms at every place, the first of the declaration in front."""
    for first, *rest in map(sorted, harmless_groups(target, target.hot)):
        for place in target.freedom.places(first) if rest else ():
            moved = placed(target, start, first, place)
            together = gathered(target, moved, (first, *rest)) if moved is not None else None
            if together is not None and together.order != start.order:
                yield replace(together, purpose=Strategy.GROUP)


def harmless_groups(target: ContendedRecord, ranked: Sequence[int]) -> list[list[int]]:
    """The atoms of ``ranked`` in groups of those that hardly disturb each other, in the same order."""
    costs: dict[frozenset[int], float] = {}
    for contact in target.heat.sampled:
        pair = frozenset((target.owners[contact.first.member], target.owners[contact.second.member]))
        costs[pair] = costs.get(pair, 0.0) + contact.weight

    def hostility(atom: int, others: Sequence[int]) -> float:
        return sum(weight for pair, weight in costs.items() if atom in pair and pair - {atom} <= set(others))

    found: list[list[int]] = []
    for atom in ranked:
        whole = sum(weight for pair, weight in costs.items() if atom in pair)
        open_to = [one for one in found if len(one) < MOST_TOGETHER and hostility(atom, one) <= HARMLESS * whole]
        if whole and open_to:
            min(open_to, key=lambda one: hostility(atom, one)).append(atom)
        else:
            found.append([atom])
    return found


def _isolated(target: ContendedRecord, start: Arrangement, atoms: Iterable[int]) -> Iterator[Arrangement]:
    """Each of ``atoms`` alone on a line, wherever it may be: what is behind it begins the next line."""
    for atom in atoms if target.may_resize else ():
        for place in target.freedom.places(atom):
            there = placed(target, start, atom, place)
            alone = None if there is None else aligned(target, there, atom)
            if alone is not None and alone.order[-1] != atom:
                alone = aligned(target, alone, alone.order[alone.order.index(atom) + 1])
            if alone is not None:
                yield replace(alone, purpose=Strategy.ISOLATE)
