# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups of members that the source marks with ``__cacheline_group_begin()`` and ``__cacheline_group_end()``.

Source: include/linux/cache.h since Linux 6.8; the markers are members without bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from linesmith.analyzer.geometry import Named, Span, nameable
from linesmith.analyzer.geometry.atoms import GROUP_BEGIN, GROUP_END
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout


@dataclass(frozen=True, slots=True)
class MarkedGroup:
    """The ``members`` between the markers of a group; ``span`` reaches from the one marker to the other.

    ``line`` is where the source has the first marker.
    """

    name: str
    span: Span
    members: tuple[Named, ...]
    line: int | None = None


def marked_groups(layout: Layout, layouts: Layouts) -> dict[str, MarkedGroup]:
    """The groups of the record by name, in order; one that is not closed is none."""
    found: dict[str, MarkedGroup] = {}
    begun: dict[str, tuple[Named, list[Named]]] = {}
    for one in nameable(layout, layouts):
        if one.path.startswith(GROUP_BEGIN):
            begun[one.path.removeprefix(GROUP_BEGIN)] = one, []
        elif one.path.startswith(GROUP_END) and (opened := begun.pop(one.path.removeprefix(GROUP_END), None)):
            first, members = opened
            name = one.path.removeprefix(GROUP_END)
            span = Span(first.offset, _end(members, one) - first.offset)
            found[name] = MarkedGroup(name, span, tuple(members), first.member.line)
        else:
            for _, members in begun.values():
                members.append(one)
    return found


def neighbours(group: MarkedGroup, groups: Iterable[MarkedGroup], layout: Layout, layouts: Layouts) -> Span:
    """The bytes of the group with those of all groups that it shares lines with and no other member parts from it.

    Groups that follow one another share lines on purpose: the transmit path reads one and then the next.
    """
    grouped = sorted(groups, key=lambda one: one.span.offset)
    marked = {one.path for each in grouped for one in each.members}
    loose = [one.offset for one in nameable(layout, layouts) if one.span.size and one.path not in marked]
    parted = [_parted(one, other, loose) for one, other in pairwise(grouped)]
    here = grouped.index(group)
    first = max((number + 1 for number in range(here) if parted[number]), default=0)
    last = next((number for number in range(here, len(parted)) if parted[number]), len(grouped) - 1)
    start = grouped[first].span.offset
    return Span(start, max(one.span.offset + one.span.size for one in grouped[first : last + 1]) - start)


def _parted(one: MarkedGroup, other: MarkedGroup, loose: Iterable[int]) -> bool:
    """Whether the second of two groups begins on a line of its own, or others lie between them."""
    start = other.span.offset
    return start % CACHE_LINE_BYTES == 0 or any(one.span.offset + one.span.size <= place < start for place in loose)


def _end(members: list[Named], marker: Named) -> int:
    """Behind the last member: the closing marker of an aligned group lies behind padding."""
    return max((one.end for one in members), default=marker.offset)
