# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members made a record larger, looked for in the records that it holds, too.

``cause`` says in a sentence why a record grew: by its members, its alignment, and the holes between. ``holders`` are
the records that hold another one by value, and what lies around it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from linesmith.analyzer.layouts.alignment import record_alignment
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import Span
from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.lint.regions import Region, clusters, listed, regions, unshared
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion
from linesmith.analyzer.model import Layout

MOST_NAMED = 3
MOST_LEVELS = 16
# Holes are told where they are at least this part of the growth.
_PART = 4
# So many records are entered on the way to one; damaged debug information has them without end.
_MOST_RECORDS = 256
_Versions = tuple[tuple[Layout, Layouts], tuple[Layout, Layouts]]


@dataclass(frozen=True, slots=True)
class Growth:
    """What takes ``bytes`` more than was in its place: ``names`` from the record under lint.

    ``clause`` goes on from the bytes; ``bits`` are told instead of them where a bit-field alone is new.
    """

    names: str
    bytes: int
    clause: str = ""
    bits: int = 0

    def __str__(self) -> str:
        """``i_new (8 bytes)``, ``i_data (16 bytes more)``, ``i_rcu (16 bytes, which it shared with i_list)``."""
        amount = counted(self.bits, "bit") if self.bits else counted(self.bytes, "byte")
        return f"{self.names} ({amount}{self.clause})"


def growth(record: LintedRecord) -> tuple[Growth, ...]:
    """What is new or grew or left a union or is larger than what it replaced, the largest addition first."""
    found = (one for place, _ in _places(record) for one in place)
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.names)))


def _places(record: LintedRecord) -> Iterator[tuple[tuple[Growth, ...], int]]:
    """What grew in each place of the record, and how many bytes more members lie on there."""
    before, now = record.before, record.now
    if before is not None:
        versions = (before.layout, before.layouts), (now.layout, now.layouts)
        yield from _by_place(versions, "", MOST_LEVELS)


def in_words(grown: tuple[Growth, ...]) -> str:
    """The largest of them in words: ``i_new (8 bytes), i_data (16 bytes more) and 2 others (5 bytes)``."""
    parts, rest = [str(one) for one in grown[:MOST_NAMED]], grown[MOST_NAMED:]
    if rest:
        others = f"{len(rest)} other{'s' * (len(rest) > 1)} ({counted(sum(one.bytes for one in rest), 'byte')})"
        return f"{', '.join(parts)} and {others}"
    return listed(parts)


def counted(count: int, unit: str) -> str:
    """``1 byte``, ``2 bytes``."""
    return f"{count} {unit}{'s' * (count != 1)}"


def _by_place(versions: _Versions, prefix: str, levels: int) -> Iterator[tuple[tuple[Growth, ...], int]]:
    was, now = ({one.path: one for one in nameable(*side)} for side in versions)
    parted = unshared(was, now)
    for region in regions(was.values(), now.values()):
        kept = [one for one in region.after if one.path in was]
        found: Iterable[Growth] = ()
        if region.added <= 0:
            pass
        elif not kept:
            found = (_came(region, prefix),)
        elif len(region.after) == len(region.before) == 1:
            found = _larger(was[kept[0].path], kept[0], versions, prefix, levels)
        else:
            found = _union(region, was, parted, versions, prefix, levels)
        yield tuple(found), region.added


def _came(region: Region, prefix: str) -> Growth:
    """New members, in the place of others or in one of their own."""
    if region.before:
        more = f" more than {_largest(region.before, prefix)}"
        return Growth(_largest(region.after, prefix), region.added, more)
    if all(one.member.is_bit_field for one in region.after):
        names = listed([f"{prefix}{one.path}" for one in region.after])
        return Growth(names, region.added, bits=sum(one.member.bit_size or 0 for one in region.after))
    return Growth(_largest(region.after, prefix), region.added)


def _larger(before: Named, now: Named, versions: _Versions, prefix: str, levels: int) -> Iterator[Growth]:
    """What grew within a record that is held by value; the whole where nothing did, or it is no such record."""
    more = Growth(f"{prefix}{now.path}", now.span.size - before.span.size, " more")
    yield from tuple(_inside(before, now, versions, prefix, levels)) or (more,)


def _union(
    region: Region, was: Mapping[str, Named], parted: Mapping[str, str], versions: _Versions, prefix: str, levels: int
) -> Iterator[Growth]:
    """What left a union, and of what makes one larger the largest."""
    left = region.added
    for one in region.after:
        if one.path in parted and left > 0:
            left -= one.span.size
            bits = one.member.bit_size or 0
            shared = f", which it shared with {prefix}{parted[one.path]}"
            yield Growth(f"{prefix}{one.path}", one.span.size, shared, bits)
    arms = [
        one
        for one in region.after
        if one.path not in parted and (one.path not in was or one.span.size > was[one.path].span.size)
    ]
    if not arms or left <= 0:
        return
    arm = max(arms, key=lambda one: (one.span.size, one.path))
    if arm.path in was:
        yield from _larger(was[arm.path], arm, versions, prefix, levels)
    elif arm.member.is_bit_field:
        yield Growth(f"{prefix}{arm.path}", left, bits=arm.member.bit_size or 0)
    else:
        yield Growth(f"{prefix}{arm.path}", left, " more than what shares its bytes")


def _largest(members: tuple[Named, ...], prefix: str) -> str:
    """``a and 2 more``, the largest first; of those that share bytes the largest speaks for all."""
    firsts = (min(cluster, key=_by_size) for cluster in clusters(members))
    return listed([f"{prefix}{one.path}" for one in sorted(firsts, key=_by_size)], 2)


def _by_size(one: Named) -> tuple[int, str]:
    return -one.span.size, one.path


def _inside(before: Named, now: Named, versions: _Versions, prefix: str, levels: int) -> Iterator[Growth]:
    """What grew within a record that is held by value; nothing where it is another record now, or an array."""
    was, new = before.member, now.member
    if was.record is None or new.record is None or was.dimensions or new.dimensions or not levels:
        return iter(())
    (_, olds), (_, news) = versions
    inner = (olds.by_id(was.record), olds), (news.by_id(new.record), news)
    if inner[0][0].title != inner[1][0].title:
        return iter(())
    places = _by_place(inner, f"{prefix}{now.path}.", levels - 1)
    return (one for place, _ in places for one in place)


def cause(record: LintedRecord) -> str:
    """``what grew: flags (8 bytes)``, with the alignment, and what else it takes for the bytes to add up."""
    grown, new = growth(record), record.layout
    old = record.before.layout if record.before else new
    said = f"what grew: {in_words(grown)}" if grown else "no member grew"
    size = new.size - old.size
    rest = size - sum(one.bytes for one in grown)
    less = _bytes_less(record, -rest) if rest < 0 else 0
    fewer = f"other members take {counted(less, 'byte')} less" if less else ""
    left, holes = rest + less, ""
    if (rest < 0 or rest * _PART >= size) and left:
        verb = ("is" if left == 1 else "are") if left > 0 else ("lies" if left == -1 else "lie")
        holes = f"{counted(abs(left), 'byte')} {verb} {'holes and padding' if left > 0 else 'in old holes'}"
    was, now = record_alignment(old), record_alignment(new)
    aligned = f"the record is aligned to {now} bytes now, to {was} before" if now > was else ""
    if aligned and holes and left > 0:
        return "; ".join(filter(None, (said, fewer, f"{aligned}: {holes}")))
    if grown or aligned:
        return "; ".join(filter(None, (said, fewer, holes, aligned)))
    return f"{said}: {(f'{holes}, check its alignments' if holes else 'look at its alignments and holes')}"


def _bytes_less(record: LintedRecord, missing: int) -> int:
    """The bytes that others take less, where what grew is told with ``missing`` bytes more than the record grew.

    Less lies where members went or shrank; too much is told of what left a union of others, or grew in a record beside
    such as shrank.
    """
    over = [(sum(one.bytes for one in place) - added, added) for place, added in _places(record)]
    lost = sum(-added for _, added in over if added < 0)
    return lost + min(sum(more for more, added in over if more > 0 < added), max(0, missing - lost))


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
