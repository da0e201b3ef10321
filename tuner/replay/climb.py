# SPDX-License-Identifier: GPL-2.0-or-later
"""A search by the judge: the layout that replay likes best is changed further, one step at a time.

A step moves one atom, lets two change places or begins a line with one. Of all such steps those count that differ in
who shares a line with whom. What they should leave is estimated from the misses of the layout so far, by pairs of
atoms, and only orders what is replayed, on a part of the runs. The next step starts from the best, without a trace
from the best three that move other atoms. None may take more memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import combinations
from operator import itemgetter

from linesmith.analyzer.base.errors import NotSimulated
from linesmith.analyzer.model import Layout, Move, MoveKind, Strategy
from linesmith.tuner.propose.arrangement import (
    Arrangement,
    Option,
    aligned,
    fits,
    move_in,
    moves,
    price,
    prices,
    staying_atoms,
    swaps,
    unchanged,
)
from linesmith.tuner.propose.candidates import after
from linesmith.tuner.propose.subject import ContendedRecord
from linesmith.tuner.propose.tradeoff import EXPOSED_COST, exposures, heavier, left
from linesmith.tuner.replay.runs import RecordRuns, ReplayedLayout

# Layouts that the next step starts from, where the runs are reconstructed.
WAYS = 3
# Steps that one change is made of, and atoms that each tries to place, those with most misses.
MOST_STEPS = 6
MOST_PLACED = 8
# Arrangements that a step looks at; of a large record, whose atoms have many places, some from front to back.
MOST_PLACES = 1500
# Atoms whose lines tell layouts apart.
MOST_TOLD_APART = 24
# Layouts that a step replays, those with the best outlook.
MOST_REPLAYED = 64
# Options that share lines alike, of which the one that exposes least is replayed.
MOST_ALIKE = 12
# What two atoms that do not share a line should cost each other when they do, of the misses that the cooler one had.
CHANCE = 0.25
# A step goes on only if it saves this share of the misses that there were at first.
LEAST_STEP = 0.01
# Phases in which lines are distinguished, where objects begin at any multiple of their alignment.
PHASES = (0, 16, 32, 48)

# Misses of two atoms by each other's stores, and of an atom by its own.
Sharing = Mapping[frozenset[int], float]
# Which of the atoms share a line, in each of the phases.
Neighbours = tuple[tuple[tuple[int, ...], ...], ...]


def climbed(target: ContendedRecord, runs: RecordRuns, before: Layout) -> tuple[Option, ...]:
    """The best layout after each step, the first of one step; ``before`` is the record as it is declared."""
    start = _Footing(price(target, unchanged(target)), {}, runs.sketched_total({}), {})
    footings, found = [start], list[Option]()
    while len(found) < MOST_STEPS:
        less: list[_Footing] = []
        for here in footings:
            wanted = here.total - LEAST_STEP * start.total
            less += [one for one in _next(target, runs, before, here) if one.total <= wanted]
        if not less:
            break
        risks = _risks(target, runs, start, less)
        ranked = [one for _, one in sorted(zip(risks, less, strict=True), key=itemgetter(0))]
        # A trace is the run itself; of runs that may have been it, the second best step is often the better one.
        by_moved: dict[frozenset[int], _Footing] = {}
        for one in ranked:
            by_moved.setdefault(frozenset(one.option.arrangement.moved), one)
        footings = [*by_moved.values()][: 1 if runs.complete else WAYS]
        best = ranked[0].option
        found.append(replace(best, arrangement=_in_few_moves(target, best.arrangement)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Footing:
    """A layout that was replayed: what the record is ``after``, by its id, and how many misses it has then.

    ``most`` are the most misses by others that each atom had under any of the layouts on the way to it.
    """

    option: Option
    after: Mapping[int, Layout]
    total: float
    most: Mapping[int, float]


def _next(target: ContendedRecord, runs: RecordRuns, before: Layout, here: _Footing) -> Iterator[_Footing]:
    """The layouts one step from ``here``, replayed."""
    sharing = _sharing(target, runs, runs.sketch(here.after))
    parted: dict[int, float] = {}
    for pair, count in sharing.items():
        for atom in pair if len(pair) > 1 else ():
            parted[atom] = parted.get(atom, 0.0) + count
    most = {atom: max(parted.get(atom, 0.0), here.most.get(atom, 0.0)) for atom in {**here.most, **parted}}
    for option in _steps(target, here, sharing, parted, most) if parted else ():
        try:
            laid_out = {before.id: after(target, option, before)}
            yield _Footing(option, laid_out, runs.sketched_total(laid_out), most)
        except NotSimulated:
            continue


def _risks(target: ContendedRecord, runs: RecordRuns, start: _Footing, less: Sequence[_Footing]) -> list[float]:
    """Misses of each layout, without a trace with those that members may have that newly meet a writer."""
    totals = [one.total for one in less]
    if runs.complete:
        return totals
    each = EXPOSED_COST * (start.total - min(totals))
    risks = exposures(target, [one.option for one in less])
    return [total + each * risk for total, risk in zip(totals, risks, strict=True)]


def _sharing(target: ContendedRecord, runs: RecordRuns, replayed: ReplayedLayout) -> Sharing:
    """The misses under a layout by the atoms that have a part in them."""
    found = defaultdict[frozenset[int], float](float)
    atoms: dict[tuple[int, int], int | None] = {}
    base = target.base if runs.here.record.id == target.layout.id else 0
    for (victim, writer, _), count in replayed.pairs.items():
        for place in (victim, writer):
            if place not in atoms:
                atoms[place] = _atom_at(target, base, runs.here.within(*place))
        ends = atoms[victim], atoms[writer]
        if ends[0] is not None and ends[1] is not None:
            found[frozenset((ends[0], ends[1]))] += count
    return found


def _atom_at(target: ContendedRecord, base: int, offset: int | None) -> int | None:
    """The atom with the byte ``offset`` from ``base``."""
    if offset is None:
        return None
    offset += base
    for start, member, atom in zip(target.starts, target.layout.members, target.owners, strict=True):
        if start <= offset < start + max(member.size, 1):
            return atom
    return None


def _steps(
    target: ContendedRecord, here: _Footing, sharing: Sharing, parted: Mapping[int, float], most: Mapping[int, float]
) -> list[Option]:
    """The steps from ``here`` that are worth a replay, one for each way to share lines.

    ``parted`` are the misses of each atom by others, ``most`` the most that it had under any of the layouts so far.
    """
    hot = sorted(most, key=lambda atom: (-parted.get(atom, 0.0), -most[atom], atom))[:MOST_TOLD_APART]
    now, whole = _neighbours(target, here.option, hot), sum(parted.values()) / 2
    alike: dict[tuple[Neighbours, int], list[Option]] = {}
    made = list(_arrangements(target, here.option.arrangement, hot[:MOST_PLACED]))
    for option in prices(target, made[:: -(-len(made) // MOST_PLACES) or 1]):
        key = _neighbours(target, option, hot), option.size
        level = fits(target, option) and heavier(target, option) <= 0
        if level and key != (now, here.option.size):
            alike.setdefault(key, []).append(option)

    def outlook(key: tuple[Neighbours, int]) -> float:
        """What should be left, as a share of what there is: by the replay so far, and by the samples."""
        return _outlook(key[0], now, sharing, most) / whole + left(alike[key][0].cost) / left(target.now)

    promising = [alike[key] for key in nsmallest(MOST_REPLAYED, alike, key=outlook)]
    # Of options that share lines alike the one that exposes least; of many, some from front to back are looked at.
    some = [options[:: -(-len(options) // MOST_ALIKE)] for options in promising]
    return [min(zip(exposures(target, ones), ones, strict=True), key=itemgetter(0))[1] for ones in some]


def _arrangements(target: ContendedRecord, start: Arrangement, atoms: Sequence[int]) -> Iterator[Arrangement]:
    for atom in atoms:
        yield from moves(target, start, [atom])
        yield from swaps(target, start, [atom])
        if target.may_resize and (begun := aligned(target, start, atom)) is not None:
            yield begun


def _neighbours(target: ContendedRecord, option: Option, hot: Sequence[int]) -> Neighbours:
    """Which of the ``hot`` atoms lie on each line that holds several."""
    ends = []
    for atom in hot:
        last = target.positions[atom][-1]
        ends.append((option.starts[target.positions[atom][0]], option.starts[last] + target.layout.members[last].size))
    size, found = target.heat.line_bytes, []
    for phase in PHASES if target.heat.granule < size and option.granule < size else (0,):
        lines: dict[int, list[int]] = {}
        for atom, (start, end) in zip(hot, ends, strict=True):
            for line in range((start + phase) // size, (max(end, start + 1) - 1 + phase) // size + 1):
                lines.setdefault(line, []).append(atom)
        found.append(tuple(sorted(tuple(one) for one in lines.values() if len(one) > 1)))
    return tuple(found)


def _outlook(then: Neighbours, now: Neighbours, sharing: Sharing, most: Mapping[int, float]) -> float:
    """Misses that should be left: of pairs that share a line in as many phases, and of pairs that newly do."""
    stays = 0.0
    for lines, old in zip(then, now, strict=False):
        known = {pair for line in old for pair in combinations(line, 2)}
        for pair in {pair for line in lines for pair in combinations(line, 2)}:
            if pair in known:
                stays += sharing.get(frozenset(pair), 0.0)
            else:
                stays += CHANCE * min(most[pair[0]], most[pair[1]])
    return stays / len(then)


def _in_few_moves(target: ContendedRecord, made: Arrangement) -> Arrangement:
    """The same order and alignments by as few moves as give them, however it was reached."""
    if len(made.moves) < 2:
        return made
    stay = [atom for atom, part in enumerate(target.parts) if not part.name or atom in target.freedom.pinned]
    staying = staying_atoms(made.order, [1] * len(made.order), stay)
    atoms = [atom for atom in made.order if atom not in staying]
    done = [move_in(target, atom, made.order) for atom in atoms]
    if any(one.after == "" for one in done):
        return made  # behind a member without a name, which no patch can say
    begun = [
        Move(MoveKind.ALIGN, target.parts[atom].members[0].name, align=align) for atom, align in made.aligned.items()
    ]
    several = Strategy.SEVERAL if len(done) + len(begun) > 1 else None
    changed = tuple(dict.fromkeys((*atoms, *made.aligned)))
    return replace(made, moves=(*done, *begun), moved=changed, purpose=several)
