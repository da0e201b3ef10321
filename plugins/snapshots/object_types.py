# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives the objects at some addresses their records, where only pointers to them can tell."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import islice

import drgn

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.pages import DirectMap
from linesmith.plugins.snapshots.pointers import KernelRecords, TypedMemory, as_array, likely_records, votes_for
from linesmith.plugins.snapshots.variables import Variables

_PIECE_BYTES = 1 << 21
# Reading a slab page takes about 0.1 ms; a guest of 1 GiB has some thousands.
_MOST_SLABS = 100_000
# Kinds of memory that were handed out without a type; their areas are of one allocation each, slab pages are of many.
_UNTYPED = (ObjectKind.SLAB, ObjectKind.PER_CPU, ObjectKind.VMALLOC, ObjectKind.PAGES)
# Steps from a variable to an object that has to be typed, through others that had to be.
_MOST_STEPS = 5


class KernelMemory:
    """Memory as a source of typed pointers: variables, and slab pages; what the dump does not hold is left out."""

    def __init__(self, program: drgn.Program, variables: Variables, direct: DirectMap, records: KernelRecords) -> None:
        """Reads nothing yet."""
        self._program = program
        self._variables = variables
        self._direct = direct
        self.records = records

    def typed(self) -> Iterator[TypedMemory]:
        """All memory of known types."""
        yield from self.variables()
        yield from (self._objects(area) for area in self.slab_areas if len(area.types) == 1)

    def variables(self) -> Iterator[TypedMemory]:
        """The memory of variables."""
        for section in self._variables.sections():
            for address in section[::_PIECE_BYTES]:
                content = _readable_parts(self._program, address, min(_PIECE_BYTES, section.stop - address))
                yield from (TypedMemory(at, piece, self._variables.pointees) for at, piece in content)

    def record(self, start: int, size: int, record: str) -> TypedMemory:
        """One object of a record known otherwise."""
        return self._objects(ObjectArea(ObjectKind.SLAB, "", start, size, size, types=(record,)))

    @cached_property
    def slab_areas(self) -> tuple[ObjectArea, ...]:
        """Every slab page, of large machines the first hundred thousand."""
        return tuple(islice(self._direct.slab_areas(), _MOST_SLABS))

    def pointer_to(self, area: ObjectArea, start: int) -> int:
        """The word that points to the object at ``start``: pointers to per-CPU memory are the same for all CPUs."""
        return start if area.cpu is None else self._variables.per_cpu_pointer(start, area.cpu)

    def _objects(self, area: ObjectArea) -> TypedMemory:
        record = area.types[0]

        def declared(address: int) -> tuple[str, ...]:
            return self.records.pointees(record, (address - area.address) % area.stride)

        return TypedMemory(area.address, self._program.read(area.address, area.end - area.address), declared)


def _readable_parts(program: drgn.Program, address: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The parts of a range that can be read; the kernel gives back pages of its image after boot."""
    page = program["PAGE_SIZE"].value_()
    try:
        yield address, program.read(address, size)
    except drgn.FaultError:
        if size > page:
            for start in range(address, address + size, page):
                yield from _readable_parts(program, start, min(page, address + size - start))


def with_records(
    areas: Collection[ObjectArea], addresses: Iterable[int], memory: KernelMemory
) -> tuple[ObjectArea, ...]:
    """``areas`` with a record for those objects at ``addresses`` that had none or several, as far as pointers tell."""
    unclear = _unclear_objects(tuple(areas), addresses)
    pointers = {memory.pointer_to(area, start) for area, starts in unclear.items() for start in starts}
    votes = _votes(pointers, memory) if pointers else {}
    return tuple(piece for area in areas for piece in _pieces(area, unclear.get(area, ()), votes, memory))


def _unclear_objects(areas: tuple[ObjectArea, ...], addresses: Iterable[int]) -> dict[ObjectArea, set[int]]:
    """Starts of the objects at ``addresses`` whose record is not clear, by area."""
    found: dict[ObjectArea, set[int]] = {}
    firsts = [area.address for area in areas]
    for address in addresses:
        index = bisect_right(firsts, address) - 1
        area = areas[index] if index >= 0 else None
        if area is not None and area.kind in _UNTYPED and len(area.types) != 1 and address < area.end:
            found.setdefault(area, set()).add(address - (address - area.address) % area.stride)
    return found


def _votes(pointers: set[int], memory: KernelMemory) -> dict[int, Counter[str]]:
    """What clearly typed memory points to, then what the objects typed by that point to, and so on."""
    unclear = tuple(area for area in memory.slab_areas if len(area.types) != 1)
    objects = {area.address + index * area.stride: area for area in unclear for index in range(area.count)}
    votes: dict[int, Counter[str]] = {}
    sources: Iterable[TypedMemory] = memory.typed()
    for _ in range(_MOST_STEPS):
        more = votes_for(pointers | objects.keys(), sources)
        for pointer, counted in more.items():
            votes.setdefault(pointer, Counter()).update(counted)
        found = []
        for start in more.keys() & objects.keys():
            types = likely_records(votes[start], objects[start].size, memory.records)
            if len(types) == 1:
                found.append(memory.record(start, objects.pop(start).size, types[0]))
        sources = found
    return votes


def _pieces(
    area: ObjectArea, starts: Iterable[int], votes: Mapping[int, Counter[str]], memory: KernelMemory
) -> tuple[ObjectArea, ...]:
    """``area`` with what ``votes`` tell of its objects at ``starts``."""
    counted = {start: votes[pointer] for start in starts if (pointer := memory.pointer_to(area, start)) in votes}
    types = {start: likely_records(votes, area.size, memory.records) for start, votes in counted.items()}
    if any(types.values()) or area.kind not in (ObjectKind.VMALLOC, ObjectKind.PAGES):
        named = {start: tuple(dict.fromkeys((*names, *area.types))) for start, names in types.items() if names}
        return area.split({(start - area.address) // area.stride: names for start, names in named.items()})
    # One allocation, at whose start the votes are for records that are too small for it.
    element = next((as_array(votes, memory.records.size) for votes in counted.values()), None)
    if element is None:
        return (area,)
    record, size = element
    return (replace(area, types=(record,), size=size, stride=size, count=area.size // size),)
