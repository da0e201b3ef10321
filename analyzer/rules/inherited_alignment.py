# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment to lines that members have by their types alone, and lose when somebody changes these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.geometry import Named, asked_alignments, nameable
from linesmith.analyzer.geometry.placement import alignment_of
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member
from linesmith.analyzer.rules.rule import Subject

# Nesting of what somebody aligns is flat; damaged debug information may go round.
_MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class Inherited:
    """``members`` that were aligned to ``bytes`` only because ``origin`` was; ``now`` is the most that one has left.

    ``origin`` is ``struct lock``, or ``word of struct lock`` where that member asked for it.
    """

    members: tuple[Named, ...]
    origin: str
    bytes: int
    now: int


def inheritance_lost(subject: Subject) -> Iterator[Inherited]:
    """One for each origin that members of both builds have lost, in the order of their first members."""
    if subject.old is None or subject.base is None:
        return
    old, olds = subject.old, subject.base.layouts
    asking = {one.path for one in asked_alignments(old, olds) if one.asked >= CACHE_LINE_BYTES and not one.part}
    now = {one.path: one for one in nameable(subject.new, subject.head.layouts)}
    found: dict[tuple[str, int], list[Named]] = {}
    for was in nameable(old, olds):
        bytes_, one = alignment_of(was.member), now.get(was.path)
        if one is None or was.path in asking or was.member.record is None or bytes_ < CACHE_LINE_BYTES:
            continue
        if _kept(one, subject.new) < bytes_:
            found.setdefault((_origin(was.member, olds), bytes_), []).append(one)
    for (origin, bytes_), members in found.items():
        yield Inherited(tuple(members), origin, bytes_, max(_kept(one, subject.new) for one in members))


def _kept(one: Named, layout: Layout) -> int:
    """The alignment of a member; what begins where its record does has that of the record, too."""
    return max(alignment_of(one.member), (layout.alignment or 1) if one.offset == 0 else 1)


def _origin(member: Member, layouts: Layouts, levels: int = _MOST_LEVELS) -> str:
    """What within the member's type asks for its alignment."""
    inner = layouts.by_id(member.record or 0)
    for part in inner.members if levels else ():
        if alignment_of(part) < alignment_of(member):
            continue
        brought = layouts.by_id(part.record) if part.record is not None else None
        if brought is None or max(brought.alignment or 1, brought.natural_alignment) < alignment_of(part):
            return f"{part.name or 'a part'} of {inner.title}"
        return _origin(part, layouts, levels - 1) if brought.name else inner.title
    return inner.title
