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
        if area is not None and _made_room(found, area.address):
            found.append(area)
    return tuple(found)


def _made_room(found: list[ObjectArea], address: int) -> bool:
    """Whether the last area ends before ``address``; memory of which nothing is known but its pages is cut there."""
    if not found or address >= found[-1].end:
        return True
    last = found[-1]
    if last.types or last.count > 1 or address <= last.address:
        return False
    size = address - last.address
    found[-1] = replace(last, size=size, stride=size)
    return True


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
