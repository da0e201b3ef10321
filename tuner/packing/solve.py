# SPDX-License-Identifier: GPL-2.0-or-later
"""The best packing that can be found and proven with a given amount of work."""

from __future__ import annotations

from dataclasses import replace

from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import Packing, Problem
from linesmith.tuner.packing.scene import Scene
from linesmith.tuner.packing.sequence import Sequences

# Of so few moves the best are sought among all orders that so many moves make.
FEW_MOVES = 3
# Up to so many items each may be one of several that move; of more, the hot ones.
FEW_ITEMS = 12
# Orders begun: about a second of Python's time.
WORK = 100_000


def solve(problem: Problem, work: int = WORK) -> Packing:
    """The cheapest order; ties go to the smaller record, fewer moved items, then fewer lines of hotspots.

    ``work`` limits how many orders are begun. The same problem and work give the same answer.
    """
    return front(problem, work)[-1]


def front(problem: Problem, work: int = WORK) -> tuple[Packing, ...]:
    """The cheapest order for each number of moves that is worth one more, fewest moves first.

    The first is the present order, if it is legal. Costs fall from one to the next. The bound of the last is of all
    orders, that of the others of orders with no more moves. Raises ``ValueError`` where no legal order was found.
    """
    best: list[Packing] = []
    for moves in (0, *range(1, FEW_MOVES + 1), None):
        if best and best[-1].cost == 0:
            break
        found = _best(Scene(_with_moves(problem, moves)), best[-1] if best else None, work)
        if found and (not best or found.cost < best[-1].cost):
            best.append(found)
        elif found and moves is None:
            best[-1] = replace(best[-1], bound=found.bound, proven=found.proven)
    if not best:
        raise ValueError("no legal order was found")
    return tuple(best)


def _with_moves(problem: Problem, moves: int | None) -> Problem:
    """The problem with so many moves; of a long record, where there are several, only hot items are moved."""
    if moves is None or moves < 2 or len(problem.items) <= FEW_ITEMS:
        return replace(problem, moves=moves)
    hot = {problem.hotspots[number].item for clash in problem.clashes for number in (clash.first, clash.second)}
    items = tuple(replace(item, movable=item.movable and number in hot) for number, item in enumerate(problem.items))
    return replace(problem, items=items, moves=moves)


def _best(scene: Scene, known: Packing | None, work: int) -> Packing | None:
    """The cheapest order within the scene's moves, ``known`` if none is cheaper."""
    before = scene.judge(known.order) if known else None
    found = Sequences(scene, work, before.units if before else UNITS).run()
    answers = [*found.best, *([before] if before else [])]
    best = min(answers, key=lambda one: one.units, default=None)
    return scene.packing(best, found.bound, found.steps) if best else None
