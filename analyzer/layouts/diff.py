# SPDX-License-Identifier: GPL-2.0-or-later
"""What changed between two layouts of a record, and between all records of two files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import gaps, line_of, lines, straddles
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.model import Layout, Member


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
class MemberChange:
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
class RecordChange:
    """A record that differs; ``old`` or ``new`` is ``None`` when only one file has it."""

    title: str
    old: Layout | None
    new: Layout | None
    members: tuple[MemberChange, ...] = ()
    holes: tuple[HoleChange, ...] = ()
    bit_holes: tuple[HoleChange, ...] = ()
    padding: tuple[int, int] = (0, 0)
    lines: tuple[int, int] = (0, 0)
    alignment: tuple[int | None, int | None] = (None, None)


def changes(
    old: Layouts, new: Layouts, pairs: Iterator[tuple[Layout | None, Layout | None]]
) -> tuple[RecordChange, ...]:
    """The changes of every pair that differs, in the order given."""
    found = (_change(before, old, after, new) for before, after in pairs)
    return tuple(change for change in found if change is not None)


def paired(old: tuple[Layout, ...], new: tuple[Layout, ...]) -> Iterator[tuple[Layout | None, Layout | None]]:
    """Layouts of the same name, kind and, where a name has several layouts, the same declaring file or rank."""
    waiting: dict[tuple[str, bool], list[Layout]] = {}
    for layout in new:
        waiting.setdefault(_identity(layout), []).append(layout)
    for layout in old:
        yield layout, _partner(layout, waiting.get(_identity(layout), []))
    yield from ((None, layout) for rest in waiting.values() for layout in rest)


def _identity(layout: Layout) -> tuple[str, bool]:
    return layout.title, layout.typedef


def _partner(layout: Layout, candidates: list[Layout]) -> Layout | None:
    """Take the best partner out of ``candidates``: declared in the same file, else the most used one left."""
    if not candidates:
        return None
    same_file = [index for index, other in enumerate(candidates) if other.file and other.file == layout.file]
    return candidates.pop(same_file[0] if same_file else 0)


def _change(old: Layout | None, olds: Layouts, new: Layout | None, news: Layouts) -> RecordChange | None:
    if old is None or new is None:
        one = old or new
        return RecordChange(one.title, old, new) if one else None
    change = RecordChange(
        old.title,
        old,
        new,
        _member_changes(_spots(old, olds), _spots(new, news)),
        _hole_changes(_holes(old), _holes(new)),
        _hole_changes(_bit_holes(old), _bit_holes(new)),
        (gaps(old).padding, gaps(new).padding),
        (lines(old), lines(new)),
        _alignments(old, new),
    )
    return change if _differs(change) or old.size != new.size else None


def _differs(change: RecordChange) -> bool:
    inside = change.members or change.holes or change.bit_holes
    return bool(inside) or len(set(change.padding)) == 2 or len(set(change.alignment)) == 2


def _alignments(old: Layout, new: Layout) -> tuple[int | None, int | None]:
    """What both sides state; BTF, which has no declaring files, states no alignment either, so nothing is compared."""
    return (old.alignment, new.alignment) if old.file and new.file else (None, None)


def _member_changes(old: dict[str, Spot], new: dict[str, Spot]) -> tuple[MemberChange, ...]:
    """Changes in the order of the new layout, then what is gone."""
    gone = [MemberChange(path, spot, None) for path, spot in old.items() if path not in new]
    kept = [MemberChange(path, old.get(path), spot) for path, spot in new.items()]
    return tuple([change for change in kept if change.old != change.new] + gone)


def _spots(layout: Layout, layouts: Layouts) -> dict[str, Spot]:
    spots: dict[str, Spot] = {}
    for one in nameable(layout, layouts):
        member, place = one.member, one.base + one.member.offset
        bit_offset = None if member.bit_offset is None else 8 * one.base + member.bit_offset
        crossing = not member.is_bit_field and straddles(place, member.size)
        spots[one.path] = Spot(_type(member), place, member.size, line_of(place), crossing, bit_offset, member.bit_size)
    return spots


def _type(member: Member) -> str:
    """Type with the declarator's own part of it: dimensions, the parameters of a function pointer."""
    shape = member.declarator.replace(member.name, "", 1) if member.name else member.declarator
    return f"{member.type} {shape}".strip()


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


def _hole_changes(old: dict[str, int], new: dict[str, int]) -> tuple[HoleChange, ...]:
    places = list(dict.fromkeys([*new, *old]))
    found = (HoleChange(place, old.get(place, 0), new.get(place, 0)) for place in places)
    return tuple(change for change in found if change.old != change.new)


def _holes(layout: Layout) -> dict[str, int]:
    return {_behind(layout, hole.after): hole.size for hole in gaps(layout).holes}


def _bit_holes(layout: Layout) -> dict[str, int]:
    return {_behind(layout, hole.after): hole.bits for hole in gaps(layout).bit_holes}


def _behind(layout: Layout, index: int) -> str:
    return (layout.members[index].name or f"({index})") if index >= 0 else ""
