# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members made a record larger, looked for in the records that it holds, too.

``cause`` says in a sentence why a record grew: by its members, or by its alignment. ``holders`` are the records that
hold another one by value, and what lies around it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import Span, record_alignment
from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.lint.meetings import listed
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion
from linesmith.analyzer.model import Layout

MOST_NAMED = 3
MOST_LEVELS = 16
# So many records are entered on the way to one; damaged debug information has them without end.
_MOST_RECORDS = 256
_Version = tuple[Layout, Layouts]


@dataclass(frozen=True, slots=True)
class Growth:
    """A member, called by its path, that is new or takes ``bytes`` ``more`` than before."""

    path: str
    bytes: int
    more: bool

    def __str__(self) -> str:
        """``i_new (8 bytes)``, ``i_data (16 bytes more)``."""
        return f"{self.path} ({_bytes(self.bytes)}{' more' * self.more})"


def growth(record: LintedRecord) -> tuple[Growth, ...]:
    """What is new or grew, the largest addition first."""
    before, now = record.before, record.now
    if before is None:
        return ()
    found = _grown((before.layout, before.layouts), (now.layout, now.layouts), "", MOST_LEVELS)
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.path)))


def _grown(before: _Version, after: _Version, prefix: str, levels: int) -> Iterator[Growth]:
    """Of members that share bytes, as in a union, the largest new or grown one tells what all of them take more."""
    was = {one.path: one for one in nameable(*before)}
    for cluster in _clusters(nameable(*after)):
        known = [was[one.path] for one in cluster if one.path in was]
        more = _extent(cluster) - _extent(known)
        grown = [one for one in cluster if one.path not in was or one.span.size > was[one.path].span.size]
        if more <= 0 or not grown:
            continue
        largest = max(grown, key=lambda one: (one.span.size, one.path))
        inside: tuple[Growth, ...] = ()
        if largest.path in was:
            inside = tuple(_inside(was[largest.path], largest, (before[1], after[1]), prefix, levels))
        yield from inside or (Growth(f"{prefix}{largest.path}", more, bool(known)),)


def _clusters(members: Iterable[Named]) -> list[list[Named]]:
    """Members that lie on one another, together, by offset."""
    found: list[list[Named]] = []
    end = 0
    for one in sorted((one for one in members if one.span.size), key=lambda one: (one.offset, one.path)):
        if found and one.offset < end:
            found[-1].append(one)
        else:
            found.append([one])
        end = max(end, one.end)
    return found


def _extent(members: list[Named]) -> int:
    """Bytes from the first to the end of the last."""
    return max(one.end for one in members) - min(one.offset for one in members) if members else 0


def _inside(before: Named, now: Named, sides: tuple[Layouts, Layouts], prefix: str, levels: int) -> Iterator[Growth]:
    """What grew within a record that is held by value; nothing where it is another record now, or an array."""
    was, new = before.member, now.member
    if was.record is None or new.record is None or was.dimensions or new.dimensions or not levels:
        return
    old, inner = sides[0].by_id(was.record), sides[1].by_id(new.record)
    if old.title == inner.title:
        yield from _grown((old, sides[0]), (inner, sides[1]), f"{prefix}{now.path}.", levels - 1)


def in_words(grown: tuple[Growth, ...]) -> str:
    """The largest of them in words: ``i_new (8 bytes), i_data (16 bytes more) and 2 others (5 bytes)``."""
    parts, rest = [str(one) for one in grown[:MOST_NAMED]], grown[MOST_NAMED:]
    if rest:
        others = f"{len(rest)} other{'s' * (len(rest) > 1)} ({_bytes(sum(one.bytes for one in rest))})"
        return f"{', '.join(parts)} and {others}"
    return listed(parts)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def cause(record: LintedRecord) -> str:
    """``what grew: flags (8 bytes)``, and the alignment where that is wider than before."""
    grown, new = growth(record), record.layout
    was = record_alignment(record.before.layout if record.before else new)
    now = record_alignment(new)
    said = f"what grew: {in_words(grown)}" if grown else "no member grew"
    if now > was:
        return f"{said}; the record is aligned to {now} bytes now, to {was} before"
    return said if grown else f"{said}: look at its holes, and at what left a union"


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
        return _moved(member, self.path, self.offset)


def holders(version: RecordVersion) -> Iterator[Holder]:
    """Each place of the record in a record with a name; what another such record in between has is left to that."""
    layout, layouts = version.layout, version.layouts
    for place in version.build.holders.places(layout.id):
        if place.container != layout.id:
            outer = layouts.by_id(place.container)
            path, others = _path_within(outer, (layout, Span(place.offset, layout.size)), (layouts, set()))
            if path:
                yield Holder(outer, path, place.offset, others)


def _path_within(
    record: Layout, sought: tuple[Layout, Span], known: tuple[Layouts, set[tuple[int, int]]]
) -> tuple[str, tuple[Named, ...]]:
    """The path to the place that is ``sought``, empty where none leads there, and the members next to it.

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
            rest, deeper = _path_within(inner, (layout, Span(way[1], span.size)), known)
            path = f"{element.path}.{rest}" if rest else path
            if not inner.name:
                others += [_moved(other, element.path, element.offset) for other in deeper]
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


def _moved(one: Named, path: str, offset: int) -> Named:
    """A member of a record as one of what holds that as ``path``, ``offset`` bytes from its own start."""
    return Named(f"{path}.{one.path}", offset + one.base, one.member, Span(offset + one.offset, one.span.size))
