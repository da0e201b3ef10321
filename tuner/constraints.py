# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout alone forbids: each constraint with its reason and its source.

Atoms are cut into segments by those that must stay where they are; an order is legal when every atom stays in its
segment. What only the source can tell (offset assertions, initialisers by position, ``memset`` ranges) is not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.geometry import flatten
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member
from linesmith.tuner.atoms import Atom
from linesmith.tuner.placement import alignment_of


class ConstraintKind(StrEnum):
    """The rule that binds; the value is what a user reads."""

    FIRST = "stays first"
    LAST = "stays last"
    MARKER = "stays between the same members"
    GROUP = "moves as a whole"
    BIT_FIELDS = "move together"
    ALIGNED = "keeps its alignment"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule for one atom; ``source`` is where the rule comes from."""

    kind: ConstraintKind
    member: str
    reason: str
    source: str

    def __str__(self) -> str:
        return f"{self.member} {self.kind.value}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Freedom:
    """Which orders of atoms are legal: segment numbers by atom, in declaration order, and the reasons."""

    segments: tuple[int, ...]
    constraints: tuple[Constraint, ...]

    def places(self, atom: int) -> range:
        """Positions that ``atom`` may take in an order, its own included."""
        segment = self.segments[atom]
        first = self.segments.index(segment)
        return range(first, first + self.segments.count(segment))


def freedom(layout: Layout, parts: tuple[Atom, ...], layouts: Layouts) -> Freedom:
    """The static constraints of ``layout`` over its atoms ``parts``."""
    fixed = [_fixed(position, parts, layouts) for position in range(len(parts))]
    segments: list[int] = []
    current = 0
    for constraint in fixed:
        current += constraint is not None
        segments.append(current)
        current += constraint is not None
    kept = [constraint for constraint in fixed if constraint]
    kept += [constraint for atom in parts for constraint in _together(atom)]
    kept += [constraint for member in layout.members for constraint in _aligned(member)]
    return Freedom(tuple(segments), tuple(kept))


def _fixed(position: int, parts: tuple[Atom, ...], layouts: Layouts) -> Constraint | None:
    """The rule that nails the atom at ``position`` to its place among the others."""
    member, name = parts[position].members[0], parts[position].name
    if position == len(parts) - 1 and (reason := _open_end(parts[-1].members[-1], layouts)):
        return Constraint(ConstraintKind.LAST, name, reason, "C11 6.7.2.1p18")
    if position == 0 and _is_base(member, layouts):
        reason = "code may cast between the struct and the record it begins with"
        return Constraint(ConstraintKind.FIRST, name, reason, "C11 6.7.2.1p15")
    if not member.size and not member.flexible and alignment_of(member) >= CACHE_LINE_BYTES:
        reason = "it was put there to keep what is before it and what is behind it on different lines"
        return Constraint(ConstraintKind.MARKER, name, reason, "include/linux/cache.h, CACHELINE_PADDING")
    if _is_marker(member, layouts) and not parts[position].is_group:
        reason = "a member without size marks an offset that code relies on"
        return Constraint(ConstraintKind.MARKER, name, reason, "offsetof() on the marker")
    return None


def _is_base(member: Member, layouts: Layouts) -> bool:
    """Whether the first member is a record that code may cast to; a single word such as ``atomic_t`` is none."""
    if member.record is None or not member.name or member.dimensions:
        return False
    return len(flatten(layouts.by_id(member.record), layouts)) > 1


def _open_end(member: Member, layouts: Layouts) -> str | None:
    """Why ``member``, the last one, must stay last."""
    if member.flexible:
        return "a flexible array ends the struct"
    if member.dimensions and member.dimensions[0] in (0, 1):
        return f"a last array of {member.dimensions[0]} is often allocated longer than declared"
    if member.record is None or member.dimensions:
        return None
    inner = layouts.by_id(member.record).members
    return "it ends with a flexible array" if inner and inner[-1].flexible else None


def _is_marker(member: Member, layouts: Layouts) -> bool:
    """A zero-length array or an empty anonymous struct; a named empty record is a feature compiled out."""
    if member.size or member.is_bit_field or not member.name or member.flexible:
        return False
    if member.record is not None and not member.dimensions:
        return not layouts.by_id(member.record).name
    return 0 in member.dimensions


def _together(atom: Atom) -> list[Constraint]:
    if atom.is_group:
        reason = "the range between its group markers is asserted at compile time"
        return [Constraint(ConstraintKind.GROUP, atom.name, reason, "include/linux/cache.h")]
    if len(atom.members) > 1:
        reason = f"{len(atom.members)} bit-fields share storage units"
        return [Constraint(ConstraintKind.BIT_FIELDS, atom.name, reason, "C11 6.7.2.1p11")]
    return []


def _aligned(member: Member) -> list[Constraint]:
    if (member.alignment or 1) <= max(member.natural_alignment, 8):
        return []
    reason = f"the source asks for {member.alignment} bytes"
    return [Constraint(ConstraintKind.ALIGNED, member.name, reason, "DW_AT_alignment")]
