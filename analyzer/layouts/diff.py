# SPDX-License-Identifier: GPL-2.0-or-later
"""What changed between two layouts of a record, and between all records of two files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import BitHole, Hole, gaps, line_of, lines, straddles
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.model import Layout


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a member is: bytes, but ``bit_offset`` and ``bit_size`` for a bit-field; ``line`` is its cache line."""

    type: str
    offset: int
    size: int
    line: int
    straddles: bool
    bit_offset: int | None = None
    bit_size: int | None = None


@dataclass(frozen=True, slots=True)
class MemberDiff:
    """One member, called by its path through anonymous records; ``old`` or ``new`` is ``None``: added, removed."""

    path: str
    old: Spot | None
    new: Spot | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """What happened, in words: added, removed, moved, grew, shrank, retyped, crossed a line."""
        if self.old is None:
            return ("added",)
        if self.new is None:
            return ("removed",)
        return tuple(_kinds(self.old, self.new))


@dataclass(frozen=True, slots=True)
class HoleChange:
    """A hole behind ``after`` (``""``: at the front): its bytes before and now, 0 where there is none."""

    after: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class RecordDiff:
    """A record that differs; ``old`` or ``new`` is ``None`` when only one file has it."""

    title: str
    old: Layout | None
    new: Layout | None
    members: tuple[MemberDiff, ...] = ()
    holes: tuple[HoleChange, ...] = ()
    bit_holes: tuple[HoleChange, ...] = ()
    padding: tuple[int, int] = (0, 0)
    lines: tuple[int, int] = (0, 0)
    alignment: tuple[int | None, int | None] = (None, None)


def changes(old: Layouts, new: Layouts, pairs: Iterator[tuple[Layout | None, Layout | None]]) -> tuple[RecordDiff, ...]:
    """The changes of every pair that differs, in the order given."""
    return tuple(filter(None, (_change(before, old, after, new) for before, after in pairs)))


def paired(old: tuple[Layout, ...], new: tuple[Layout, ...]) -> Iterator[tuple[Layout | None, Layout | None]]:
    """Layouts of the same name and kind: those declared in the same file, else those that most compile units use."""
    waiting: dict[tuple[str, bool], list[Layout]] = {}
    for layout in new:
        waiting.setdefault((layout.title, layout.typedef), []).append(layout)
    for layout in old:
        others = waiting.get((layout.title, layout.typedef), [])
        same_file = (index for index, other in enumerate(others) if other.file and other.file == layout.file)
        yield layout, others.pop(next(same_file, 0)) if others else None
    yield from ((None, layout) for rest in waiting.values() for layout in rest)


def _change(old: Layout | None, olds: Layouts, new: Layout | None, news: Layouts) -> RecordDiff | None:
    if old is None or new is None:
        one = old or new
        return RecordDiff(one.title, old, new) if one else None
    spots, places = _spots(old, olds), _spots(new, news)
    gone = [MemberDiff(path, spot, None) for path, spot in spots.items() if path not in places]
    kept = [MemberDiff(path, spots.get(path), spot) for path, spot in places.items()]
    before, after = gaps(old), gaps(new)
    change = RecordDiff(
        old.title,
        old,
        new,
        tuple([one for one in kept if one.old != one.new] + gone),
        _hole_changes(_by_member(old, before.holes), _by_member(new, after.holes)),
        _hole_changes(_by_member(old, before.bit_holes), _by_member(new, after.bit_holes)),
        (before.padding, after.padding),
        (lines(old), lines(new)),
        # BTF, which has no declaring files, states no alignment either, so nothing is compared.
        (old.alignment, new.alignment) if old.file and new.file else (None, None),
    )
    inside = bool(change.members or change.holes or change.bit_holes)
    differs = inside or len(set(change.padding)) == 2 or len(set(change.alignment)) == 2
    return change if differs or old.size != new.size else None


def _spots(layout: Layout, layouts: Layouts) -> dict[str, Spot]:
    spots: dict[str, Spot] = {}
    for one in nameable(layout, layouts):
        member, place = one.member, one.base + one.member.offset
        bit_offset = None if member.bit_offset is None else 8 * one.base + member.bit_offset
        crossing = not member.is_bit_field and straddles(place, member.size)
        # The declarator's own part of the type: dimensions, the parameters of a function pointer.
        shape = member.declarator.replace(member.name, "", 1) if member.name else member.declarator
        type_ = f"{member.type} {shape}".strip()
        spots[one.path] = Spot(type_, place, member.size, line_of(place), crossing, bit_offset, member.bit_size)
    return spots


def _by_member(layout: Layout, holes: tuple[Hole, ...] | tuple[BitHole, ...]) -> dict[str, int]:
    """Their sizes by the name of the member before, or its number."""
    names = {index: one.name or f"({index})" for index, one in enumerate(layout.members)}
    return {names.get(one.after, ""): one.bits if isinstance(one, BitHole) else one.size for one in holes}


def _hole_changes(old: dict[str, int], new: dict[str, int]) -> tuple[HoleChange, ...]:
    places = list(dict.fromkeys([*new, *old]))
    found = (HoleChange(place, old.get(place, 0), new.get(place, 0)) for place in places)
    return tuple(change for change in found if change.old != change.new)


def _kinds(old: Spot, new: Spot) -> Iterator[str]:
    if (old.offset, old.bit_offset) != (new.offset, new.bit_offset):
        yield "moved"
    old_size, new_size = old.bit_size or 8 * old.size, new.bit_size or 8 * new.size
    if new_size != old_size:
        yield "grew" if new_size > old_size else "shrank"
    if old.type != new.type:
        yield "retyped"
    if old.line != new.line:
        yield "crossed a line"
    if old.straddles != new.straddles:
        yield "straddles" if new.straddles else "no longer straddles"
