# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory handed out before the allocators ran: what it holds is told by the variables that point to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import drgn
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.list import list_for_each_entry
from drgn.helpers.linux.mm import for_each_vmap_area
from drgn.helpers.linux.percpu import per_cpu
from drgn.helpers.linux.pid import for_each_task

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.cache_types import RecordSize
from linesmith.plugins.snapshots.object_types import KernelMemory
from linesmith.plugins.snapshots.pages import DirectMap
from linesmith.plugins.snapshots.pointers import BUCKET_BYTES, words_where

# Other variables may point into the midst of a record.
_LOOK_BACK = 64
_MOST_TABLE_BYTES = 64 << 20


class BootMemory:
    """The pointers of variables into the direct map."""

    def __init__(self, memory: KernelMemory, direct: DirectMap, size_of: RecordSize) -> None:
        """Searches the variables."""
        within = direct.addresses.__contains__
        found = ((word, at, one) for one in memory.variables() for at, word in words_where(one, within))
        self._pointers = sorted(found, key=lambda row: row[:2])
        self._values = [value for value, _, _ in self._pointers]
        self._memory = memory
        self._direct = direct
        self._size_of = size_of

    def area(self, address: int) -> ObjectArea | None:
        """The record, or the table of small records, that a variable says lies at ``address``."""
        return self._pointed(address) if self._direct.is_boot_memory(address) else None

    def _pointed(self, address: int) -> ObjectArea | None:
        behind = bisect_right(self._values, address)
        candidates = (self._at(index) for index in range(behind - 1, max(behind - _LOOK_BACK, 0) - 1, -1))
        return next((area for areas in candidates for area in areas if address < area.end), None)

    def _at(self, index: int) -> Iterator[ObjectArea]:
        """What the pointer ``index`` says, once for each record that it may point to."""
        value, place, source = self._pointers[index]
        behind = next((other for other in self._values[index : index + _LOOK_BACK] if other > value), value)
        name = self._memory.variable(place) or "a variable"
        for record in source.declared(place):
            size = self._size_of(record) or 0
            count = 1 if size > BUCKET_BYTES else _whole_table(self._room(value, behind), size)
            if size > BUCKET_BYTES or (size and self._memory.is_pointer_variable(place)):
                detail = f"pointed to by {name}"
                yield ObjectArea(ObjectKind.BOOT, name, value, size, size, count, (record,), detail=detail)

    def _room(self, start: int, behind: int) -> int:
        """Bytes of boot memory from ``start`` on, up to what another variable points to."""
        pages = range(start, min(max(behind, start), start + _MOST_TABLE_BYTES), self._direct.page_bytes)
        end = next((page for page in pages if not self._direct.is_boot_memory(page)), pages.stop)
        return end - start


def _whole_table(room: int, size: int) -> int:
    """Elements of a table that fits into ``room`` bytes: tables of the boot allocator have a power of two."""
    count = room // size if size else 0
    return 1 << count.bit_length() - 1 if count else 1


# Memory that the per-CPU allocator handed out at run time (mm/percpu.c of the kernel).

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


# Areas of vmalloc memory with the function that asked for them, and stacks wherever they lie.

# Functions that ask for the stacks of interrupts.
_INTERRUPT_STACKS = frozenset({"irq_init_percpu_irqstack", "map_irq_stack", "init_irq_stacks", "arch_alloc_vmap_stack"})


class AreaMap:
    """Areas that do not overlap, by address."""

    def __init__(self, areas: list[ObjectArea]) -> None:
        """Sorts the areas."""
        self._areas = sorted(areas, key=lambda area: area.address)
        self._starts = [area.address for area in self._areas]

    def area(self, address: int) -> ObjectArea | None:
        """The area that holds ``address``."""
        index = bisect_right(self._starts, address) - 1
        area = self._areas[index] if index >= 0 else None
        return area if area is not None and address < area.end else None


def stacks(program: drgn.Program) -> AreaMap:
    """The stacks of all tasks, idle ones included."""
    size = _stack_bytes(program)
    # A task that has ended gives its stack back before it leaves the list.
    starts = {task.stack.value_() for task in _tasks(program)} - {0}
    return AreaMap([ObjectArea(ObjectKind.STACK, "task stack", start, size, size) for start in starts])


def vmalloc(program: drgn.Program, stack: AreaMap) -> AreaMap:
    """Every vmalloc area; what has a caller in common with the stack of a task is a stack, also one kept for reuse."""
    rows = list(_rows(program))
    callers = _INTERRUPT_STACKS | {caller for start, _, caller in rows if caller and stack.area(start)}
    return AreaMap([_vmalloc_area(start, size, caller, caller in callers) for start, size, caller in rows])


def _vmalloc_area(start: int, size: int, caller: str | None, is_stack: bool) -> ObjectArea:
    kind, name = (ObjectKind.STACK, "stack") if is_stack else (ObjectKind.VMALLOC, caller or "vmalloc")
    return ObjectArea(kind, name, start, size, size, detail=f"allocated by {caller}" if caller else "")


def _rows(program: drgn.Program) -> Iterator[tuple[int, int, str | None]]:
    """Start, size in bytes without the guard page, and caller."""
    guard = program["PAGE_SIZE"].value_()
    for area in for_each_vmap_area(program):
        start, end = area.va_start.value_(), area.va_end.value_()
        vm = area.vm
        if not vm:
            yield start, end - start, None
            continue
        pages = vm.nr_pages.value_() * guard
        yield start, pages or max(end - start - guard, guard), _function(program, vm.caller.value_())


def _function(program: drgn.Program, address: int) -> str | None:
    try:
        symbol: drgn.Symbol = program.symbol(address)
    except LookupError:
        return None
    return str(symbol.name)


def _tasks(program: drgn.Program) -> Iterator[drgn.Object]:
    yield program["init_task"]
    yield from for_each_task(program)
    try:
        idle = program["idle_threads"]
    except LookupError:
        return
    yield from (thread for cpu in for_each_possible_cpu(program) if (thread := per_cpu(idle, cpu)))


def _stack_bytes(program: drgn.Program) -> int:
    symbols = (symbol for name in ("init_stack", "init_thread_union") for symbol in program.symbols(name))
    size = next((symbol.size for symbol in symbols if symbol.size), 0)
    return size or 4 * int(program["PAGE_SIZE"].value_())
