# SPDX-License-Identifier: GPL-2.0-or-later
"""A record packed anew: the cheapest orders of its atoms by number of moves, each with a bound that no order is below.

The record becomes a problem, an item for each atom, and what is found becomes arrangements again. docs/packing.md says
which search is for what, and how often each had the best order.
"""

from __future__ import annotations

from linesmith.analyzer.model import Strategy
from linesmith.tuner.cost.turns import LineFetches
from linesmith.tuner.packing.local_search import anneal, chain, undone
from linesmith.tuner.packing.positions import Positions
from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import (
    ApartHotspots,
    Clash,
    Grid,
    Hotspot,
    Item,
    LinePrice,
    Packing,
    PackingProblem,
)
from linesmith.tuner.packing.scene import JudgedOrder, PricedProblem, SearchedOrder
from linesmith.tuner.packing.sequence import Few, Sequences
from linesmith.tuner.propose.arrangement import Arrangement, move_in
from linesmith.tuner.propose.subject import ContendedRecord

# Beginnings of orders looked at by one search: about a second for all of them.
WORK = 20_000
# So much longer an order takes whose lines are priced.
LINES = 2
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
    work = work // LINES if scene.lines_priced else work
    best = scene.judge(tuple(range(len(problem.items))))
    found = [(best, best.units)] if best else []
    # Places for hot items; where lines are priced, what the lines cost if everything fits.
    if scene.lines_priced:
        first = SearchedOrder(None, scene.lines_priced.least())
    else:
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
    """The record as a problem: an item for each atom, priced as ``tuner.cost.forecast`` does.

    Where it is known who fetches lines, those are priced, and contacts with locks that are waited for; else all
    contacts, which a recording counts.
    """
    freedom, size, turns = subject.freedom, subject.layout.size, subject.turns
    by_lines = turns is not None and not subject.heat.exact
    hotspots, clashes, line_price = _by_turns(subject, turns) if turns and by_lines else _by_contacts(subject)
    ends = [end for one in freedom.apart for end in (one.first, one.second)]
    bans = [_hotspot(subject, end.position, end.start, max(end.size, 1)) for end in ends]
    first = len(hotspots)
    # The phases in which the cost counts: those of all objects as much as those that the profile has seen. Objects of
    # another size start in others, so the size stays.
    heat, size_of_lines = subject.heat, subject.heat.line_bytes
    everywhere = heat.mix(heat.granule).phases(size_of_lines)
    here = heat.here(heat.granule).phases(size_of_lines)
    return PackingProblem(
        items=tuple(_item(subject, atom) for atom in range(len(subject.parts))),
        hotspots=(*hotspots, *bans),
        clashes=clashes,
        grids=(Grid(size_of_lines, everywhere), Grid(size_of_lines, here)),
        size_limit=size if freedom.ceiling is None else min(size, freedom.ceiling),
        alignment=subject.layout.alignment or 1,
        base=subject.base,
        size_floor=max(size, freedom.floor),
        apart=tuple(
            ApartHotspots(first + 2 * at, first + 2 * at + 1, one.line_bytes) for at, one in enumerate(freedom.apart)
        ),
        line_price=line_price,
    )


Priced = tuple[tuple[Hotspot, ...], tuple[Clash, ...], LinePrice | None]


def _by_contacts(subject: ContendedRecord) -> Priced:
    """Pairs of spots that cost something while they share a line."""
    heat = subject.heat
    numbers = {spot: number for number, spot in enumerate(heat.spots)}
    return (
        tuple(_hotspot(subject, spot.member, spot.start, spot.size) for spot in heat.spots),
        tuple(Clash(numbers[one.first], numbers[one.second], one.weight) for one in heat.contacts),
        None,
    )


def _by_turns(subject: ContendedRecord, turns: LineFetches) -> Priced:
    """Lines, priced by the uses on them."""
    inside = [(number, use.start, use.position) for number, use in enumerate(turns.uses) if use.position is not None]
    outside = [(number, use.start) for number, use in enumerate(turns.uses) if use.position is None]
    bits = [1 << number for number, *_ in (*inside, *outside)]

    def price(mask: int) -> float:
        return turns.on_line(sum(bit for at, bit in enumerate(bits) if mask >> at & 1))

    uses = tuple(_hotspot(subject, position, start, 1) for _, start, position in inside)
    # The contacts with locks that are waited for.
    waiting = [one for one in subject.heat.sampled if not subject.heat.waited_for.isdisjoint(one.names)]
    ends = [end for one in waiting for end in (one.first, one.second)]
    spots = (_hotspot(subject, spot.member, spot.start, spot.size) for spot in ends)
    first = len(uses)
    clashes = tuple(Clash(first + 2 * at, first + 2 * at + 1, one.weight) for at, one in enumerate(waiting))
    return (*uses, *spots), clashes, LinePrice(len(uses), price, tuple(byte for _, byte in outside))


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
