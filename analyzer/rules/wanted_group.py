# SPDX-License-Identifier: GPL-2.0-or-later
"""A group of members that an intent wants behind one another, as a layout has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from linesmith.analyzer.geometry import Named, Span, lines_touched
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, MemberGroup
from linesmith.analyzer.rules.company import found_members, others
from linesmith.analyzer.rules.marked_group import marked_groups


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """The members that lie ``together``, most of the group, and those ``apart``: others lie between them.

    Where the record marks a group of the same name, those between its markers lie together, whatever is beside them.
    """

    together: tuple[Named, ...]
    apart: tuple[Named, ...] = ()

    @property
    def span(self) -> Span:
        """From the first of those together to the end of the last."""
        first = self.together[0].offset
        return Span(first, max(one.end for one in self.together) - first)

    @property
    def near(self) -> frozenset[str]:
        """Those apart that are on the lines of the others all the same, by name."""
        lines = lines_touched(self.span.offset, self.span.size)
        return frozenset(one.path for one in self.apart if {*lines} & {*lines_touched(one.offset, one.span.size)})


def wanted_group(group: MemberGroup, layout: Layout, layouts: Layouts) -> WantedGroup | None:
    """Where the group's members lie; ``None`` where the layout has none of them."""
    own = found_members(layout, layouts, group.members)
    if not own:
        return None
    marked = marked_groups(layout, layouts).get(group.name)
    inside = tuple(one for one in own if marked and _within(one, marked.span))
    if inside:
        return WantedGroup(inside, tuple(one for one in own if one not in inside))
    runs = _runs(own, tuple(others(layout, layouts, own)))
    together = max(runs, key=len)
    return WantedGroup(together, tuple(one for run in runs if run is not together for one in run))


def _within(one: Named, span: Span) -> bool:
    return span.offset <= one.offset and one.end <= span.offset + span.size


def _runs(own: Sequence[Named], foreign: Sequence[Named]) -> list[tuple[Named, ...]]:
    """The members, split where others lie between one and the next."""
    runs: list[tuple[Named, ...]] = [(own[0],)]
    for before, one in pairwise(own):
        if any(before.end <= other.offset < one.offset for other in foreign):
            runs.append((one,))
        else:
            runs[-1] = (*runs[-1], one)
    return runs
