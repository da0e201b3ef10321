# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that the per-CPU allocator handed out at run time (mm/percpu.c of the kernel)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import drgn
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.list import list_for_each_entry

from linesmith.analyzer.model import ObjectArea, ObjectKind

# Bytes per bit of the maps (PCPU_MIN_ALLOC_SIZE).
_GRAIN = 4


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk: where each CPU's unit begins, and where allocations begin and end within a unit."""

    units: tuple[tuple[int, range], ...]
    bounds: bytes

    def extent(self, offset: int) -> tuple[int, int]:
        """First byte and size of the allocation that holds byte ``offset`` of a unit."""
        bit, last = offset // _GRAIN, len(self.bounds) * 8
        first = next((index for index in range(bit, -1, -1) if self._set(index)), 0)
        behind = next((index for index in range(bit + 1, last) if self._set(index)), last)
        return first * _GRAIN, (behind - first) * _GRAIN

    def _set(self, bit: int) -> int:
        return self.bounds[bit // 8] >> bit % 8 & 1


class PerCpuChunks:
    """Every chunk of the allocator."""

    def __init__(self, program: drgn.Program) -> None:
        """Reads the chunks' bounds; a kernel for one CPU only has none."""
        self._chunks = tuple(_chunks(program))

    def area(self, address: int) -> ObjectArea | None:
        """The dynamic per-CPU allocation at ``address``."""
        for chunk in self._chunks:
            for cpu, unit in chunk.units:
                if address in unit:
                    return _area(chunk, cpu, unit.start, address)
        return None


def _area(chunk: Chunk, cpu: int, base: int, address: int) -> ObjectArea:
    offset, size = chunk.extent(address - base)
    return ObjectArea(ObjectKind.PER_CPU, "alloc_percpu", base + offset, size, size, cpu=cpu)


def _chunks(program: drgn.Program) -> Iterator[Chunk]:
    try:
        lists, slots = program["pcpu_chunk_lists"], program["pcpu_nr_slots"].value_()
        reserved = program["pcpu_reserved_chunk"]
    except LookupError:
        return
    if reserved:
        yield _chunk(program, reserved)
    for slot in range(slots):
        for chunk in list_for_each_entry("struct pcpu_chunk", lists[slot].address_of_(), "list"):
            yield _chunk(program, chunk)


def _chunk(program: drgn.Program, chunk: drgn.Object) -> Chunk:
    base, offsets = chunk.base_addr.value_(), program["pcpu_unit_offsets"]
    size = chunk.nr_pages.value_() * program["PAGE_SIZE"].value_()
    starts = ((cpu, base + offsets[cpu].value_()) for cpu in for_each_possible_cpu(program))
    units = tuple((cpu, range(start, start + size)) for cpu, start in starts)
    return Chunk(units, program.read(chunk.bound_map, size // _GRAIN // 8))
