# SPDX-License-Identifier: GPL-2.0-or-later
"""A few candidates for a finding, smallest change first.

Of all options that help, the best of each kind (move, swap, alignment, two moves) for the same hot members is kept; the
order compares one merit after the other, so no other option beats the best in all of them. Of those, one that another
of its kind beats in churn, cost, size and hot neighbours together is dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from heapq import nsmallest

from linesmith.analyzer.geometry import lines
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, Considered, Finding, Layout, Move, MoveKind
from linesmith.tuner.advice import nothing_helps, refuse_hopeless
from linesmith.tuner.arrangement import moves, unchanged
from linesmith.tuner.constraints import Constraint, ConstraintKind
from linesmith.tuner.cost.conflict import adjacent_cost, hot_lines, hot_neighbours, prediction, residuals
from linesmith.tuner.cost.exposure import exposure
from linesmith.tuner.notes import notes
from linesmith.tuner.placement import lay_out
from linesmith.tuner.premises import NO_PREMISES, Premises
from linesmith.tuner.search import Option, hot_atoms, options, price
from linesmith.tuner.subject import Subject, subject

# A candidate must remove at least this share of what the best one with as many steps removes.
WORTHWHILE = 0.5
# Candidates of one kind before another kind has its turn.
SAME_KIND = 2
# Options of one kind, the cheapest, for which it is worked out what they expose.
SHORTLIST = 128
# What one exposed member is taken to cost, as a share of what the profile's pairs cost.
EXPOSED_COST = 0.1


def propose(
    finding: Finding,
    layouts: Layouts,
    limit: int = 5,
    others: Iterable[Finding] = (),
    premises: Premises = NO_PREMISES,
) -> tuple[Candidate, ...]:
    """At most ``limit`` candidates for the record of the finding's first object; the first is recommended.

    ``others`` are the profile's other findings: where they show members of the same record hot, candidates keep clear
    of them. Raises ``NothingToSuggest`` when no legal change lowers the predicted cost, with the reason and what else
    can be done.
    """
    refuse_hopeless(finding, layouts)
    target = subject(finding, layouts, others, premises)
    found = _worthwhile(target, options(target))
    if not found:
        raise nothing_helps(finding, target)
    chosen = sorted(_undominated(target, _varied(target, found)), key=partial(_rank, target))
    return tuple(candidate(finding, target, option, layouts) for option in _handful(chosen, limit))


def _handful(ranked: Sequence[Option], limit: int) -> list[Option]:
    """At most ``limit`` options in their order; the first two of each kind before a third of any."""
    seen: Counter[tuple[MoveKind, ...]] = Counter()
    turns = []
    for place, option in enumerate(ranked):
        turns.append((seen[_kind(option)] // SAME_KIND, place))
        seen[_kind(option)] += 1
    return [ranked[place] for place in sorted(place for _, place in sorted(turns)[:limit])]


def _worthwhile(target: Subject, found: Sequence[Option]) -> tuple[Option, ...]:
    """Options that do a good part of what this effort can; growth by a move only where nothing else helps."""
    now = price(target, unchanged(target)).cost.here
    best: dict[tuple[bool, int], float] = {}
    for option in found:
        effort = _effort(target, option)
        best[effort] = min(option.cost.here, best.get(effort, now))
    good = [one for one in found if now - one.cost.here >= WORTHWHILE * (now - best[_effort(target, one)])]
    level = [option for option in good if not _grows(target, option)]
    return tuple(level + [one for one in good if _grows(target, one) and (not level or _aligns(one))])


def _effort(target: Subject, option: Option) -> tuple[bool, int]:
    return _grows(target, option), len(option.arrangement.moves)


def _grows(target: Subject, option: Option) -> bool:
    return option.size > target.layout.size


def _aligns(option: Option) -> bool:
    return bool(option.arrangement.aligned)


def _merits(target: Subject, option: Option) -> tuple[float, ...]:
    """What no candidate may be beaten in by another of its kind; less is better."""
    return (
        len(option.arrangement.moved),
        option.cost.here,
        option.cost.anywhere,
        option.size,
        hot_neighbours(target.heat, option.starts, option.granule),
    )


def _undominated(target: Subject, found: Sequence[Option]) -> list[Option]:
    rated = [(_kind(option), _merits(target, option), option) for option in found]
    return [
        option
        for kind, merits, option in rated
        if not any(other == kind and _beats(rival, merits) for other, rival, _ in rated)
    ]


def _kind(option: Option) -> tuple[MoveKind, ...]:
    return tuple(move.kind for move in option.arrangement.moves)


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def _varied(target: Subject, found: Sequence[Option]) -> list[Option]:
    """The best option of each kind for the same hot atoms: where a cold one goes is a detail."""
    hot = frozenset(hot_atoms(target))
    groups: dict[tuple[tuple[MoveKind, ...], frozenset[int]], list[Option]] = {}
    for option in found:
        groups.setdefault((_kind(option), hot.intersection(option.arrangement.moved)), []).append(option)
    shortlists = (nsmallest(SHORTLIST, group, key=partial(_price, target)) for group in groups.values())
    return [min(shortlist, key=partial(_rank, target)) for shortlist in shortlists]


def _price(target: Subject, option: Option) -> tuple[float, ...]:
    """The part of the rank that is quickly known, then how much the change disturbs."""
    moved = len(option.arrangement.moved)
    return _grows(target, option), moved, option.cost.here, option.cost.anywhere, _disturbed(target, option)


def _rank(target: Subject, option: Option) -> tuple[float, ...]:
    """Order of recommendation: growth, churn, cost with what is risked; then the written member moved, and not far."""
    weight = sum(contact.weight for contact in target.heat.sampled)
    risk = EXPOSED_COST * weight * round(exposure(target, option.starts, option.granule))
    return (
        _grows(target, option),
        len(option.arrangement.moved),
        option.cost.here + risk,
        option.cost.anywhere,
        hot_neighbours(target.heat, option.starts, option.granule),
        option.size,
        not _moves_writer(target, option),
        hot_lines(target.heat, option.starts, option.granule),
        adjacent_cost(target.heat, option.starts, option.granule),
        _disturbed(target, option),
    )


def _moves_writer(target: Subject, option: Option) -> bool:
    """Whether the writer of a sampled contact is among the moved."""
    writers = {contact.writer for contact in target.heat.sampled}
    owners = {target.owners[spot.member] for spot in target.heat.spots if spot.name in writers}
    return not owners.isdisjoint(option.arrangement.moved)


def _disturbed(target: Subject, option: Option) -> int:
    """How many members change their offset without being moved."""
    still = (position for position, atom in enumerate(target.owners) if atom not in option.arrangement.moved)
    return sum(1 for position in still if option.starts[position] != target.starts[position])


def candidate(finding: Finding, target: Subject, option: Option, layouts: Layouts) -> Candidate:
    """The option with its layout and all that is said of it."""
    before = layouts.by_id(target.layout.id)
    after = _after(target, option, before)
    return Candidate(
        type=target.type,
        before=before,
        after=after,
        moves=_named(target, option),
        residuals=residuals(target.heat, target.starts, option.starts, option.granule),
        predicted=prediction(target.heat, target.starts, option.starts, option.granule),
        lines=lines(after),
        constraints=tuple(str(one) for one in target.freedom.constraints if _binds(target, option, one)),
        notes=notes(finding, target, option),
        considered=_considered(target, option),
    )


def _after(target: Subject, option: Option, before: Layout) -> Layout:
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


def _named(target: Subject, option: Option) -> tuple[Move, ...]:
    """The moves; a single one that disturbs nothing has only filled a hole."""
    first, *rest = option.arrangement.moves
    still = option.size <= target.layout.size and not _disturbed(target, option)
    if not rest and first.kind is MoveKind.MOVE and still:
        return (replace(first, kind=MoveKind.FILL_HOLE),)
    return option.arrangement.moves


def _binds(target: Subject, option: Option, constraint: Constraint) -> bool:
    """Whether the constraint limits every order, or the members that move or meet."""
    if constraint.kind in (ConstraintKind.FIRST, ConstraintKind.LAST, ConstraintKind.MARKER):
        return True
    touched = {target.owners[spot.member] for spot in target.heat.spots}.union(option.arrangement.moved)
    return any(constraint.member in (target.parts[atom].name, target.parts[atom].last) for atom in touched)


def _considered(target: Subject, chosen: Option) -> tuple[Considered, ...]:
    """The other places of the member that a single move takes, as far as they lower the cost too."""
    if _kind(chosen) != (MoveKind.MOVE,):
        return ()
    start = unchanged(target)
    now = price(target, start)
    places = [price(target, one) for one in moves(target, start, chosen.arrangement.moved)]
    return tuple(
        Considered(
            option.arrangement.moves[0].after,
            option.size,
            residuals(target.heat, target.starts, option.starts, option.granule),
        )
        for option in places
        if option.cost.anywhere < now.cost.anywhere and option.starts != chosen.starts
    )
