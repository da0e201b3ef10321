# SPDX-License-Identifier: GPL-2.0-or-later
"""The best packing that can be found and proven with a given amount of work."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linesmith.analyzer.model import Move, MoveKind, Optimality
from linesmith.tuner.constraints.freedom import Stretch
from linesmith.tuner.cost.turns import LineFetches
from linesmith.tuner.packing.cpsat import place_hot
from linesmith.tuner.packing.local_search import anneal, chain, undone
from linesmith.tuner.packing.positions import Positions
from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import Apart, Clash, Company, Grid, Hotspot, Item, Packing, Problem
from linesmith.tuner.packing.scene import Judged, Scene
from linesmith.tuner.packing.sequence import Few, Sequences
from linesmith.tuner.propose.arrangement import Arrangement
from linesmith.tuner.propose.subject import ContendedRecord

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


# A record packed anew: from a subject to a problem, and from its packings back to arrangements.

# Nobody reviews more moves than these; what more could save is in the bound.
MOST_MOVES = 12

# Prices are tables by distance, so members that must be apart and are longer than this are left to other searches.
MOST_SPOT_BYTES = 512


@dataclass(frozen=True, slots=True)
class Packed:
    """An order of a subject's atoms, and how good it is among those with no more moves (all, if it is the last)."""

    arrangement: Arrangement
    optimality: Optimality


def packed(subject: ContendedRecord, growth: int = 0, work: int = WORK) -> tuple[Packed, ...]:
    """The cheapest orders by number of moved atoms, fewest first; none where the present one is best or none is legal.

    The record grows by ``growth`` bytes, or less as far as its objects then start in the same phases. ``work`` limits
    the orders that are begun for each of the answers.
    """
    problem = problem_of(subject, growth)
    if max((one.size for one in problem.hotspots), default=0) > MOST_SPOT_BYTES:
        return ()
    if growth < 0 or problem.size_limit < subject.layout.size + growth:
        return ()
    try:
        found = front(problem, work)
    except ValueError:
        return ()
    return tuple(
        Packed(_arrangement(subject, one), Optimality(one.cost, one.bound, one.proven))
        for one in found
        if 0 < len(one.moved) <= MOST_MOVES
    )


def problem_of(subject: ContendedRecord, growth: int = 0) -> Problem:
    """The subject as a problem: an item for each atom, priced as ``tuner.cost.forecast`` does.

    Where it is known who fetches lines, those are priced, and contacts with locks that are waited for; else all
    contacts, which a recording counts.
    """
    freedom, size, turns = subject.freedom, subject.layout.size + growth, subject.turns
    told = turns is not None and not subject.heat.exact
    hotspots, clashes, company = _by_turns(subject, turns) if turns and told else _by_contacts(subject)
    bans = [_ban(subject, stretch) for one in freedom.apart for stretch in (one.first, one.second)]
    first = len(hotspots)
    return Problem(
        items=tuple(_item(subject, atom) for atom in range(len(subject.parts))),
        hotspots=(*hotspots, *bans),
        clashes=clashes,
        grids=_grids(subject, growth),
        size_limit=size if freedom.ceiling is None else min(size, freedom.ceiling),
        alignment=subject.layout.alignment or 1,
        base=subject.base,
        size_floor=max(_least_size(subject, size), freedom.floor),
        apart=tuple(Apart(first + 2 * at, first + 2 * at + 1, one.line_bytes) for at, one in enumerate(freedom.apart)),
        company=company,
    )


Priced = tuple[tuple[Hotspot, ...], tuple[Clash, ...], Company | None]


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
    spots, clashes = _held(subject, len(uses))
    return (*uses, *spots), clashes, Company(len(uses), price, tuple(byte for _, byte in outside))


def _held(subject: ContendedRecord, first: int) -> tuple[tuple[Hotspot, ...], tuple[Clash, ...]]:
    """The contacts with locks that are waited for; their spots are numbered from ``first`` on."""
    heat = subject.heat
    held = [one for one in heat.sampled if not heat.waited_for.isdisjoint(one.names)]
    ends = [end for one in held for end in (one.first, one.second)]
    clashes = (Clash(first + 2 * at, first + 2 * at + 1, one.weight) for at, one in enumerate(held))
    return tuple(_hotspot(subject, spot.member, spot.start, spot.size) for spot in ends), tuple(clashes)


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


def _ban(subject: ContendedRecord, stretch: Stretch) -> Hotspot:
    return _hotspot(subject, stretch.position, stretch.start, max(stretch.size, 1))


def _hotspot(subject: ContendedRecord, position: int, start: int, size: int) -> Hotspot:
    atom = subject.owners[position]
    return Hotspot(atom, subject.positions[atom].index(position), start, size)


def _grids(subject: ContendedRecord, growth: int) -> tuple[Grid, ...]:
    """The phases in which the cost counts: those of all objects as much as those that the profile has seen.

    Those of objects of another size are not known: what they cost changes as much as what all objects cost.
    """
    heat, now = subject.heat, subject.now
    line_bytes = heat.line_bytes
    anywhere = Grid(line_bytes, heat.mix(heat.granule, growth).phases(line_bytes))
    if growth and now.anywhere:
        return (replace(anywhere, weight=1 + now.here / now.anywhere),)
    return (anywhere, Grid(line_bytes, heat.here(heat.granule, growth).phases(line_bytes)))


def _least_size(subject: ContendedRecord, size: int) -> int:
    """The smallest size in bytes, up to ``size``, from which on objects start in the same phases as at ``size``."""
    step, here = max(subject.layout.natural_alignment, subject.layout.alignment or 1), subject.layout.size
    wanted = _grids(subject, size - here)
    least = sum(member.size for member in subject.layout.members if not member.is_bit_field)
    while size - step >= least and _grids(subject, size - step - here) == wanted:
        size -= step
    return size if size - step >= least else 0


def _arrangement(subject: ContendedRecord, packing: Packing) -> Arrangement:
    moves = []
    for item in packing.moved:
        place = packing.order.index(item)
        part = subject.parts[item]
        after = subject.parts[packing.order[place - 1]].last if place else None
        together = tuple(member.name for member in part.members) if len(part.members) > 1 else ()
        moves.append(Move(MoveKind.MOVE, part.name, after=after, members=together))
    return Arrangement(packing.order, moves=tuple(moves), moved=packing.moved)
