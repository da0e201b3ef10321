# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds a candidate's record, and the members it parts, among the records of a compiled probe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.errors import VerificationFailed
from linesmith.analyzer.geometry import Span
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, Layout, Member


@dataclass(frozen=True, slots=True)
class Located:
    """``outer`` is the record called like the candidate's type, ``moved`` the one whose members move.

    They are the same unless members of an anonymous struct move. ``layouts`` are all records of the unit.
    """

    outer: Layout
    moved: Layout
    layouts: Layouts

    @property
    def granule(self) -> int:
        """Bytes between the places at which objects can start."""
        return max(self.outer.natural_alignment, self.outer.alignment or 1)

    def span(self, name: str) -> Span | None:
        """The bytes of the member ``name``, through anonymous records too; ``None`` when there is none."""
        return next((span for found, span in _visible(self.outer, self.layouts, 0) if found == name), None)


def locate(candidate: Candidate, layouts: Layouts) -> Located:
    """The candidate's record in ``layouts``; raises ``VerificationFailed`` when the unit does not know it."""
    found = layouts.variants(candidate.type)
    if not found:
        raise VerificationFailed(f"the probe unit compiles, but its debug information has no record {candidate.type}")
    wanted = _names(candidate.before)
    outer = max(found, key=lambda layout: len(wanted & _names(layout)))
    if candidate.before.name:
        return Located(outer, outer, layouts)
    inside = [one for one in _anonymous(outer, layouts) if wanted & _names(one)]
    if not inside:
        raise VerificationFailed(f"{candidate.type} holds no anonymous struct with the members that should move")
    return Located(outer, max(inside, key=lambda layout: len(wanted & _names(layout))), layouts)


def _names(layout: Layout) -> set[str]:
    return {member.name for member in layout.members if member.name}


def _inner(member: Member, layouts: Layouts) -> Layout | None:
    return None if member.name or member.record is None else layouts.by_id(member.record)


def _anonymous(layout: Layout, layouts: Layouts) -> Iterator[Layout]:
    for member in layout.members:
        inner = _inner(member, layouts)
        if inner is not None:
            yield inner
            yield from _anonymous(inner, layouts)


def _visible(layout: Layout, layouts: Layouts, start: int) -> Iterator[tuple[str, Span]]:
    for member in layout.members:
        inner = _inner(member, layouts)
        if inner is None:
            yield member.name, Span(start + member.offset, member.size)
        else:
            yield from _visible(inner, layouts, start + member.offset)
