# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that a union laid over others, and that have bytes of their own now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linesmith.analyzer.geometry import Named

# Damaged debug information lays any number of members over one another.
_MOST_PAIRS = 1 << 10


def unshared(before: Mapping[str, Named], after: Mapping[str, Named]) -> dict[str, str]:
    """Each member that left a union, with one that shared its bytes and still is there.

    Of two that parted it is the one that parted from more of the others, else the one that lies farther behind now.
    """
    kept = sorted((before[path] for path in before.keys() & after.keys()), key=lambda one: (one.offset, one.path))
    partners: dict[str, set[str]] = {}
    for first, second in _overlapping(kept):
        if not _overlap(after[first.path], after[second.path]):
            partners.setdefault(first.path, set()).add(second.path)
            partners.setdefault(second.path, set()).add(first.path)
    found: dict[str, str] = {}
    while any(partners.values()):
        path = max(partners, key=lambda one: (len(partners[one]), after[one].offset, one))
        left = partners.pop(path)
        found[path] = min(left)
        for other in left:
            partners[other].discard(path)
    return found


def _overlapping(members: Sequence[Named]) -> list[tuple[Named, Named]]:
    """Pairs of members, ordered by their offsets, that have a byte in common."""
    found: list[tuple[Named, Named]] = []
    for number, one in enumerate(members):
        for other in members[number + 1 :]:
            if other.offset >= one.end or len(found) >= _MOST_PAIRS:
                break
            if _overlap(one, other):
                found.append((one, other))
    return found


def _overlap(one: Named, other: Named) -> bool:
    """Whether both have a byte in common; bit-fields that share one are no union."""
    if one.member.is_bit_field and other.member.is_bit_field:
        return False
    return max(one.offset, other.offset) < min(one.end, other.end)
