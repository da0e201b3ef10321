# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether layouts that come from elsewhere can be layouts at all: a saved index, or what a helper program wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linesmith.analyzer.model import Layout, Member

# Bytes, bits and elements beyond this are in no record.
MOST = 1 << 48


def flaw(layouts: Iterable[Layout]) -> str | None:
    """What is wrong with the layouts of a whole file, given by id; ``None`` when nothing is.

    Sound layouts have the ids 0, 1, 2 ..., sizes, offsets (bytes and bits) and alignments that are possible, members
    inside of their records, members of records that are among them, and no record that holds itself by value. Takes
    time linear in the members.
    """
    held: list[tuple[int, ...]] = []
    for number, layout in enumerate(layouts):
        wrong = _flaw_of_record(number, layout)
        if wrong is not None:
            return wrong
        held.append(tuple(member.record for member in layout.members if member.record is not None))
    for number, inner in enumerate(held):
        if any(not 0 <= one < len(held) for one in inner):
            return f"record {number} has a member of a record that is not there"
    return "a record holds itself by value" if _has_ring(held) else None


def _flaw_of_record(number: int, layout: Layout) -> str | None:
    if layout.id != number:
        return f"record {number} has the id {layout.id}"
    if not 0 <= layout.size < MOST or not _are_alignments(layout.natural_alignment, layout.alignment):
        return f"record {number} has an impossible size or alignment"
    for index, member in enumerate(layout.members):
        if not _is_possible(member):
            return f"member {index} of record {number} has an impossible place or alignment"
        if _end(member) > layout.size:
            return f"member {index} of record {number} ends behind the record"
    return None


def _is_possible(member: Member) -> bool:
    places = (member.offset, member.size, member.bit_offset or 0, member.bit_size or 0, *member.dimensions)
    return min(places) >= 0 and max(places) < MOST and _are_alignments(member.natural_alignment, member.alignment)


def _end(member: Member) -> int:
    """First byte behind the member. The storage unit of a packed bit-field may reach behind the record."""
    if member.bit_offset is None or member.bit_size is None:
        return member.end
    return -(-(member.bit_offset + member.bit_size) // 8)


def _are_alignments(natural: int, stated: int | None) -> bool:
    """Whether both are powers of two, where the second is stated."""
    return all(one is None or (0 < one < MOST and one & (one - 1) == 0) for one in (natural, stated))


def _has_ring(held: Sequence[tuple[int, ...]]) -> bool:
    """Whether a record holds itself, directly or by way of others; ``held`` are the ids in each record."""
    holders = [0] * len(held)
    for inner in held:
        for one in inner:
            holders[one] += 1
    free = [number for number, count in enumerate(holders) if not count]
    taken = 0
    while free:  # records that nothing holds any more are taken away; those of a ring stay
        taken += 1
        for one in held[free.pop()]:
            holders[one] -= 1
            if not holders[one]:
                free.append(one)
    return taken < len(held)
