# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that hold another one by value, and what lies around it there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from linesmith.analyzer.geometry import Named, Span, nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.rules.rule import Side

# So many records are entered on the way to one; damaged debug information has them without end.
_MOST_RECORDS = 256


@dataclass(frozen=True, slots=True)
class Holder:
    """``record`` has the inner one ``offset`` bytes from its start, as ``path``, with the ``others`` around it.

    Of an array of them one element stands for all; ``path`` leaves its number out.
    """

    record: Layout
    path: str
    offset: int
    others: tuple[Named, ...]

    def held(self, member: Named) -> Named:
        """A member of the inner record as one of the holder."""
        base, span = self.offset + member.base, Span(self.offset + member.offset, member.span.size)
        return Named(f"{self.path}.{member.path}", base, member.member, span)


def holders(layout: Layout, side: Side) -> Iterator[Holder]:
    """Each place of the record in a record with a name; what another such record in between has is left to that."""
    for place in side.holders.places(layout.id):
        if place.container != layout.id:
            outer = side.layouts.by_id(place.container)
            path, others = _around(outer, (layout, Span(place.offset, layout.size)), (side.layouts, set()))
            if path:
                yield Holder(outer, path, place.offset, others)


def _around(
    record: Layout, sought: tuple[Layout, Span], known: tuple[Layouts, set[tuple[int, int]]]
) -> tuple[str, tuple[Named, ...]]:
    """The path to the place that is ``sought``, empty where none leads there, and the members beside it.

    ``known`` are all layouts, and the records that were entered, each with where the place would be in it.
    """
    (layout, span), (layouts, entered) = sought, known
    path, others = "", []
    for one in nameable(record, layouts):
        element = _element(one, layouts, span)
        if element is None:
            others += [one] if one.span.size else []
            continue
        inner, way = layouts.by_id(one.member.record or 0), (one.member.record or 0, span.offset - element.offset)
        others += _elements(one, element)
        if inner.id == layout.id:
            path = element.path
        elif way not in entered and len(entered) < _MOST_RECORDS:
            entered.add(way)
            rest, deeper = _around(inner, (layout, Span(way[1], span.size)), known)
            path = f"{element.path}.{rest}" if rest else path
            others += [] if inner.name else [_moved(other, element) for other in deeper]
    apart = (one for one in others if one.end <= span.offset or span.offset + span.size <= one.offset)
    return path, tuple(apart)


def _element(one: Named, layouts: Layouts, span: Span) -> Named | None:
    """The member, or the element of an array, that is a record and holds all of the span."""
    if one.member.record is None:
        return None
    size = layouts.by_id(one.member.record).size
    many = bool(one.member.dimensions) or one.member.flexible
    number = max(span.offset - one.offset, 0) // size if many and size else 0
    name = f"{one.path}[]" if many else one.path
    found = replace(one, path=name, span=Span(one.offset + number * size, size))
    is_open = one.member.flexible or (many and not prod(one.member.dimensions))
    inside = found.offset <= span.offset and span.offset + span.size <= found.end
    return found if inside and (is_open or found.end <= one.end) else None


def _elements(one: Named, element: Named) -> Iterator[Named]:
    """The elements of an array before and behind one of them."""
    if element.path == one.path:
        return
    size, is_open = element.span.size, not one.span.size
    name = f"another element of {one.path}"
    for start in (element.offset - size, element.offset + size):
        if one.offset <= start and (is_open or start + size <= one.end):
            yield Named(name, one.base, one.member, Span(start, size))


def _moved(one: Named, into: Named) -> Named:
    """A member of a record without a name as one of what holds it."""
    return Named(
        f"{into.path}.{one.path}", into.offset + one.base, one.member, Span(into.offset + one.offset, one.span.size)
    )
