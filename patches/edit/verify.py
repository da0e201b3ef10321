# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides whether what the compiler made of the edited source is what the candidate promised.

Where the tree, as it is configured, gives the very layout the candidate starts from, the outcome must be the
candidate's to the bit. Where it gives another one (other configuration, other compiler), the same moves must give
the same order, the members must be separated as well as predicted, and the record must not grow more than predicted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from linesmith.analyzer.base.errors import VerificationFailed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import ObjectStarts, Span, meeting_phases
from linesmith.analyzer.model import Candidate, Layout, Member, Residual

_ROUNDING = 1e-9
# Pairs of members that the tree does not have refuse a patch when they make this share of what is saved.
_SAVED_BY_ABSENT = 0.05


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

    @property
    def begin(self) -> int:
        """The byte of ``outer`` at which ``moved`` begins."""
        inside = _inside(self.outer, self.layouts, 0)
        return next((at for _, at, inner in inside if inner is not None and inner.id == self.moved.id), 0)

    def span(self, name: str) -> Span | None:
        """The bytes of the member ``name``, through anonymous records too; ``None`` when there is none."""
        inside = _inside(self.outer, self.layouts, 0)
        return next((Span(at, one.size) for one, at, inner in inside if inner is None and one.name == name), None)


def locate(candidate: Candidate, layouts: Layouts) -> Located:
    """The candidate's record in ``layouts``; raises ``VerificationFailed`` when the unit does not know it."""
    found = layouts.variants(candidate.type)
    if not found:
        raise VerificationFailed(f"the probe unit compiles, but its debug information has no record {candidate.type}")
    wanted = _names(candidate.before)
    outer = max(found, key=lambda layout: len(wanted & _names(layout)))
    if candidate.before.name:
        return Located(outer, outer, layouts)
    inside = [one for _, _, one in _inside(outer, layouts, 0) if one and wanted & _names(one)]
    if not inside:
        raise VerificationFailed(f"{candidate.type} holds no anonymous struct with the members that should move")
    return Located(outer, max(inside, key=lambda layout: len(wanted & _names(layout))), layouts)


def _names(layout: Layout) -> set[str]:
    return {member.name for member in layout.members if member.name}


def _inside(layout: Layout, layouts: Layouts, start: int) -> Iterator[tuple[Member, int, Layout | None]]:
    """Each member, the byte at which it begins, and the anonymous record that it is, if so, with what is in that."""
    for member in layout.members:
        inner = None if member.name or member.record is None else layouts.by_id(member.record)
        yield member, start + member.offset, inner
        if inner is not None:
            yield from _inside(inner, layouts, start + member.offset)


@dataclass(frozen=True, slots=True)
class Verification:
    """A confirmed edit: the record in the tree before and after, and how often the pairs meet there.

    ``exact`` tells that the tree gives the layouts of the ELF file; otherwise ``difference`` says how it differs.
    ``granules`` are the bytes between the places at which objects start, before and after.
    """

    before: Located
    after: Located
    residuals: tuple[Residual, ...]
    exact: bool
    granules: tuple[int, int]
    difference: str = ""


def verify(candidate: Candidate, before: Located, after: Located) -> Verification:
    """Compare; raises ``VerificationFailed`` with the first thing that is not as promised."""
    difference = _first_difference(candidate.before, before.moved)
    objects = starts_of(candidate, before, after)
    residuals = tuple(measure(residual, before, after, objects) for residual in candidate.residuals)
    granules = objects[0].step, objects[1].step
    if not difference:
        wrong = _first_difference(candidate.after, after.moved)
        if wrong:
            raise VerificationFailed(f"the patched {candidate.type} compiles to another layout than predicted: {wrong}")
        return Verification(before, after, residuals, exact=True, granules=granules)
    _check_order(candidate, after.moved)
    allowed, grown = candidate.after.size - candidate.before.size, after.outer.size - before.outer.size
    if grown > allowed:
        raise VerificationFailed(
            f"in the tree's configuration {candidate.type} grows from {before.outer.size} to {after.outer.size} bytes, "
            f"{allowed} more were predicted; configure the tree like the ELF file, or take another --candidate"
        )
    for promised, measured in zip(candidate.residuals, residuals, strict=True):
        _check_parting(promised, measured, difference)
    _check_saving(candidate, before, residuals, difference)
    return Verification(before, after, residuals, exact=False, granules=granules, difference=difference)


def _check_saving(candidate: Candidate, before: Located, residuals: tuple[Residual, ...], difference: str) -> None:
    """What the change saves must be there in the tree's configuration: the members, and the lines that they share."""
    like = "configure it like the ELF file: --build DIR with its compile_commands.json, or --cflags for a program"
    absent = _names(candidate.before) - _names(before.moved)
    saved = {pair: old - new for pair, (old, new) in candidate.judgement.by_pair.items() if old > new}
    lost = {pair: count for pair, count in saved.items() if absent.intersection(pair)}
    if lost and sum(lost.values()) >= _SAVED_BY_ABSENT * sum(saved.values()):
        missing = next(name for name in max(lost, key=lost.__getitem__) if name in absent)
        raise VerificationFailed(
            f"the tree's configuration has no member `{missing}` in {candidate.type}, whose misses the change saves;"
            f" {like}"
        )
    promised, parted = (any(one.after < one.before for one in some) for some in (candidate.residuals, residuals))
    if promised and not parted:
        raise VerificationFailed(
            f"in the tree's configuration the change separates no members of {candidate.type}: they meet as rarely"
            f" without it ({difference}); {like}"
        )


def _first_difference(expected: Layout, found: Layout) -> str:
    """Where two layouts of one record part, in words; empty when every member and the size agree."""
    for mine, theirs in zip(expected.members, found.members, strict=False):
        if mine.name != theirs.name:
            return f"{_called(theirs)} stands where {_called(mine)} was expected"
        if _place(mine) != _place(theirs):
            return f"{_called(mine)} is at {_said(theirs)}, expected at {_said(mine)}"
    if len(expected.members) != len(found.members):
        longer = max(expected.members, found.members, key=len)
        missing = longer[min(len(expected.members), len(found.members))]
        return f"{_called(missing)} is only in {'the source' if longer is found.members else 'the ELF file'}"
    return "" if expected.size == found.size else f"{found.size} bytes, expected {expected.size}"


def _place(member: Member) -> tuple[int, int, int | None, int | None]:
    if member.is_bit_field:
        return 0, 0, member.bit_offset, member.bit_size
    return member.offset, member.size, None, None


def _called(member: Member) -> str:
    return f"`{member.name}`" if member.name else f"an anonymous {member.type.split(' {')[0] or 'record'}"


def _said(member: Member) -> str:
    if member.is_bit_field:
        return f"bit {member.bit_offset} with {member.bit_size} bits"
    return f"byte {member.offset} with {member.size} bytes"


def _check_order(candidate: Candidate, found: Layout) -> None:
    known = {member.name for member in found.members if member.name}
    wanted = [member.name for member in candidate.after.members if member.name in known]
    listed = set(wanted)
    got = [member.name for member in found.members if member.name in listed]
    if got != wanted:
        name = next(mine for mine, theirs in zip(got, wanted, strict=False) if mine != theirs)
        raise VerificationFailed(
            f"in the tree's configuration the patched {candidate.type} has `{name}` at another offset than intended"
        )


def starts_of(candidate: Candidate, before: Located, after: Located) -> tuple[ObjectStarts, ObjectStarts]:
    """Where objects start: nearer than aligned to, where a slab cache is known to do so; variables where they lie."""
    known = candidate.granules or (0, 0)
    if candidate.firsts is not None:
        return ObjectStarts(known[0], candidate.firsts[0]), ObjectStarts(known[1], candidate.firsts[1])
    return ObjectStarts(gcd(before.granule, known[0])), ObjectStarts(gcd(after.granule, known[1]))


def measure(
    residual: Residual, before: Located, after: Located, objects: tuple[ObjectStarts, ObjectStarts]
) -> Residual:
    """The shares of phases in which the pair meets in the compiled layouts, of ``objects`` before and after.

    Raises ``VerificationFailed`` where one of them has no such member.
    """
    shares = []
    for located, starts in zip((before, after), objects, strict=True):
        first, second = located.span(residual.first), located.span(residual.second)
        if first is None or second is None:
            name = residual.second if first else residual.first
            raise VerificationFailed(f"the tree's configuration has no member `{name}`; configure it like the ELF file")
        shares.append(meeting_phases(first, second, residual.line_bytes, starts.step, starts.first))
    return Residual(residual.first, residual.second, residual.line_bytes, *shares)


def _check_parting(promised: Residual, measured: Residual, difference: str) -> None:
    """A pair may not meet more often than promised, nor, where nothing was promised, than before."""
    allowed = promised.after if promised.after < promised.before else max(promised.after, measured.before)
    if measured.after > allowed + _ROUNDING:
        raise VerificationFailed(
            f"in the tree's configuration `{promised.first}` and `{promised.second}` still meet on a line of "
            f"{promised.line_bytes} bytes in {measured.after:.0%} of the phases, {promised.after:.0%} were predicted; "
            f"the layouts differ before the change already ({difference}); configure the tree like the ELF file"
        )
