# SPDX-License-Identifier: GPL-2.0-or-later
"""Of nested records the one that says most: an ``address_space`` rather than the ``inode`` around it.

What meets on a line are members; seen from a record around the one that is accessed they would be one member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linesmith.analyzer.attribution.doubts import BUILDING_BLOCK
from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import CACHE_LINE_BYTES, Access, Layout, LineObject, Outcome, SharedLine

# A nested record must hold this share of the accesses to stand for the whole object.
NEARLY_ALL = 0.9
_KNOWN = (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY)


def narrowed(
    one: LineObject, seen: Sequence[Access], line: SharedLine, containment: Containment, wanted: str | None
) -> LineObject:
    """The object as the nested record that says most, with the outer one as its container.

    ``seen`` are the accesses to it. A ``wanted`` record is named, if it is the object or one in it.
    """
    if one.layout is None or one.outcome not in _KNOWN or one.type == wanted:
        return one
    outer = containment.layouts.by_id(one.layout)
    layout, begin = _innermost(outer, _enclosing(outer, one.start, seen, containment), seen, containment, wanted)
    if layout.id == outer.id:
        return one
    start = one.start + begin
    row = one.row and replace(one.row, address=one.row.address + begin)
    where = replace(one, start=start, phase=start % line.bytes, size=one.size and layout.size, row=row)
    # Which of many holders the outer record lies in stays open; what it holds itself is known.
    sure = one.outcome is Outcome.RESOLVED or containment.direct_holders(layout.id) < BUILDING_BLOCK
    told = where if not sure or one.outcome is Outcome.RESOLVED else replace(where, outcome=Outcome.RESOLVED, reason="")
    return replace(told, type=layout.name, layout=layout.id, containers=(outer.name, *one.containers))


def narrowed_all(
    objects: Sequence[LineObject], line: SharedLine, containment: Containment, wanted: str | None
) -> tuple[LineObject, ...]:
    """The objects of a line that no snapshot knows, each as the nested record that says most."""
    return tuple(
        one if one.origin else narrowed(one, _seen(one, line, containment), line, containment, wanted)
        for one in objects
    )


def weight(access: Access) -> int:
    """How much an access counts: its contended loads and stores, or its samples where there are none."""
    return access.contended + access.stores or access.records or 0


def _seen(one: LineObject, line: SharedLine, containment: Containment) -> tuple[Access, ...]:
    """The accesses of the line that lie in the object."""
    if one.layout is None:
        return ()
    held = range(one.start, one.start + containment.layouts.by_id(one.layout).size)
    return tuple(access for access in line.accesses if access.offset in held)


def _enclosing(
    outer: Layout, start: int, seen: Sequence[Access], containment: Containment
) -> dict[tuple[str, int], int]:
    """Samples within each nested record, by its name and its offset in ``outer``."""
    enclosed: dict[tuple[str, int], int] = {}
    for access in seen:
        leaves = containment.leaves(outer.id, (access.offset or 0) - start)
        for record in {step for leaf in leaves for step in leaf.chain}:
            enclosed[record] = enclosed.get(record, 0) + weight(access)
    return enclosed


def _innermost(
    outer: Layout,
    enclosed: dict[tuple[str, int], int],
    seen: Sequence[Access],
    containment: Containment,
    wanted: str | None,
) -> tuple[Layout, int]:
    """A ``wanted`` record, else the smallest one longer than a line that holds nearly all accesses; and its offset."""
    total = sum(map(weight, seen))
    best = outer, 0
    for (name, begin), held in enclosed.items():
        smaller = [one for one in containment.layouts.variants(name) if CACHE_LINE_BYTES < one.size < best[0].size]
        if name == wanted:
            return containment.layouts.variants(name)[0], begin
        if smaller and held >= NEARLY_ALL * total and not is_lock(name):
            best = smaller[0], begin
    return best
