# SPDX-License-Identifier: GPL-2.0-or-later
"""Moves that make a record smaller, those within its parts without a name included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from linesmith.analyzer.geometry.inference import record_alignment, with_inferred_alignment
from linesmith.analyzer.geometry.naming import nameable
from linesmith.analyzer.geometry.placement import lay_out, refusal, round_up
from linesmith.analyzer.geometry.single_move import SingleMove, shrinking_moves
from linesmith.analyzer.geometry.unmovable import unmovable
from linesmith.analyzer.layouts import ChangedLayouts, Layouts
from linesmith.analyzer.model import FactKind, Layout, Member, RecordKind, SourceFact

# Damaged debug information can nest anonymous records without end.
_MOST_PARTS = 256
_MOST_LEVELS = 128


@dataclass(frozen=True, slots=True)
class Part:
    """An anonymous struct: ``record``, and the ``holders`` on the way to it, outermost first, each with its member."""

    record: Layout
    holders: tuple[tuple[Layout, int], ...]

    def changed(self, new: Layout) -> tuple[Layout, ...]:
        """What becomes of the holders with ``new`` in place of the part, outermost first."""
        found = [new]
        for holder, index in reversed(self.holders):
            found.insert(0, _holding(holder, index, found[0].size))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Move:
    """A move of one member, within a ``part`` or in the record itself, by which all of it has ``size`` bytes."""

    single: SingleMove
    size: int
    layouts: Layouts
    part: Part | None = None

    @property
    def name(self) -> str:
        """The member that is moved."""
        return self.single.name

    @property
    def after(self) -> str:
        """The one that it stands behind then."""
        return self.single.after

    @property
    def result(self) -> tuple[Layout, Layouts]:
        """The record as it is then, among the layouts with its changed parts."""
        if self.part is None:
            return self.single.layout, self.layouts
        changed = self.part.changed(self.single.layout)
        return changed[0], ChangedLayouts(self.layouts, changed)


def moves(
    layout: Layout, layouts: Layouts, facts: Sequence[SourceFact] = (), kept: Collection[str] = ()
) -> Iterator[Move]:
    """Every move of one member, in the record or within an anonymous struct of it, that makes the record smaller.

    ``facts`` and ``kept`` are those of ``shrinking_moves``. No member leaves its part or enters one.
    """
    for one in shrinking_moves(layout, layouts, facts, kept):
        yield Move(one, one.size, layouts)
    if unmovable(layout, layouts):
        return
    for part in _parts(layout, layouts):
        if _is_free(part, layout, layouts, facts):
            yield from _within(part, layout, layouts, (facts, kept))


def _within(
    part: Part, layout: Layout, layouts: Layouts, bound: tuple[Sequence[SourceFact], Collection[str]]
) -> Iterator[Move]:
    whole = lru_cache(maxsize=None)(lambda size: part.changed(replace(part.record, size=size))[0].size)
    for one in shrinking_moves(part.record, layouts, *bound):
        if whole(one.size) < layout.size:
            yield Move(one, whole(one.size), layouts, part)


def _parts(layout: Layout, layouts: Layouts) -> tuple[Part, ...]:
    """The anonymous structs of the record, at any depth, whose sizes decide its own; none that is there twice."""
    found = tuple(islice(_nested(layout, layouts, ()), _MOST_PARTS))
    often = Counter(one.record.id for one in found)
    return tuple(one for one in found if one.record.kind is RecordKind.STRUCT and often[one.record.id] == 1)


def _nested(layout: Layout, layouts: Layouts, holders: tuple[tuple[Layout, int], ...]) -> Iterator[Part]:
    anonymous = [index for index, one in enumerate(layout.members) if _is_part(one, layouts)]
    if not anonymous or len(holders) >= _MOST_LEVELS:
        return
    explained = with_inferred_alignment(layout)
    if not _is_explained(explained):
        return
    for index in anonymous:
        inner = layouts.by_id(layout.members[index].record or 0)
        here = (*holders, (explained, index))
        yield Part(inner, here)
        yield from _nested(inner, layouts, here)


def _is_part(member: Member, layouts: Layouts) -> bool:
    """Whether it has no name, and its record neither: one with a tag (-fms-extensions) is others', too."""
    bare = not member.name and member.record is not None and not member.dimensions
    return bare and not layouts.by_id(member.record or 0).name


def _is_explained(layout: Layout) -> bool:
    if layout.kind is not RecordKind.UNION:
        return refusal(layout) is None
    return _union_size(layout) == layout.size and not any(one.offset or one.is_bit_field for one in layout.members)


def _union_size(layout: Layout) -> int:
    return round_up(max((one.size for one in layout.members), default=0), record_alignment(layout))


def _holding(holder: Layout, index: int, size: int) -> Layout:
    """The holder with a member of another size."""
    grown = replace(holder.members[index], size=size)
    members = (*holder.members[:index], grown, *holder.members[index + 1 :])
    if holder.kind is not RecordKind.UNION:
        return lay_out(holder, members)
    union = replace(holder, members=members)
    return replace(union, size=_union_size(union))


def _is_free(part: Part, layout: Layout, layouts: Layouts, facts: Sequence[SourceFact]) -> bool:
    """Whether no fact holds the part by what lies around it."""
    if not facts:
        return True
    order = [one.path for one in nameable(layout, layouts)]
    inside = {one.path for one in nameable(part.record, layouts)}
    last = max((number for number, path in enumerate(order) if path in inside), default=0)
    for fact in facts:
        places = [order.index(name) for name in fact.members if name in order]
        if fact.kind is FactKind.POSITIONAL and places and max(places) > last:
            return False
        crossing = inside & set(fact.members) and set(fact.members) - inside
        if fact.kind in (FactKind.RANGE, FactKind.TOGETHER) and crossing:
            return False
    return True
