# SPDX-License-Identifier: GPL-2.0-or-later
"""The best packing that can be found and proven with a given amount of work."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.tuner.packing.anneal import anneal
from linesmith.tuner.packing.chain import chain, undone
from linesmith.tuner.packing.cpsat import place_hot
from linesmith.tuner.packing.positions import Positions
from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import Packing, Problem
from linesmith.tuner.packing.scene import Judged, Scene
from linesmith.tuner.packing.sequence import Few, Sequences

# Of so few moves the best are sought among all orders that so many moves make.
FEW_MOVES = 3
# Up to so many items each may be one of several that move; of more, the hot ones.
FEW_ITEMS = 12
# Beginnings of orders looked at by one search: about half a second.
WORK = 50_000


# Up to so many items all orders are looked at.
SMALL = 14
# So much more work is done for them, since it proves what it finds.
SMALL_WORK = 4
# So much longer an order takes whose lines are priced.
LINES = 2
# More units than any legal order has.
NOTHING_KNOWN = 2 * UNITS


@dataclass(frozen=True, slots=True)
class _Answer:
    best: Judged | None
    bound: int


def solve(problem: Problem, work: int = WORK) -> Packing:
    """The cheapest order; ties go to the smaller record, fewer moved items, then fewer lines of hotspots.

    ``work`` limits the orders that are begun. The same problem and work give the same answer. Raises ``ValueError``
    where no legal order was found.
    """
    return front(problem, work)[-1]


def front(problem: Problem, work: int = WORK) -> tuple[Packing, ...]:
    """The cheapest order for each number of moves that is worth one more, fewest moves first; costs fall.

    The first is the present order, if it is legal. The bound of each is of orders with no more moves, that of the last
    of all orders. Raises ``ValueError`` where no legal order was found.
    """
    scene = Scene(problem)
    work = work // LINES if scene.companies else work
    best = scene.judge(tuple(range(len(problem.items))))
    found = [scene.packing(best, best.units)] if best else []
    first = _by_places(scene, work, best)
    bound = first.bound
    for moves in range(1, FEW_MOVES + 1):
        few = Sequences(scene, work, _known(best), _few(scene, moves)).run() if _known(best) > bound else None
        if few and few.best:
            best = few.best
            found.append(scene.packing(best, max(few.bound, bound)))
    for step in (
        chain(scene, best, round(found[0].cost / scene.unit), work // 5) if best and _known(best) > bound else ()
    ):
        best = step
        found.append(scene.packing(best, bound))
    whole = _whole(scene, work, first if first.best and first.best.units < _known(best) else _Answer(best, bound))
    if whole.best and whole.best.units < _known(best):
        found.append(scene.packing(undone(scene, whole.best), whole.bound))
    if not found:
        raise ValueError("no legal order was found")
    return (*found[:-1], scene.with_bound(found[-1], whole.bound))


def _known(best: Judged | None) -> int:
    return best.units if best else NOTHING_KNOWN


def _whole(scene: Scene, work: int, known: _Answer) -> _Answer:
    """The cheapest of all orders, what is known if no better one is found, and a bound for all."""
    best, bound = known.best, known.bound
    for way in (_by_annealing, _by_sequences, _by_cpsat):
        if bound < _known(best):
            found = way(scene, work, _Answer(best, bound))
            best, bound = found.best or best, max(bound, found.bound)
    return _Answer(best, bound)


def _by_places(scene: Scene, work: int, best: Judged | None) -> _Answer:
    """Places for hot items; where lines are priced, what the lines cost if everything fits."""
    if scene.companies:
        return _Answer(None, scene.companies.least())
    found = Positions(scene, work // 5, _known(best)).run()
    return _Answer(found.best, found.bound)


def _by_annealing(scene: Scene, work: int, known: _Answer) -> _Answer:
    return _Answer(anneal(scene, known.best, work // 5, known.bound) if known.best else None, 0)


def _by_sequences(scene: Scene, work: int, known: _Answer) -> _Answer:
    """Every order of few items."""
    if len(scene.problem.items) > SMALL:
        return _Answer(None, 0)
    found = Sequences(scene, work * SMALL_WORK, _known(known.best)).run()
    return _Answer(found.best, found.bound)


def _by_cpsat(scene: Scene, work: int, known: _Answer) -> _Answer:
    """Places once more, by a library that may be absent and takes seconds: where more work is asked for than usual."""
    if work <= WORK or scene.companies:
        return _Answer(None, 0)
    found = place_hot(scene, _known(known.best), work / WORK)
    return _Answer(found.best, found.bound) if found else _Answer(None, 0)


def _few(scene: Scene, moves: int) -> Few:
    """So many moves; in a long record several at once are those of hot items."""
    movable = [number for number, item in enumerate(scene.problem.items) if item.movable]
    if moves > 1 and len(movable) > FEW_ITEMS:
        movable = [number for number in movable if number in scene.hot]
    return Few(moves, frozenset(movable))
