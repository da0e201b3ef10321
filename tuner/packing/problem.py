# SPDX-License-Identifier: GPL-2.0-or-later
"""What is packed: items in an order, placed by C's rules, with a price for spots that share a line.

An order is legal when items stay in their segments, pinned ones at their byte, some apart, and the record within its
limits. Nothing here knows of profiles, DWARF or kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linesmith.analyzer.geometry.placement import Shape


@dataclass(frozen=True, slots=True)
class Item:
    """Members that move as one, by shape; items of one ``segment`` may change places among themselves only.

    ``pinned`` is the byte of the record at which the item must begin, ``latest`` the last at which it may. Items that
    are not ``movable`` keep their order among themselves.
    """

    shapes: tuple[Shape, ...]
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
    """Two hotspots, by number, that cost ``weight`` while they are on one line; what is below 0 is saved there."""

    first: int
    second: int
    weight: float


@dataclass(frozen=True, slots=True)
class Grid:
    """Lines of ``line_bytes`` over objects that start at ``phases`` (byte, share of the objects).

    A clash costs ``weight`` times its own weight times the share of the phases in which its hotspots meet.
    """

    line_bytes: int
    phases: tuple[tuple[int, float], ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Apart:
    """Two hotspots, by number, that must not meet on a line of ``line_bytes``, counted from the record's first byte."""

    first: int
    second: int
    line_bytes: int


@dataclass(frozen=True, slots=True)
class Company:
    """The first ``count`` hotspots, and others at bytes ``fixed`` of the object, cost what each line of them costs.

    ``price`` is of a set of them (a bit each, the fixed ones last) that share a line. One more never makes it less.
    Hotspots that are priced so are one byte each.
    """

    count: int
    price: Callable[[int], float]
    fixed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
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
    apart: tuple[Apart, ...] = ()
    company: Company | None = None


@dataclass(frozen=True, slots=True)
class Packing:
    """An order of the items with its cost, and a bound that no legal order is below.

    ``size`` is in bytes; ``moved`` are the fewest items that, taken out and put elsewhere, give this order.
    ``lines`` is how many lines hold hotspots, on average. ``proven`` says that cost and bound are equal.
    """

    order: tuple[int, ...]
    cost: float
    bound: float
    proven: bool
    size: int
    moved: tuple[int, ...]
    lines: float
