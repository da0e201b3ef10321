# SPDX-License-Identifier: GPL-2.0-or-later
"""A record packed anew: the cheapest orders of its atoms by number of moves, each with a bound that no order is below.

The record becomes a problem, an item for each atom, and what is found becomes arrangements again. docs/packing.md says
which search is for what, and how often each had the best order.
"""

from __future__ import annotations

from linesmith.analyzer.model import Strategy
from linesmith.tuner.packing.local_search import anneal, chain, undone
from linesmith.tuner.packing.positions import Positions
from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import (
    ApartHotspots,
    Clash,
    Grid,
    Hotspot,
    Item,
    Packing,
    PackingProblem,
)
from linesmith.tuner.packing.scene import JudgedOrder, PricedProblem, SearchedOrder
from linesmith.tuner.packing.sequence import Few, Sequences
from linesmith.tuner.propose.arrangement import Arrangement, move_in
from linesmith.tuner.propose.subject import ContendedRecord

# Beginnings of orders looked at by one search: about a second for all of them.
WORK = 20_000
# Of so few moves the best are sought among all orders that so many moves make.
FEW_MOVES = 3
# Up to so many items each may be one of several that move; of more, the hot ones.
FEW_ITEMS = 12
# Up to so many items all orders are looked at.
SMALL = 14
# So much more work is done for them, since it proves what it finds.
SMALL_WORK = 4
# More units than any legal order has.
NOTHING_KNOWN = 2 * UNITS
# Nobody reviews more moves than these; what more could save is in the bound.
MOST_MOVES = 12
# Prices are tables by distance, so members that must be apart and are longer than this are left to other searches.
MOST_SPOT_BYTES = 512


def packed(subject: ContendedRecord, work: int = WORK) -> tuple[Arrangement, ...]:
    """The cheapest orders by number of moved atoms, fewest first; none where the present one is best or none is legal.

    ``work`` limits the orders that are begun for each of the answers.
    """
    problem = _problem_of(subject)
    if max((one.size for one in problem.hotspots), default=0) > MOST_SPOT_BYTES:
        return ()
    if problem.size_limit < subject.layout.size:
        return ()
    try:
        found = front(problem, work)
    except ValueError:
        return ()
    return tuple(_arrangement(subject, one) for one in found if 0 < len(one.moved) <= MOST_MOVES)


def front(problem: PackingProblem, work: int = WORK) -> tuple[Packing, ...]:
    """The cheapest order for each number of moves that is worth one more, fewest moves first; costs fall.

    The first is the present order, if it is legal. The bound of each is of orders with no more moves, that of the last
    of all orders; of orders of one cost the smaller record is taken, then fewer moved items, then fewer lines of
    hotspots. The same problem and work give the same answer. Raises ``ValueError`` where no legal order was found.
    """
    scene = PricedProblem(problem)
    best = scene.judge(tuple(range(len(problem.items))))
    found = [(best, best.units)] if best else []
    first = Positions(scene, work // 5, _units(best)).run()
    bound = first.bound
    for moves in range(1, FEW_MOVES + 1):
        if _units(best) > bound:
            few = Sequences(scene, work, _units(best), _few(scene, moves)).run()
            if few.best:
                best = few.best
                found.append((best, max(few.bound, bound)))
    if best and best.units > bound:
        for step in chain(scene, best, found[0][0].units, work // 5):
            best = step
            found.append((best, bound))
    whole = _all_orders(scene, work, first if _units(first.best) < _units(best) else SearchedOrder(best, bound))
    if whole.best and whole.best.units < _units(best):
        found.append((undone(scene, whole.best), whole.bound))
    if not found:
        raise ValueError("no legal order was found")
    return tuple(scene.packing(one, bound) for one, bound in (*found[:-1], (found[-1][0], whole.bound)))


def _units(best: JudgedOrder | None) -> int:
    return best.units if best else NOTHING_KNOWN


def _few(scene: PricedProblem, moves: int) -> Few:
    """So many moves; in a long record several at once are those of hot items."""
    movable = [number for number, item in enumerate(scene.problem.items) if item.movable]
    if moves > 1 and len(movable) > FEW_ITEMS:
        movable = [number for number in movable if number in scene.hot]
    return Few(moves, frozenset(movable))


def _all_orders(scene: PricedProblem, work: int, known: SearchedOrder) -> SearchedOrder:
    """The cheapest of all orders, what is known if no better one is found, and a bound for all."""
    best, bound = known.best, known.bound
    if best and bound < best.units:
        best = anneal(scene, best, work // 5, bound)
    if bound < _units(best) and len(scene.problem.items) <= SMALL:
        every = Sequences(scene, work * SMALL_WORK, _units(best)).run()
        best, bound = every.best or best, max(bound, every.bound)
    return SearchedOrder(best, bound)


def _problem_of(subject: ContendedRecord) -> PackingProblem:
    """The record as a problem: an item for each atom, and a clash for each contact."""
    freedom, size = subject.freedom, subject.layout.size
    ends = [end for one in freedom.apart for end in (one.first, one.second)]
    bans = [_hotspot(subject, end.position, end.start, max(end.size, 1)) for end in ends]
    spots = subject.heat.spots
    first, numbers = len(spots), {spot: number for number, spot in enumerate(spots)}
    # The phases in which the cost counts: those of all objects as much as those that the profile has seen. Objects of
    # another size start in others, so the size stays.
    heat, size_of_lines = subject.heat, subject.heat.line_bytes
    everywhere = heat.mix(heat.granule).phases(size_of_lines)
    here = heat.here(heat.granule).phases(size_of_lines)
    return PackingProblem(
        items=tuple(_item(subject, atom) for atom in range(len(subject.parts))),
        hotspots=(*(_hotspot(subject, spot.member, spot.start, spot.size) for spot in spots), *bans),
        clashes=tuple(Clash(numbers[one.first], numbers[one.second], one.weight) for one in heat.contacts),
        grids=(Grid(size_of_lines, everywhere), Grid(size_of_lines, here)),
        size_limit=size if freedom.ceiling is None else min(size, freedom.ceiling),
        alignment=subject.layout.alignment or 1,
        base=subject.base,
        size_floor=max(size, freedom.floor),
        apart=tuple(
            ApartHotspots(first + 2 * at, first + 2 * at + 1, one.line_bytes) for at, one in enumerate(freedom.apart)
        ),
    )


def _item(subject: ContendedRecord, atom: int) -> Item:
    freedom, first = subject.freedom, subject.positions[atom][0]
    within = {position: subject.starts[position] - subject.starts[first] for position in subject.positions[atom]}
    latest = [
        one.bytes - 1 - subject.base - one.start - within[one.position]
        for one in freedom.below
        if one.position in within
    ]
    return Item(
        subject.shapes[atom],
        freedom.segments[atom],
        freedom.pinned.get(atom),
        movable=bool(subject.parts[atom].name),
        latest=min(latest, default=None),
    )


def _hotspot(subject: ContendedRecord, position: int, start: int, size: int) -> Hotspot:
    atom = subject.owners[position]
    return Hotspot(atom, subject.positions[atom].index(position), start, size)


def _arrangement(subject: ContendedRecord, packing: Packing) -> Arrangement:
    moves = tuple(move_in(subject, item, packing.order) for item in packing.moved)
    purpose = Strategy.PACKED if len(moves) > 1 else None
    return Arrangement(packing.order, {}, moves, packing.moved, purpose, packing.optimality)
