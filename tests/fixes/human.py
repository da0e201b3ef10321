# SPDX-License-Identifier: GPL-2.0-or-later
"""The layout that a person gave a record: without its anonymous structs, into and out of which members may move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fixes.scenario import ScenarioError, Step

from linesmith.analyzer.layouts.alignment import with_inferred_alignment
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.layouts.placement import lay_out, refusal
from linesmith.analyzer.model import Layout, Member, RecordKind


class Replaced:
    """The layouts of a file with another one in place of that with the same id."""

    def __init__(self, layouts: Layouts, layout: Layout) -> None:
        self._layouts = layouts
        self._layout = layout

    def by_id(self, layout_id: int) -> Layout:
        """The layout with this id; raises ``KeyError`` when there is none."""
        return self._layout if layout_id == self._layout.id else self._layouts.by_id(layout_id)

    def variants(self, name: str) -> tuple[Layout, ...]:
        """Every layout of records called ``name``."""
        return tuple(self.by_id(layout.id) for layout in self._layouts.variants(name))

    def names(self) -> tuple[str, ...]:
        """Every record name once, sorted."""
        return self._layouts.names()

    def __iter__(self) -> Iterator[Layout]:
        """Every layout, by id."""
        return (self.by_id(layout.id) for layout in self._layouts)


def flattened(layout: Layout, layouts: Layouts) -> Layout:
    """``layout`` with the members of its anonymous structs in their place, where they are now.

    Where such a struct begins or ends at a larger alignment than its members ask for, a member without size keeps it.
    """
    return replace(layout, members=tuple(_members(layout, layouts)))


def _members(layout: Layout, layouts: Layouts) -> Iterator[Member]:
    after = 1
    for member in layout.members:
        inner = _anonymous(member, layouts)
        alignment = 1 if inner is None else max(member.natural_alignment, member.alignment or 1)
        held = [member] if inner is None else [_moved(one, member.offset) for one in _members(inner, layouts)]
        yield from _boundary(held[0], max(after, alignment))
        yield from held
        after = alignment


def _anonymous(member: Member, layouts: Layouts) -> Layout | None:
    if member.name or member.record is None or member.dimensions:
        return None
    inner = layouts.by_id(member.record)
    return inner if inner.kind is RecordKind.STRUCT and inner.members else None


def _moved(member: Member, by: int) -> Member:
    bits = None if member.bit_offset is None else member.bit_offset + 8 * by
    return replace(member, offset=member.offset + by, bit_offset=bits)


def _boundary(member: Member, alignment: int) -> Iterator[Member]:
    """What keeps ``member`` at its place if only the alignment of the struct around it does."""
    natural = max(member.natural_alignment, member.alignment or 1)
    if alignment > natural and member.offset % alignment == 0:
        yield Member("", "boundary", "", member.offset, 0, 1, alignment)


def human_layout(layout: Layout, steps: Sequence[Step], layouts: Layouts) -> Layout:
    """``layout`` without anonymous structs after the steps, placed by C's rules.

    Raises ``ScenarioError`` where a member is not there.
    """
    explained = with_inferred_alignment(flattened(layout, layouts))
    if reason := refusal(explained):
        raise ScenarioError(f"{layout.title} cannot be laid out anew: {reason}")
    order = list(explained.members)
    for step in steps:
        order = _after(step, order, layouts)
    return lay_out(explained, tuple(order))


def _after(step: Step, order: list[Member], layouts: Layouts) -> list[Member]:
    moved = [_called(name, order, layouts) for name in step.members]
    if not step.move:
        return [_aligned(member, step) if member is moved[0] else member for member in order]
    rest = [member for member in order if not any(member is one for one in moved)]
    at = _place(step, rest, layouts)
    return [*rest[:at], _aligned(moved[0], step), *moved[1:], *rest[at:]]


def _aligned(member: Member, step: Step) -> Member:
    return replace(member, alignment=step.align) if step.align else member


def _place(step: Step, rest: Sequence[Member], layouts: Layouts) -> int:
    if step.first:
        return 0
    if step.last:
        return len(rest)
    beside = _called(step.after or step.before or "", rest, layouts)
    at = next(position for position, member in enumerate(rest) if member is beside)
    return at + 1 if step.after else at


def _called(name: str, members: Sequence[Member], layouts: Layouts) -> Member:
    """The member of that name; an anonymous union by any name inside it."""
    for member in members:
        if member.name == name or (not member.name and name in _inside(member, layouts)):
            return member
    raise ScenarioError(f"there is no member {name}; there are {', '.join(one.name for one in members if one.name)}")


def _inside(member: Member, layouts: Layouts) -> set[str]:
    if member.record is None:
        return set()
    return {leaf.path.partition(".")[0].partition("[")[0] for leaf in flatten(layouts.by_id(member.record), layouts)}
