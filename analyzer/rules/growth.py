# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members made a record larger, looked for in the records that it holds, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from linesmith.analyzer.geometry.naming import Named, nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.rules.company import listed
from linesmith.analyzer.rules.regions import Region, clusters, regions
from linesmith.analyzer.rules.rule import Subject
from linesmith.analyzer.rules.unshared import unshared

MOST_NAMED = 3
MOST_LEVELS = 16
_Sides = tuple[tuple[Layout, Layouts], tuple[Layout, Layouts]]


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


def growth(subject: Subject) -> tuple[Growth, ...]:
    """What is new or grew or left a union or is larger than what it replaced, the largest addition first."""
    found = (one for place, _ in _places(subject) for one in place)
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.names)))


def shrinkage(subject: Subject) -> tuple[int, int]:
    """How many bytes less lie where members went or shrank, and by how many what grew elsewhere tells too much.

    That is where members left a union of others, or grew in a record beside such as shrank.
    """
    over = [(sum(one.bytes for one in place) - added, added) for place, added in _places(subject)]
    lost = sum(-added for _, added in over if added < 0)
    return lost, sum(more for more, added in over if more > 0 < added)


def _places(subject: Subject) -> Iterator[tuple[tuple[Growth, ...], int]]:
    """What grew in each place of the record, and how many bytes more members lie on there."""
    old, new, base = subject.old, subject.new, subject.base
    if old is not None and base is not None:
        yield from _by_place(((old, base.layouts), (new, subject.head.layouts)), "", MOST_LEVELS)


def told(grown: tuple[Growth, ...]) -> str:
    """The largest of them in words: ``i_new (8 bytes), i_data (16 bytes more) and 2 others (5 bytes)``."""
    parts, rest = [str(one) for one in grown[:MOST_NAMED]], grown[MOST_NAMED:]
    if rest:
        others = f"{len(rest)} other{'s' * (len(rest) > 1)} ({counted(sum(one.bytes for one in rest), 'byte')})"
        return f"{', '.join(parts)} and {others}"
    return listed(parts)


def counted(count: int, unit: str) -> str:
    """``1 byte``, ``2 bytes``."""
    return f"{count} {unit}{'s' * (count != 1)}"


def _by_place(sides: _Sides, prefix: str, levels: int) -> Iterator[tuple[tuple[Growth, ...], int]]:
    was, now = ({one.path: one for one in nameable(*side)} for side in sides)
    parted = unshared(was, now)
    for region in regions(was.values(), now.values()):
        kept = [one for one in region.after if one.path in was]
        found: Iterable[Growth] = ()
        if region.added <= 0:
            pass
        elif not kept:
            found = (_came(region, prefix),)
        elif len(region.after) == len(region.before) == 1:
            found = _larger(was[kept[0].path], kept[0], sides, prefix, levels)
        else:
            found = _union(region, was, parted, sides, prefix, levels)
        yield tuple(found), region.added


def _grown(sides: _Sides, prefix: str, levels: int) -> Iterator[Growth]:
    return (one for place, _ in _by_place(sides, prefix, levels) for one in place)


def _came(region: Region, prefix: str) -> Growth:
    """New members, in the place of others or in one of their own."""
    if region.before:
        more = f" more than {_largest(region.before, prefix)}"
        return Growth(_largest(region.after, prefix), region.added, more)
    if all(one.member.is_bit_field for one in region.after):
        names = listed([f"{prefix}{one.path}" for one in region.after])
        return Growth(names, region.added, bits=sum(one.member.bit_size or 0 for one in region.after))
    return Growth(_largest(region.after, prefix), region.added)


def _larger(before: Named, now: Named, sides: _Sides, prefix: str, levels: int) -> Iterator[Growth]:
    """What grew within a record that is held by value; the whole where nothing did, or it is no such record."""
    more = Growth(f"{prefix}{now.path}", now.span.size - before.span.size, " more")
    yield from tuple(_inside(before, now, sides, prefix, levels)) or (more,)


def _union(
    region: Region, was: Mapping[str, Named], parted: Mapping[str, str], sides: _Sides, prefix: str, levels: int
) -> Iterator[Growth]:
    """What left a union, and of what makes one larger the largest."""
    left = region.added
    for one in region.after:
        if one.path in parted and left > 0:
            left -= one.span.size
            bits = one.member.bit_size or 0
            yield Growth(
                f"{prefix}{one.path}", one.span.size, f", which it shared with {prefix}{parted[one.path]}", bits
            )
    arms = [one for one in region.after if one.path not in parted and one.span.size > _size(was.get(one.path))]
    if not arms or left <= 0:
        return
    arm = max(arms, key=lambda one: (one.span.size, one.path))
    if arm.path in was:
        yield from _larger(was[arm.path], arm, sides, prefix, levels)
    elif arm.member.is_bit_field:
        yield Growth(f"{prefix}{arm.path}", left, bits=arm.member.bit_size or 0)
    else:
        yield Growth(f"{prefix}{arm.path}", left, " more than what shares its bytes")


def _size(one: Named | None) -> int:
    return one.span.size if one else 0


def _largest(members: tuple[Named, ...], prefix: str) -> str:
    """``a and 2 more``, the largest first; of those that share bytes the largest speaks for all."""
    firsts = (min(cluster, key=_by_size) for cluster in clusters(members))
    return listed([f"{prefix}{one.path}" for one in sorted(firsts, key=_by_size)], 2)


def _by_size(one: Named) -> tuple[int, str]:
    return -one.span.size, one.path


def _inside(before: Named, now: Named, sides: _Sides, prefix: str, levels: int) -> Iterator[Growth]:
    """What grew within a record that is held by value; nothing where it is another record now, or an array."""
    was, new = before.member, now.member
    if was.record is None or new.record is None or was.dimensions or new.dimensions or not levels:
        return iter(())
    (_, olds), (_, news) = sides
    inner = (olds.by_id(was.record), olds), (news.by_id(new.record), news)
    if inner[0][0].title != inner[1][0].title:
        return iter(())
    return _grown(inner, f"{prefix}{now.path}.", levels - 1)
