# SPDX-License-Identifier: GPL-2.0-or-later
"""How much one order of items differs from the present one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence


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
