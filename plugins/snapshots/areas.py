# SPDX-License-Identifier: GPL-2.0-or-later
"""The area of each address: every part of a kernel's memory is asked in turn what lies there.

What page descriptors do not explain is here, too. What the boot allocator handed out is named by the variables that
point to it; the per-CPU allocator (mm/percpu.c) has bit maps of its allocations, for which drgn has no helper; of
vmalloc memory the kernel knows which function asked for it.

Objects get their records where only pointers to them can tell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import drgn
from drgn.helpers.linux.cpumask import for_each_possible_cpu
from drgn.helpers.linux.list import list_for_each_entry
from drgn.helpers.linux.mm import for_each_vmap_area
from drgn.helpers.linux.pid import for_each_task
from drgn.helpers.linux.sched import idle_task

from linesmith.analyzer.model import ObjectArea, ObjectKind, Snapshot
from linesmith.plugins.snapshots.kernel import opened
from linesmith.plugins.snapshots.pages import DirectMap, Slabs
from linesmith.plugins.snapshots.pointers import (
    BUCKET_BYTES,
    WORD_BYTES,
    KernelRecords,
    TypedMemory,
    as_array,
    likely_records,
    votes_for,
    words_where,
)
from linesmith.plugins.snapshots.variables import Modules, Variables

AreaFinder = Callable[[int], ObjectArea | None]

# Other variables may point into the midst of a record.
_LOOK_BACK = 64
_MOST_TABLE_BYTES = 64 << 20
# Bytes per bit of the per-CPU allocator's maps (PCPU_MIN_ALLOC_SIZE).
_GRAIN = 4
_UNREADABLE = "only the SLUB allocator is read; slab objects of this kernel have no names"
# Functions that ask for the stacks of interrupts.
_INTERRUPT_STACKS = frozenset({"irq_init_percpu_irqstack", "map_irq_stack", "init_irq_stacks", "arch_alloc_vmap_stack"})
_PIECE_BYTES = 1 << 21
# Reading a slab page takes about 0.1 ms; a guest of 1 GiB has some thousands.
_MOST_SLABS = 100_000
# Kinds of memory that were handed out without a type; their areas are of one allocation each, slab pages are of many.
_UNTYPED = (ObjectKind.SLAB, ObjectKind.PER_CPU, ObjectKind.VMALLOC, ObjectKind.PAGES)
# Steps from a variable to an object that has to be typed, through others that had to be.
_MOST_STEPS = 5


def snapshot_of(memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
    """The areas of the kernel ``vmlinux`` in ``memory`` that hold ``addresses``; see ``SnapshotSource``."""
    program = opened(memory, vmlinux)
    records = KernelRecords(program)
    slabs = Slabs(program, records.size)
    variables = Variables(program)
    direct = DirectMap(program, slabs, variables)
    typed_memory = KernelMemory(program, variables, direct, records)
    task_stacks = stacks(program)
    finders = (
        # May lie within the direct map and vmalloc memory, so they are asked first.
        task_stacks.area,
        variables.image,
        variables.per_cpu,
        PerCpuChunks(program).area,
        Modules(program).area,
        vmalloc(program, task_stacks).area,
        direct.frame,
        BootMemory(typed_memory, variables, direct).area,
        direct.area,
    )
    build_id = program.main_module().build_id
    return Snapshot(
        source=str(memory),
        areas=with_records(areas_of(addresses, finders), addresses, typed_memory),
        kernel_release=program["init_uts_ns"].name.release.string_().decode("utf-8", "backslashreplace"),
        build_id=build_id and build_id.hex(),
        remarks=() if slabs.readable else (_UNREADABLE,),
    )


def areas_of(addresses: Iterable[int], finders: Collection[AreaFinder]) -> tuple[ObjectArea, ...]:
    """The areas that hold ``addresses``, by address; the first finder that knows one is believed.

    Where two overlap, memory known by its pages only is cut; otherwise the second one is left out.
    """
    found: list[ObjectArea] = []
    for address in sorted(set(addresses)):
        if found and address < found[-1].end:
            continue
        area = next((area for finder in finders if (area := finder(address)) is not None), None)
        if area is None:
            continue
        last = found[-1] if found else None
        if last is not None and area.address < last.end:
            if _is_bare(last) and area.address > last.address:
                found[-1] = _cut(last, last.address, area.address)
            elif _is_bare(area):
                area = _cut(area, last.end, area.end)
            else:
                continue
        found.append(area)
    return tuple(found)


def _is_bare(area: ObjectArea) -> bool:
    return not area.types and area.count == 1


def _cut(area: ObjectArea, start: int, end: int) -> ObjectArea:
    return replace(area, address=start, size=end - start, stride=end - start)


class BootMemory:
    """The pointers of variables into the direct map, to memory that was handed out before the allocators ran."""

    def __init__(self, memory: KernelMemory, variables: Variables, direct: DirectMap) -> None:
        """Searches the variables."""
        within = direct.addresses.__contains__
        found = ((word, at, one) for one in memory.variables() for at, word in words_where(one, within))
        self._pointers = sorted(found, key=lambda row: row[:2])
        self._values = [value for value, _, _ in self._pointers]
        self._variables = variables
        self._direct = direct
        self._size_of = memory.records.size

    def area(self, address: int) -> ObjectArea | None:
        """The record, or the table of small records, that a variable says lies at ``address``."""
        if not self._direct.is_boot_memory(address):
            return None
        behind = bisect_right(self._values, address)
        candidates = (self._at(index) for index in range(behind - 1, max(behind - _LOOK_BACK, 0) - 1, -1))
        return next((area for areas in candidates for area in areas if address < area.end), None)

    def _at(self, index: int) -> Iterator[ObjectArea]:
        """What the pointer ``index`` says, once for each record that it may point to."""
        value, place, source = self._pointers[index]
        name = self._variables.name_at(place) or "a variable"
        for record in source.declared(place):
            size = self._size_of(record) or 0
            if size > BUCKET_BYTES or (size and self._variables.is_whole(place, WORD_BYTES)):
                count = 1 if size > BUCKET_BYTES else self._room(index) // size
                # Tables of the boot allocator have a power of two elements.
                count = 1 << max(count.bit_length() - 1, 0)
                detail = f"pointed to by {name}"
                yield ObjectArea(ObjectKind.BOOT, name, value, size, size, count, (record,), detail=detail)

    def _room(self, index: int) -> int:
        """Bytes of boot memory from where the pointer ``index`` points to, up to what another variable points to."""
        start = self._values[index]
        behind = next((other for other in self._values[index : index + _LOOK_BACK] if other > start), start)
        pages = range(start, min(behind, start + _MOST_TABLE_BYTES), self._direct.page_bytes)
        end = next((page for page in pages if not self._direct.is_boot_memory(page)), pages.stop)
        return end - start


@dataclass(frozen=True, slots=True)
class PerCpuChunk:
    """One chunk: where each CPU's unit begins, and a bit for each grain of a unit, set where an allocation begins."""

    units: tuple[tuple[int, range], ...]
    bounds: bytes

    def extent(self, offset: int) -> tuple[int, int]:
        """First byte and size of the allocation that holds byte ``offset`` of a unit."""
        bit, last = offset // _GRAIN, len(self.bounds) * 8
        first = next((index for index in range(bit, -1, -1) if self._is_set(index)), 0)
        behind = next((index for index in range(bit + 1, last) if self._is_set(index)), last)
        return first * _GRAIN, (behind - first) * _GRAIN

    def _is_set(self, bit: int) -> int:
        return self.bounds[bit // 8] >> bit % 8 & 1


class PerCpuChunks:
    """Every chunk of the allocator of per-CPU memory at run time."""

    def __init__(self, program: drgn.Program) -> None:
        """Reads the chunks' bounds; a kernel for one CPU only has none."""
        self._chunks = tuple(_chunks(program))

    def area(self, address: int) -> ObjectArea | None:
        """The dynamic per-CPU allocation at ``address``."""
        for chunk in self._chunks:
            for cpu, unit in chunk.units:
                if address in unit:
                    offset, size = chunk.extent(address - unit.start)
                    return ObjectArea(ObjectKind.PER_CPU, "alloc_percpu", unit.start + offset, size, size, cpu=cpu)
        return None


def _chunks(program: drgn.Program) -> Iterator[PerCpuChunk]:
    try:
        lists, slots = program["pcpu_chunk_lists"], program["pcpu_nr_slots"].value_()
        reserved = program["pcpu_reserved_chunk"]
    except LookupError:
        return
    chunks = [reserved] if reserved else []
    for slot in range(slots):
        chunks += list_for_each_entry("struct pcpu_chunk", lists[slot].address_of_(), "list")
    cpus, offsets = tuple(for_each_possible_cpu(program)), program["pcpu_unit_offsets"]
    for chunk in chunks:
        base, size = chunk.base_addr.value_(), chunk.nr_pages.value_() * program["PAGE_SIZE"].value_()
        starts = ((cpu, base + offsets[cpu].value_()) for cpu in cpus)
        units = tuple((cpu, range(start, start + size)) for cpu, start in starts)
        yield PerCpuChunk(units, program.read(chunk.bound_map, size // _GRAIN // 8))


class AreaMap:
    """Areas that do not overlap, by address."""

    def __init__(self, areas: list[ObjectArea]) -> None:
        self._areas = sorted(areas, key=lambda area: area.address)
        self._starts = [area.address for area in self._areas]

    def area(self, address: int) -> ObjectArea | None:
        """The area that holds ``address``."""
        index = bisect_right(self._starts, address) - 1
        return self._areas[index] if index >= 0 and address < self._areas[index].end else None


def stacks(program: drgn.Program) -> AreaMap:
    """The stacks of all tasks, idle ones included."""
    size = program["THREAD_SIZE"].value_()
    idle = (idle_task(program, cpu) for cpu in for_each_possible_cpu(program))
    tasks = (*for_each_task(program), *(task for task in idle if task))
    # A task that has ended gives its stack back before it leaves the list.
    starts = {task.stack.value_() for task in tasks} - {0}
    return AreaMap([ObjectArea(ObjectKind.STACK, "task stack", start, size, size) for start in starts])


def vmalloc(program: drgn.Program, stack: AreaMap) -> AreaMap:
    """Every vmalloc area; what has a caller in common with the stack of a task is a stack, also one kept for reuse."""
    rows = list(_vmalloc_rows(program))
    callers = _INTERRUPT_STACKS | {caller for start, _, caller in rows if caller and stack.area(start)}
    areas = []
    for start, size, caller in rows:
        kind, name = (ObjectKind.STACK, "stack") if caller in callers else (ObjectKind.VMALLOC, caller or "vmalloc")
        detail = f"allocated by {caller}" if caller else ""
        areas.append(ObjectArea(kind, name, start, size, size, detail=detail))
    return AreaMap(areas)


def _vmalloc_rows(program: drgn.Program) -> Iterator[tuple[int, int, str | None]]:
    """Start, size in bytes without the guard page, and the function that asked for the area."""
    guard = program["PAGE_SIZE"].value_()
    for area in for_each_vmap_area(program):
        start, end = area.va_start.value_(), area.va_end.value_()
        vm = area.vm
        if not vm:
            yield start, end - start, None
            continue
        try:
            caller = str(program.symbol(vm.caller.value_()).name)
        except LookupError:
            caller = None
        pages = vm.nr_pages.value_() * guard
        yield start, pages or max(end - start - guard, guard), caller


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
