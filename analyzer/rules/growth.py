# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members made a record larger, looked for in the records that it holds, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.geometry.naming import Named, nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.rules.rule import Subject
from linesmith.analyzer.rules.unshared import unshared

MOST_NAMED = 3
MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class Growth:
    """A member that is new (``old`` is 0) or larger than it was, in ``unit``; ``path`` from the record under lint.

    One that left a union had no bytes of its own before, and shared them ``with_`` another.
    """

    path: str
    old: int
    new: int
    unit: str = "byte"
    with_: str = ""

    @property
    def added(self) -> int:
        """How much it adds."""
        return self.new - self.old

    def __str__(self) -> str:
        """``i_new (8 bytes)``, ``i_data (16 bytes more)``, ``i_rcu (16 bytes, which it shared with i_list)``."""
        shared = f", which it shared with {self.with_}" if self.with_ else ""
        return f"{self.path} ({self.added} {self.unit}{'s' * (self.added != 1)}{' more' if self.old else ''}{shared})"


def growth(subject: Subject) -> tuple[Growth, ...]:
    """The members that are new or grew or left a union, largest addition first; bit-fields where nothing else did."""
    old, new, base = subject.old, subject.new, subject.base
    if old is None or base is None:
        return ()
    sides = (old, base.layouts), (new, subject.head.layouts)
    found = (*_grown(*sides, "", MOST_LEVELS),) or (*_wider_bits(*sides),)
    return tuple(sorted(found, key=lambda one: (-one.added, one.path)))


def told(grown: tuple[Growth, ...]) -> str:
    """The largest of them in words: ``i_new (8 bytes), i_data (16 bytes more) and 2 others``."""
    parts = [str(one) for one in grown[:MOST_NAMED]]
    rest = len(grown) - len(parts)
    if rest:
        return f"{', '.join(parts)} and {rest} other{'s' * (rest > 1)}"
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def _grown(before: tuple[Layout, Layouts], after: tuple[Layout, Layouts], prefix: str, levels: int) -> Iterator[Growth]:
    was = {one.path: one for one in nameable(*before)}
    parted = unshared(was, {one.path: one for one in nameable(*after)})
    for now in nameable(*after):
        earlier = was.get(now.path)
        old = 0 if earlier is None or now.path in parted else earlier.member.size
        if now.member.is_bit_field or now.member.size <= old:
            continue
        inside = tuple(_inside((earlier, before[1]), (now, after[1]), prefix, levels)) if earlier and levels else ()
        partner = f"{prefix}{parted[now.path]}" if now.path in parted else ""
        yield from inside or (Growth(f"{prefix}{now.path}", old, now.member.size, with_=partner),)


def _wider_bits(before: tuple[Layout, Layouts], after: tuple[Layout, Layouts]) -> Iterator[Growth]:
    was = {one.path: one.member.bit_size or 0 for one in nameable(*before)}
    for now in nameable(*after):
        old, new = was.get(now.path, 0), now.member.bit_size or 0
        if new > old:
            yield Growth(now.path, old, new, "bit")


def _inside(before: tuple[Named, Layouts], after: tuple[Named, Layouts], prefix: str, levels: int) -> Iterator[Growth]:
    """What grew within a record that is held by value; nothing where it is another record now, or an array."""
    (was, olds), (now, news) = before, after
    if was.member.record is None or now.member.record is None or was.member.dimensions or now.member.dimensions:
        return iter(())
    old, new = olds.by_id(was.member.record), news.by_id(now.member.record)
    if old.title != new.title:
        return iter(())
    return _grown((old, olds), (new, news), f"{prefix}{now.path}.", levels - 1)
