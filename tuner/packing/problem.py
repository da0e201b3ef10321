# SPDX-License-Identifier: GPL-2.0-or-later
"""What is packed: items in an order, placed by C's rules, with a price for spots that share a line.

An order is legal when items stay in their segments, pinned ones at their byte, some apart, and the record within its
limits. Nothing here knows of profiles, DWARF or kernels. ``Placer`` places items one behind the other, and ``moved``
says how much an order differs from the present one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import lcm

from linesmith.analyzer.layouts.placement import BYTE, MemberShape, bit_field_start, round_up
from linesmith.analyzer.model import Optimality


@dataclass(frozen=True, slots=True)
class Item:
    """Members that move as one, by shape; items of one ``segment`` may change places among themselves only.

    ``pinned`` is the byte of the record at which the item must begin, ``latest`` the last at which it may. Items that
    are not ``movable`` keep their order among themselves.
    """

    shapes: tuple[MemberShape, ...]
    segment: int = 0
    pinned: int | None = None
    movable: bool = True
    latest: int | None = None


@dataclass(frozen=True, slots=True)
class Hotspot:
    """``size`` bytes from byte ``start`` of member number ``member`` of item number ``item``."""

    item: int
    member: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Clash:
    """Two hotspots, by number, that cost ``weight``, which is not negative, while they are on one line."""

    first: int
    second: int
    weight: float


@dataclass(frozen=True, slots=True)
class Grid:
    """Lines of ``line_bytes`` over objects that start at ``phases`` (byte, share of the objects).

    A clash costs its weight times the share of the phases in which its hotspots meet.
    """

    line_bytes: int
    phases: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class ApartHotspots:
    """Two hotspots, by number, that must not meet on a line of ``line_bytes``, counted from the record's first byte."""

    first: int
    second: int
    line_bytes: int


@dataclass(frozen=True, slots=True)
class PackingProblem:
    """Items in their present order, numbered from 0 in segments that never decrease.

    ``alignment`` is the record's own in bytes, ``size_limit`` and ``size_floor`` the most and the least bytes it may
    have, ``base`` the byte of the object at which it begins.
    """

    items: tuple[Item, ...]
    hotspots: tuple[Hotspot, ...]
    clashes: tuple[Clash, ...]
    grids: tuple[Grid, ...]
    size_limit: int
    alignment: int = 1
    base: int = 0
    size_floor: int = 0
    apart: tuple[ApartHotspots, ...] = ()


@dataclass(frozen=True, slots=True)
class Packing:
    """An order of the items with its cost, and a bound that no legal order is below.

    ``moved`` are the fewest items that, taken out and put elsewhere, give this order.
    """

    order: tuple[int, ...]
    moved: tuple[int, ...]
    optimality: Optimality


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """What placing an item adds, in bits from the end before it: the new ``end``, and where its members begin."""

    end: int
    starts: tuple[int, ...]


class Placer:
    """Places items of one problem, one behind the other.

    All alignments are powers of two, so what an item adds depends on the end before it modulo the largest one.
    """

    def __init__(self, problem: PackingProblem) -> None:
        shapes = [shape for item in problem.items for shape in item.shapes]
        steps = [step for shape in shapes for step in (shape.alignment, shape.forced)]
        alignment = lcm(problem.alignment * BYTE, *steps)
        self._items = problem.items
        self.modulus = lcm(alignment, BYTE)
        self.limit = problem.size_limit * BYTE // alignment * alignment
        self._alignment = alignment
        self._known: list[dict[int, PlacedItem]] = [{} for _ in problem.items]
        self.least = tuple(sum(s.size if s.width is None else s.width for s in item.shapes) for item in problem.items)

    def step(self, item: int, end: int) -> PlacedItem:
        """``item`` placed behind ``end`` bits."""
        residue = end % self.modulus
        known = self._known[item].get(residue)
        if known is not None:
            return known
        end = residue
        starts: list[int] = []
        for shape in self._items[item].shapes:
            if shape.width is None:
                start = round_up(end, shape.alignment)
                end = start + shape.size
            else:
                start = bit_field_start(shape, end)
                end = start + shape.width
            starts.append(start - residue)
        found = self._known[item][residue] = PlacedItem(end - residue, tuple(starts))
        return found

    def size(self, end: int) -> int:
        """Bytes of a record whose last bit is before ``end``."""
        return round_up(end, self._alignment) // BYTE


def moved(order: Sequence[int], fixed: Collection[int] = ()) -> tuple[int, ...]:
    """The fewest items to take out and put elsewhere so that the present order becomes this one, in the new order.

    Items of ``fixed`` stay; among themselves they are in their present order.
    """
    places = {item: place for place, item in enumerate(order)}
    agreeing = [
        item
        for item in order
        if all((item < other) == (places[item] < places[other]) for other in fixed if other != item)
    ]
    still = _longest_rise(agreeing)
    return tuple(item for item in order if item not in still)


def _longest_rise(items: Sequence[int]) -> frozenset[int]:
    """A longest increasing subsequence (Fredman 1975, by patience sorting)."""
    tops: list[int] = []
    heads: list[int] = []
    before: list[int | None] = []
    for place, item in enumerate(items):
        pile = bisect_left(tops, item)
        before.append(heads[pile - 1] if pile else None)
        tops[pile : pile + 1] = [item]
        heads[pile : pile + 1] = [place]
    found: set[int] = set()
    at = heads[-1] if heads else None
    while at is not None:
        found.add(items[at])
        at = before[at]
    return frozenset(found)
