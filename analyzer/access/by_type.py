# SPDX-License-Identifier: GPL-2.0-or-later
"""Who touches the members of a type, also where the code only knows it as part of an outer one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import OUTCOMES, AccessMap
from linesmith.analyzer.access.places import ALTERNATIVES, leaves_within
from linesmith.analyzer.geometry import leaves_at
from linesmith.analyzer.geometry.naming import Named
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import AccessCounts, Embedding, FunctionCounts, Layout, MemberAccesses, TypeAccesses

_RESOLVED = np.array([outcome.resolved for outcome in OUTCOMES])

Rows = NDArray[np.uint32]
# Offset, size and path of a member.
_Bytes = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Resolved accesses to one place: ``width`` bytes at ``offset`` of the layout, held at ``base`` of ``outer``."""

    offset: int
    width: int
    rows: Rows
    outer: int
    base: int
    path: int


def accesses_of(layout: Layout, layouts: Layouts, accesses: AccessMap) -> TypeAccesses:
    """Every resolved access to a ``layout`` object, by member; all counts are zero where there is none."""
    entries = _entries(layout.id, accesses)
    members, elsewhere = _members(layout, layouts, entries, accesses)
    rows = _together([entry.rows for entry in entries])
    return TypeAccesses(
        layout=layout.id,
        counts=accesses.counts(rows),
        functions=len(distinct(accesses.function[rows])),
        members=members,
        embeddings=_embeddings(entries, accesses),
        elsewhere=accesses.counts(elsewhere),
    )


def of_member(found: TypeAccesses, member: Named, accesses: AccessMap) -> TypeAccesses:
    """The same of one member alone, with what lies in it; a row without accesses where nobody is known to touch it."""
    path, inside = member.path, (f"{member.path}.", f"{member.path}[")
    kept = [one for one in found.members if path in (one.path, *one.alternatives) or one.path.startswith(inside)]
    if kept:
        return replace(found, members=tuple(kept))
    nobody = MemberAccesses(path, member.offset, member.span.size, AccessCounts(), (), alone=_alone(member, accesses))
    return replace(found, members=(nobody,))


def _alone(member: Named, accesses: AccessMap) -> str:
    record = member.member.record
    return member.member.type if record is not None and touched_alone(record, accesses) else ""


def touching(layout: Layout, accesses: AccessMap) -> Callable[[int, int], MemberAccesses]:
    """Tells who touches ``size`` bytes at ``offset`` of ``layout``, whatever member lies there."""
    entries = _entries(layout.id, accesses)

    def touched(offset: int, size: int) -> MemberAccesses:
        over = [one for one in entries if one.offset < offset + size and offset < one.offset + max(one.width, 1)]
        return _member(offset, size, "", _together([entry.rows for entry in over]), accesses)

    return touched


def touched_alone(layout_id: int, accesses: AccessMap) -> bool:
    """Whether some code touches such a record without knowing what holds it: it got the record's own address."""
    first, last = np.searchsorted(accesses.entry_layout, (layout_id, layout_id + 1))
    places = accesses.entry_place[first:last]
    alone = (accesses.entry_path[first:last] == 0) & (
        accesses.entry_offset[first:last] == accesses.place_offset[places]
    )
    return any(_RESOLVED[accesses.outcome[accesses.rows_of_place(place)]].any() for place in places[alone].tolist())


def _entries(layout_id: int, accesses: AccessMap) -> list[_Entry]:
    first, last = np.searchsorted(accesses.entry_layout, (layout_id, layout_id + 1))
    found = []
    for number in range(int(first), int(last)):
        place, offset = int(accesses.entry_place[number]), int(accesses.entry_offset[number])
        rows = accesses.rows_of_place(place)
        rows = rows[_RESOLVED[accesses.outcome[rows]]]
        if len(rows):
            outer, base = int(accesses.place_type[place]), int(accesses.place_offset[place]) - offset
            width = int(accesses.place_width[place])
            found.append(_Entry(offset, width, rows, outer, base, int(accesses.entry_path[number])))
    return found


def _together(parts: list[Rows]) -> Rows:
    """Each row once, by address."""
    return distinct(np.concatenate(parts)) if parts else np.zeros(0, np.uint32)


def distinct(values: NDArray[np.uint32]) -> Rows:
    """Each value once, in order; ``np.unique`` alone imports masked arrays, which takes as long as the rest."""
    found: Rows = np.unique(values, return_counts=True)[0]
    return found


def _members(
    layout: Layout, layouts: Layouts, entries: list[_Entry], accesses: AccessMap
) -> tuple[tuple[MemberAccesses, ...], Rows]:
    """The members by offset, and the rows that fall on none."""
    spots: dict[tuple[int, int], list[Rows]] = {}
    for entry in entries:
        spots.setdefault((entry.offset, entry.width), []).append(entry.rows)

    rows_of: dict[_Bytes, list[Rows]] = {}
    elsewhere: list[Rows] = []
    for (offset, width), rows in spots.items():
        leaves = tuple(leaves_within(layout, layouts, offset, width))
        for leaf in leaves:
            rows_of.setdefault((leaf.offset, leaf.size, leaf.path), []).extend(rows)
        elsewhere += () if leaves else rows
    members = (
        replace(_member(*spot, _together(rows), accesses), alternatives=_alternatives(layout, layouts, *spot))
        for spot, rows in sorted(rows_of.items())
    )
    return tuple(members), _together(elsewhere)


def _alternatives(layout: Layout, layouts: Layouts, offset: int, size: int, path: str) -> tuple[str, ...]:
    """Other members of unions that have the same bytes."""
    leaves = leaves_at(layout, layouts, offset, ALTERNATIVES)
    same = dict.fromkeys(leaf.path for leaf in leaves if (leaf.offset, leaf.size) == (offset, size))
    return tuple(one for one in same if one != path)


def _member(offset: int, size: int, path: str, rows: Rows, accesses: AccessMap) -> MemberAccesses:
    return MemberAccesses(path, offset, size, accesses.counts(rows), functions_of(rows, accesses))


def functions_of(rows: Rows, accesses: AccessMap) -> tuple[FunctionCounts, ...]:
    """The functions whose code has these rows, most accesses first; functions of one name are told as one."""
    kinds: dict[str, list[int]] = {}
    keys, counts = np.unique(accesses.function[rows].astype(np.uint64) * 4 + accesses.kind[rows], return_counts=True)
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        kinds.setdefault(accesses.functions[int(key) // 4], [0] * 4)[int(key) % 4] += count
    found = [FunctionCounts(name, AccessCounts(*one)) for name, one in kinds.items()]
    return tuple(sorted(found, key=lambda one: (-one.counts.total, one.function)))


def _embeddings(entries: list[_Entry], accesses: AccessMap) -> tuple[Embedding, ...]:
    """Outer types by the accesses that come through them; what is known as the type itself is none."""
    rows_of: dict[tuple[int, int, int], list[Rows]] = {}
    for entry in entries:
        if entry.path or entry.base:
            rows_of.setdefault((entry.outer, entry.base, entry.path), []).append(entry.rows)
    found = [
        Embedding(accesses.types[outer], accesses.paths[path], base, len(_together(rows)))
        for (outer, base, path), rows in rows_of.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.accesses, one.type, one.offset)))
