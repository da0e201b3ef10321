# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignments that the source must have asked for but the debug information does not say.

clang, DWARF 4 and BTF leave explicit alignments out. No producer tells of unnamed bit-fields; one of width 0, which
closes a storage unit (C11 6.7.2.1p12), shows by the next bit-field beginning at the next unit.
"""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.geometry import inferred_alignments, inferred_record_alignment
from linesmith.analyzer.geometry.placement import BYTE, bit_field_start, first_bit, round_up, shape_of
from linesmith.analyzer.model import Layout, Member


def with_inferred_alignment(layout: Layout) -> Layout:
    """``layout`` with the alignments of its members and its own that explain where they are."""
    inferred = inferred_alignments(layout)
    members = tuple(_explained(layout, index, inferred[index]) for index in range(len(layout.members)))
    record = inferred_record_alignment(layout)
    return replace(layout, members=members, alignment=record or layout.alignment)


def record_alignment(layout: Layout) -> int:
    """Alignment of the record in bytes: every object starts at a multiple of it."""
    return max([layout.natural_alignment, layout.alignment or 1, *(member.alignment or 1 for member in layout.members)])


def inferences(said: Layout, explained: Layout) -> tuple[str, ...]:
    """Names of the members, and of the record itself, whose alignment is in ``explained`` only."""
    pairs = zip(said.members, explained.members, strict=True)
    members = tuple(one.name for one, other in pairs if one.alignment != other.alignment)
    return members if said.alignment == explained.alignment else (*members, said.title)


def _explained(layout: Layout, index: int, inferred: int | None) -> Member:
    member = layout.members[index]
    alignment = _closed_unit(layout, index) if member.is_bit_field else inferred
    return replace(member, alignment=alignment) if alignment else member


def _closed_unit(layout: Layout, index: int) -> int | None:
    """Bytes of the storage unit that a bit-field opens although it would have fitted into the one before."""
    member, before = layout.members[index], layout.members[index - 1]
    if not index or not before.is_bit_field:
        return None
    end = first_bit(before) + (before.bit_size or 0)
    opened = round_up(end, member.natural_alignment * BYTE)
    closed = first_bit(member) == opened and bit_field_start(shape_of(member), end) < opened
    return member.natural_alignment if closed else None
