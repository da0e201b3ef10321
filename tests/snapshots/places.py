# SPDX-License-Identifier: GPL-2.0-or-later
"""Places in the memory of a guest, with what the kernel's own structures and lists say that lies there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import drgn
from drgn.helpers.linux.fs import for_each_mount
from drgn.helpers.linux.kallsyms import module_kallsyms
from drgn.helpers.linux.list import list_for_each_entry
from drgn.helpers.linux.mm import follow_phys, for_each_vma, for_each_vmap_area, phys_to_virt, virt_to_page
from drgn.helpers.linux.module import find_module, module_address_regions
from drgn.helpers.linux.percpu import per_cpu
from drgn.helpers.linux.pid import for_each_task
from drgn.helpers.linux.slab import find_slab_cache

from linesmith.analyzer.model import ObjectArea, ObjectKind, Snapshot

MEMORY = 256 << 20


@dataclass(frozen=True)
class Known:
    """An address, and fields of the area that it must lie in; ``start`` is where the object begins."""

    at: int
    start: int | None = None
    fields: dict[str, Any] = field(default_factory=dict)


def area_at(snapshot: Snapshot, address: int) -> ObjectArea:
    index = bisect_right([area.address for area in snapshot.areas], address) - 1
    assert index >= 0
    assert address < snapshot.areas[index].end
    return snapshot.areas[index]


def start_at(area: ObjectArea, address: int) -> int:
    return address - (address - area.address) % area.stride


def dentries(program: drgn.Program) -> drgn.Object:
    cache = find_slab_cache(program, "dentry")
    assert cache is not None
    return cache


def in_the_image(program: drgn.Program) -> dict[str, Known]:
    """What is no slab memory."""
    task, softirqs, clock = program["init_task"], program["softirq_vec"], program["tk_core"].timekeeper
    queue, node = per_cpu(program["runqueues"], 2).address_, program["node_data"][0].value_()
    table = program["dentry_hashtable"].value_()
    stacks = task.stack.value_(), per_cpu(program["idle_threads"], 3).stack.value_()
    page = virt_to_page(program, program["init_fs"].root.dentry.value_()).value_()
    called = (one for one in for_each_vmap_area(program) if one.vm)
    area = next(one for one in called if program.symbol(one.vm.caller).name == "hpet_enable").va_start.value_()
    alias = phys_to_virt(program, follow_phys(program["init_mm"].address_of_(), task.address_)).value_()
    module = find_module(program, "fat")
    fat = module_address_regions(module)[0][0]
    floppy = next(symbol for symbol in module_kallsyms(module) if symbol.name == "floppy_defaults")
    buckets = 1 << (32 - program["d_hash_shift"].value_())
    own = {"kind": ObjectKind.GLOBAL, "name": "init_task", "types": ("task_struct",)}
    boot, stack = ObjectKind.BOOT, {"kind": ObjectKind.STACK}
    timekeeper = {"name": "tk_core.timekeeper", "types": ("timekeeper",)}
    actions = {"types": ("softirq_action",), "address": softirqs.address_, "count": softirqs.type_.length}
    run_queue = {"kind": ObjectKind.PER_CPU, "name": "runqueues", "types": ("rq",), "cpu": 2}
    heads = {"kind": boot, "types": ("hlist_bl_head",), "size": 8, "address": table, "count": buckets}
    defaults = {
        "kind": ObjectKind.GLOBAL,
        "name": "floppy_defaults",
        "size": floppy.size,
        "detail": "of the module fat",
    }
    return {
        "a variable": Known(task.address_ + 100, task.address_, own | {"size": task.type_.size, "count": 1}),
        "a variable through the direct map": Known(alias + 8, alias, own),
        "a record without a name, by its members": Known(clock.address_ + 8, clock.address_, timekeeper),
        "an array of records": Known(softirqs.address_ + 8, softirqs.address_ + 8, actions),
        "a per-CPU variable": Known(queue + 8, queue, run_queue),
        "the stack of a task": Known(stacks[0] + 500, stacks[0], stack),
        "the stack of an idle CPU": Known(stacks[1] + 500, stacks[1], stack),
        "a page descriptor": Known(page + 52, page, {"kind": ObjectKind.STRUCT_PAGE, "types": ("page",)}),
        "a table of the boot allocator": Known(table + 800, table + 800, heads | {"name": "dentry_hashtable"}),
        "a memory node": Known(node + 100_000, node, {"kind": boot, "types": ("pglist_data",)}),
        "an area of vmalloc": Known(area + 8, area, {"kind": ObjectKind.VMALLOC, "name": "hpet_enable"}),
        "a variable of a module": Known(floppy.address + 4, floppy.address, defaults),
        "a module": Known(fat, None, {"name": "module fat"}),
    }


def in_slabs(program: drgn.Program) -> dict[str, Known]:
    """Memory of the slab allocator, and of the per-CPU one."""
    cache, root = dentries(program), program["init_fs"].root.dentry.value_()
    shape = {"size": cache.object_size.value_(), "stride": cache.size.value_(), "merged": ()}
    per_cpu_cache = per_cpu(cache.cpu_slab[0], 1).address_
    domain = per_cpu(program["runqueues"], 1).sd
    by_pointers = {
        "sched_domain": domain,
        "sched_group": domain.groups,
        "sched_group_capacity": domain.groups.sgc,
        "root_domain": per_cpu(program["runqueues"], 1).rd,
        "mem_cgroup_per_node": program["root_mem_cgroup"].nodeinfo[0],
    }
    return {
        "dentry": Known(root, root, {"kind": ObjectKind.SLAB, "name": "dentry", "types": ("dentry",)} | shape),
        "kmem_cache_cpu": Known(
            per_cpu_cache + 8,
            per_cpu_cache,
            {"kind": ObjectKind.PER_CPU, "types": ("kmem_cache_cpu",), "cpu": 1, "address": per_cpu_cache},
        ),
        **{name: Known(one.value_(), one.value_(), {"types": (name,)}) for name, one in by_pointers.items()},
    }


def signals(program: drgn.Program) -> drgn.Object:
    return next(for_each_task(program)).signal


def slab_places(program: drgn.Program) -> Iterator[int]:
    yield from (one.at for one in in_slabs(program).values())
    yield from (one.middle for one in listed(program))
    yield signals(program).value_()


def places_of(program: drgn.Program) -> Iterator[int]:
    """All places, and addresses all over the memory, of user space and of nothing."""
    yield from slab_places(program)
    yield from (one.at for one in in_the_image(program).values())
    start = phys_to_virt(program, 0).value_()
    yield from range(start, start + MEMORY, 4096 * 7 + 8)
    yield from (0, 0x400000, (1 << 64) - 8)


@dataclass(frozen=True)
class Listed:
    """An object of a list; ``size`` in bytes as its record declares."""

    record: str
    address: int
    size: int

    @property
    def middle(self) -> int:
        """An address within the object, wherever the machine cuts the end of its record."""
        return self.address + self.size // 3


def listed(program: drgn.Program) -> list[Listed]:
    """Tasks with what hangs on them, and super blocks with the inodes of each."""
    found = {*_of_tasks(program), *_of_mounts(program)}
    return [
        Listed(record, address, program.type(f"struct {record}").size) for record, address in sorted(found) if address
    ]


def _of_tasks(program: drgn.Program) -> Iterator[tuple[str, int]]:
    hanging = {"signal": "signal_struct", "sighand": "sighand_struct", "cred": "cred", "fs": "fs_struct"}
    for task in for_each_task(program):
        yield "task_struct", task.value_()
        for member, record in (hanging | {"files": "files_struct"}).items():
            yield record, task.member_(member).value_()
        if task.mm:
            yield "mm_struct", task.mm.value_()
            yield from _of_mappings(task.mm)


def _of_mappings(mm: drgn.Object) -> Iterator[tuple[str, int]]:
    for mapping in for_each_vma(mm):
        yield "vm_area_struct", mapping.value_()
        yield "anon_vma", mapping.anon_vma.value_()
        if mapping.vm_file:
            yield "file", mapping.vm_file.value_()
            yield "dentry", mapping.vm_file.f_path.dentry.value_()


def _of_mounts(program: drgn.Program) -> Iterator[tuple[str, int]]:
    for mount in for_each_mount(program):
        block = mount.mnt.mnt_sb
        yield "super_block", block.value_()
        for inode in list_for_each_entry("struct inode", block.s_inodes.address_of_(), "i_sb_list"):
            yield "inode", inode.value_()
