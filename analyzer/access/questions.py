# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions to the access map: what a function, or the instruction at an address, touches, and who touches a type.

A type is also touched where the code only knows it as a part of an outer one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import KINDS, OUTCOMES, AccessMap
from linesmith.analyzer.base.errors import FunctionNotFound
from linesmith.analyzer.base.text import did_you_mean
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import ALTERNATIVES, Named, leaves_at, leaves_within
from linesmith.analyzer.model import (
    AccessCounts,
    AccessKind,
    AccessSummary,
    AddressAccesses,
    CodeAccess,
    Embedding,
    FunctionAccesses,
    FunctionCounts,
    HandedAddress,
    Layout,
    MemberAccesses,
    TypeAccesses,
)

MOST_OFFERED = 4
# What compilers append to the name of a function for the part of it that is seldom run.
COLD = ".cold"
NO_ROW = -1
_RESOLVED = np.array([outcome.resolved for outcome in OUTCOMES])
_READ = KINDS.index(AccessKind.READ)

Rows = NDArray[np.uint32]
# Offset, size and path of a member.
_Bytes = tuple[int, int, str]


def accesses_in(name: str, accesses: AccessMap) -> tuple[FunctionAccesses, ...]:
    """The functions called ``name`` and their clones, with all that they touch; ``name.cold`` is part of ``name``.

    Where there is none, the copies of the inlined function of this name, as one. Raises ``FunctionNotFound`` with
    near names.
    """
    numbers = accesses.functions.called(name) or accesses.functions.called(name.removesuffix(COLD))
    if numbers:
        return tuple(
            FunctionAccesses(
                accesses.functions[number],
                int(accesses.function_low[number]),
                int(accesses.function_high[number]),
                accesses.accesses(accesses.rows_of_function(number)),
            )
            for number in numbers
        )
    inside = np.isin(accesses.chain_functions, accesses.inlined.called(name))
    chains = np.searchsorted(accesses.chain_starts, np.flatnonzero(inside), side="right") - 1
    rows = np.flatnonzero(np.isin(accesses.chain, chains))
    if not len(rows):
        names = dict.fromkeys((*accesses.functions, *accesses.inlined))
        alike = [one for one in names if abs(len(one) - len(name)) <= 3]  # comparing takes long
        offer = did_you_mean(name, alike, MOST_OFFERED) or "give its name in the symbol table"
        raise FunctionNotFound(f"no function {name!r} in the analyzed code; {offer}")
    return (FunctionAccesses(name, None, None, accesses.accesses(rows)),)


def resolve(addresses: NDArray[np.uint64], accesses: AccessMap) -> NDArray[np.int64]:
    """The first row of each address, ``NO_ROW`` where no memory is touched; an instruction may have two rows.

    Addresses are those of the file, in any order; the columns of the map at the rows tell the rest.
    """
    if not len(accesses):
        return np.full(len(addresses), NO_ROW, np.int64)
    distinct, which = np.unique(addresses, return_inverse=True)  # samples repeat, and sorted ones are found sooner
    rows = np.searchsorted(accesses.address, distinct)
    return np.where(accesses.address[np.minimum(rows, len(accesses) - 1)] == distinct, rows, NO_ROW)[which]


def accesses_at(place: str, accesses: AccessMap) -> tuple[AddressAccesses, ...]:
    """What the instruction at ``place`` touches: ``0xffffffff81001234``, ``name+0x12`` or ``name+0x12/0x340``.

    Several functions may have one name. Raises ``FunctionNotFound``.
    """
    found = tuple(_at(function, address, accesses) for function, address in _places(place, accesses))
    if not found:
        raise FunctionNotFound(
            f"{place} is not in an analyzed function; give an address of the file (without KASLR or load offset), or"
            " write it as function+0x12"
        )
    return found


def _places(place: str, accesses: AccessMap) -> Iterator[tuple[int, int]]:
    """(number of the function, address) of each instruction that ``place`` can mean."""
    name, _, rest = place.partition("/")[0].partition("+")
    address = _number(place)
    if address is not None:
        yield from ((function, address) for function in _covering(address, accesses))
        return
    into = _number(rest) if rest else 0
    if into is None:
        raise FunctionNotFound(f"{place!r} is not an address; write it as 0xffffffff81001234 or function+0x12")
    numbers = accesses.functions.called(name)
    if not numbers:
        accesses_in(name, accesses)  # says which names are near
        what = "is a part of a function" if name.endswith(COLD) else "exists inlined only"
        raise FunctionNotFound(f"{name} {what}, and has no start address; give an address, or --function {name}")
    for function in numbers:
        low, high = int(accesses.function_low[function]), int(accesses.function_high[function])
        if low + into < high:
            yield function, low + into


def _number(text: str) -> int | None:
    try:
        return int(text, 16) if text.lower().startswith("0x") else int(text)
    except ValueError:
        return None


def _covering(address: int, accesses: AccessMap) -> list[int]:
    if not 0 <= address < 1 << 64:
        return []
    rows = np.flatnonzero((accesses.function_low <= np.uint64(address)) & (np.uint64(address) < accesses.function_high))
    if len(rows):
        return [int(row) for row in rows[:1]]
    exact = int(resolve(np.array([address], np.uint64), accesses)[0])
    return [] if exact == NO_ROW else [int(accesses.function[exact])]


def _at(function: int, address: int, accesses: AccessMap) -> AddressAccesses:
    first, last = np.searchsorted(accesses.address, (np.uint64(address), np.uint64(address + 1)))
    before: tuple[CodeAccess, ...] = ()
    if first == last:  # the accesses of the last instruction before it that touches memory
        rows = accesses.rows_of_function(function)
        rows = rows[accesses.address[rows] < np.uint64(address)]
        before = accesses.accesses(rows[accesses.address[rows] == accesses.address[rows[-1:]]])
    return AddressAccesses(
        address,
        accesses.functions[function],
        accesses.into(function, address),
        accesses.accesses(range(int(first), int(last))),
        before,
    )


def writing_ways(layout_id: int, offset: int, size: int, accesses: AccessMap) -> Counter[tuple[str, ...]]:
    """The inlined functions, outermost first, from which ``size`` bytes at ``offset`` of a layout are written.

    ``refcount_dec_and_test`` says more than a write. Counts are instructions; an empty chain is code of the function
    itself.
    """
    first, last = accesses.entries_of(layout_id)
    found: set[int] = set()
    for number in range(first, last):
        place, begin = int(accesses.entry_place[number]), int(accesses.entry_offset[number])
        if begin < offset + size and offset < begin + max(int(accesses.place_width[place]), 1):
            rows = accesses.rows_of_place(place)
            writing = _RESOLVED[accesses.outcome[rows]] & (accesses.kind[rows] != _READ)
            found.update(rows[writing].tolist())
    return Counter(accesses.chain_of(int(accesses.chain[row])) for row in sorted(found))


@dataclass(frozen=True, slots=True)
class _PlaceRows:
    """Resolved accesses to one place: ``width`` bytes at ``offset`` of the layout, held at ``base`` of ``outer``."""

    offset: int
    width: int
    rows: Rows
    outer: int
    base: int
    path: int


@lru_cache(maxsize=64)
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
    record = member.member.record
    alone = member.member.type if record is not None and touched_alone(record, accesses) else ""
    nobody = MemberAccesses(path, member.offset, member.span.size, AccessCounts(), (), alone=alone)
    return replace(found, members=(nobody,))


def handed_on(layout: Layout, offset: int, size: int, accesses: AccessMap) -> tuple[HandedAddress, ...]:
    """The calls that hand on the address of what lies in ``size`` bytes at ``offset`` of the layout, by who gets it."""
    if accesses.handed is None:
        return ()
    end = offset + max(size, 1)
    within = [one.rows for one in _entries(layout.id, accesses.handed) if offset <= one.offset < end]
    calls = (
        HandedAddress(one.variable or "", one.function, one.inlined, one.file, one.line)
        for one in accesses.handed.accesses(_together(within).tolist())
    )
    return tuple(sorted(dict.fromkeys(calls), key=lambda one: (one.to, one.function, one.file, one.line or 0)))


def at_place(layout: Layout, offset: int, size: int, accesses: AccessMap | None) -> tuple[CodeAccess, ...]:
    """The accesses to ``size`` bytes at ``offset`` of the layout, by the instructions that make them."""
    if accesses is None:
        return ()
    over = [one for one in _entries(layout.id, accesses) if offset < one.offset + max(one.width, 1)]
    return tuple(accesses.accesses(_together([one.rows for one in over if one.offset < offset + size]).tolist()))


def touching(layout: Layout, accesses: AccessMap) -> Callable[[int, int], MemberAccesses]:
    """Tells who touches ``size`` bytes at ``offset`` of ``layout``, whatever member lies there."""
    entries = _entries(layout.id, accesses)

    def touched(offset: int, size: int) -> MemberAccesses:
        over = [one for one in entries if one.offset < offset + size and offset < one.offset + max(one.width, 1)]
        return _member(offset, size, "", _together([entry.rows for entry in over]), accesses)

    return touched


def touched_alone(layout_id: int, accesses: AccessMap) -> bool:
    """Whether some code touches such a record without knowing what holds it: it got the record's own address."""
    first, last = accesses.entries_of(layout_id)
    places = accesses.entry_place[first:last]
    alone = (accesses.entry_path[first:last] == 0) & (
        accesses.entry_offset[first:last] == accesses.place_offset[places]
    )
    return any(_RESOLVED[accesses.outcome[accesses.rows_of_place(place)]].any() for place in places[alone].tolist())


def _entries(layout_id: int, accesses: AccessMap) -> list[_PlaceRows]:
    first, last = accesses.entries_of(layout_id)
    found = []
    for number in range(first, last):
        place, offset = int(accesses.entry_place[number]), int(accesses.entry_offset[number])
        rows = accesses.rows_of_place(place)
        rows = rows[_RESOLVED[accesses.outcome[rows]]]
        if len(rows):
            outer, base = int(accesses.place_type[place]), int(accesses.place_offset[place]) - offset
            width = int(accesses.place_width[place])
            found.append(_PlaceRows(offset, width, rows, outer, base, int(accesses.entry_path[number])))
    return found


def _together(parts: list[Rows]) -> Rows:
    """Each row once, by address."""
    return distinct(np.concatenate(parts)) if parts else np.zeros(0, np.uint32)


def distinct(values: NDArray[np.uint32]) -> Rows:
    """Each value once, in order; ``np.unique`` alone imports masked arrays, which takes as long as the rest."""
    found: Rows = np.unique(values, return_counts=True)[0]
    return found


def _members(
    layout: Layout, layouts: Layouts, entries: list[_PlaceRows], accesses: AccessMap
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
    members = []
    for (offset, size, path), rows in sorted(rows_of.items()):
        alternatives = leaves_at(layout, layouts, offset, ALTERNATIVES)
        same = dict.fromkeys(leaf.path for leaf in alternatives if (leaf.offset, leaf.size) == (offset, size))
        one = _member(offset, size, path, _together(rows), accesses)
        members.append(replace(one, alternatives=tuple(other for other in same if other != path)))
    return tuple(members), _together(elsewhere)


def _member(offset: int, size: int, path: str, rows: Rows, accesses: AccessMap) -> MemberAccesses:
    return MemberAccesses(path, offset, size, accesses.counts(rows), functions_of(rows, accesses))


def functions_of(rows: Rows, accesses: AccessMap) -> tuple[FunctionCounts, ...]:
    """The functions whose code has these rows, most accesses first; functions of one name are reported as one."""
    kinds: dict[str, list[int]] = {}
    keys, counts = np.unique(accesses.function[rows].astype(np.uint64) * 4 + accesses.kind[rows], return_counts=True)
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        kinds.setdefault(accesses.functions[int(key) // 4], [0] * 4)[int(key) % 4] += count
    found = [FunctionCounts(name, AccessCounts(*one)) for name, one in kinds.items()]
    return tuple(sorted(found, key=lambda one: (-one.counts.total, one.function)))


def _embeddings(entries: list[_PlaceRows], accesses: AccessMap) -> tuple[Embedding, ...]:
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


def summary(accesses: AccessMap) -> AccessSummary:
    """Accesses by outcome and by kind, each counted once; how many functions there are, how many types are touched."""
    outcomes = np.bincount(accesses.outcome, minlength=len(OUTCOMES)).tolist()
    kinds = np.bincount(accesses.kind, minlength=len(KINDS)).tolist()
    return AccessSummary(
        accesses=len(accesses),
        functions=len(accesses.functions),
        types=len(distinct(accesses.place_type[1:])),
        kinds=AccessCounts(*kinds),
        outcomes=tuple(zip(OUTCOMES, outcomes, strict=True)),
    )
