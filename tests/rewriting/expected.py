# SPDX-License-Identifier: GPL-2.0-or-later
"""What the records of a unit must look like when members of some have changed places, by C's rules alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rewriting.legal_orders import Order

from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import alignment_of, lay_out, refusal, round_up
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Layout, Member, RecordKind
from linesmith.patches.verify import first_difference


class Expected:
    """The layouts after ``orders``, by the ids of ``before``; a record that grows makes its holders grow."""

    def __init__(self, before: LayoutTable, orders: Sequence[Order]) -> None:
        self._before = before
        self._orders = {order.record: order.positions for order in orders}
        self._known: dict[int, Layout | None] = {}

    def layout(self, record: int) -> Layout | None:
        """The record as it must be; ``None`` where its size changes within and C's rules do not explain it."""
        if record not in self._known:
            self._known[record] = self._made(self._before.by_id(record))
        return self._known[record]

    def before(self, record: int) -> Layout:
        """The record as it is."""
        return self._before.by_id(record)

    def _made(self, layout: Layout) -> Layout | None:
        members = [self._member(member) for member in layout.members]
        if layout.id not in self._orders and all(new is old for new, old in zip(members, layout.members, strict=True)):
            return layout
        present = [member for member in members if member is not None]
        if len(present) < len(members):
            return None
        if layout.kind is RecordKind.UNION:
            alignment = max(alignment_of(member) for member in present)
            size = round_up(max(member.size for member in present), max(alignment, layout.alignment or 1))
            return replace(layout, members=tuple(present), size=size)
        explained = with_inferred_alignment(layout)
        if refusal(explained):
            return None
        asked = [member.alignment for member in explained.members]
        known = [replace(member, alignment=one) for member, one in zip(present, asked, strict=True)]
        return lay_out(explained, tuple(known[at] for at in self._orders.get(layout.id, range(len(known)))))

    def _member(self, member: Member) -> Member | None:
        if member.record is None:
            return member
        old, new = self._before.by_id(member.record), self.layout(member.record)
        if new is None or old.size in (0, new.size):
            return None if new is None else member
        return replace(member, size=member.size // old.size * new.size)


@dataclass(frozen=True)
class Difference:
    """The first thing in a record that is not as expected; ``edited`` tells that it is not only a place or a size."""

    record: str
    said: str
    edited: bool


def differences(expected: Expected, before: LayoutTable, after: LayoutTable) -> Iterator[Difference]:
    """Every named record of the unit that is not as expected."""
    now = _named(after)
    for key, layouts in _named(before).items():
        found = now.get(key, [])
        for at, layout in enumerate(layouts):
            if at >= len(found):
                yield Difference(layout.title, "it is gone", edited=True)
                continue
            yield from _difference(expected, layout, found[at], after)


def _named(layouts: LayoutTable) -> dict[tuple[object, ...], list[Layout]]:
    found: dict[tuple[object, ...], list[Layout]] = {}
    for layout in sorted(layouts, key=lambda one: (one.line or 0, one.id)):
        if layout.name:
            found.setdefault((layout.title, layout.kind, layout.file), []).append(layout)
    return found


def _difference(expected: Expected, before: Layout, after: Layout, layouts: LayoutTable) -> Iterator[Difference]:
    wanted = expected.layout(before.id)
    if wanted is None:
        return
    alignments = [Counter((one.name, one.alignment) for one in layout.members) for layout in (before, after)]
    if alignments[0] != alignments[1]:
        yield Difference(before.title, "an alignment is lost or new", edited=True)
    said = first_difference(wanted, after)
    if said:
        yield Difference(before.title, said, [*map(_looks, wanted.members)] != [*map(_looks, after.members)])
        return
    for ours, theirs in zip(wanted.members, after.members, strict=True):
        if _looks(ours) != _looks(theirs):
            yield Difference(before.title, f"`{ours.name}` has the type {theirs.type} {theirs.declarator}", edited=True)
        if not ours.name and ours.record is not None and theirs.record is not None:
            yield from _difference(expected, expected.before(ours.record), layouts.by_id(theirs.record), layouts)


def _looks(member: Member) -> tuple[object, ...]:
    """What an edit could change of a member; the type of an anonymous record has no name to compare."""
    declared = (member.type, member.declarator) if member.record is None or member.name else ()
    return member.name, member.bit_size, *declared
