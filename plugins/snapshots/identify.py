# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks every part of a kernel's memory in turn what lies at an address."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

import drgn

from linesmith.analyzer.model import ObjectArea, Snapshot
from linesmith.plugins.snapshots.boot_memory import BootMemory
from linesmith.plugins.snapshots.direct_map import DirectMap
from linesmith.plugins.snapshots.kernel import opened
from linesmith.plugins.snapshots.modules import Modules
from linesmith.plugins.snapshots.object_types import typed
from linesmith.plugins.snapshots.per_cpu_chunks import PerCpuChunks
from linesmith.plugins.snapshots.records import KernelRecords
from linesmith.plugins.snapshots.slabs import Slabs
from linesmith.plugins.snapshots.typed_memory import KernelMemory
from linesmith.plugins.snapshots.variables import Variables
from linesmith.plugins.snapshots.vmalloc import stacks, vmalloc

Finder = Callable[[int], ObjectArea | None]


def snapshot(memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
    """The areas of the kernel ``vmlinux`` in ``memory`` that hold ``addresses``; see ``SnapshotSource``."""
    program = opened(memory, vmlinux)
    records = KernelRecords(program)
    slabs = Slabs(program, records.size)
    variables = Variables(program)
    direct = DirectMap(program, slabs, variables)
    typed_memory = KernelMemory(program, variables, direct)
    boot = BootMemory(typed_memory, direct, records.size)
    areas = areas_of(addresses, (*_special(program, variables), direct.frame, boot.area, direct.area))
    areas = typed(areas, addresses, typed_memory, records)
    remarks = () if slabs.readable else ("only the SLUB allocator is read; slab objects of this kernel have no names",)
    build_id = program.main_module().build_id
    return Snapshot(
        source=str(memory),
        areas=areas,
        kernel_release=program["init_uts_ns"].name.release.string_().decode("utf-8", "backslashreplace"),
        build_id=build_id and build_id.hex(),
        remarks=remarks,
    )


def areas_of(addresses: Iterable[int], finders: Collection[Finder]) -> tuple[ObjectArea, ...]:
    """The areas that hold ``addresses``, by address; the first finder that knows one is believed."""
    found: list[ObjectArea] = []
    for address in sorted(set(addresses)):
        if found and address < found[-1].end:
            continue
        area = next((area for finder in finders if (area := finder(address)) is not None), None)
        found.extend(() if area is None else _beside(found, area))
    return tuple(found)


def _beside(found: list[ObjectArea], area: ObjectArea) -> tuple[ObjectArea, ...]:
    """``area`` where it does not overlap the last one; of memory known by its pages only, what the other leaves."""
    last = found[-1] if found else None
    if last is None or area.address >= last.end:
        return (area,)
    if _is_bare(last) and area.address > last.address:
        found[-1] = _part(last, last.address, area.address)
        return (area,)
    return (_part(area, last.end, area.end),) if _is_bare(area) else ()


def _is_bare(area: ObjectArea) -> bool:
    return not area.types and area.count == 1


def _part(area: ObjectArea, start: int, end: int) -> ObjectArea:
    return replace(area, address=start, size=end - start, stride=end - start)


def _special(program: drgn.Program, variables: Variables) -> tuple[Finder, ...]:
    """What has to be asked before the direct map and vmalloc memory, since it may lie within them."""
    task_stacks = stacks(program)
    return (
        task_stacks.area,
        variables.image,
        variables.per_cpu,
        PerCpuChunks(program).area,
        Modules(program).area,
        vmalloc(program, task_stacks).area,
    )
