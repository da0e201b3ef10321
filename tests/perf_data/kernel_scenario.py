# SPDX-License-Identifier: GPL-2.0-or-later
"""An exec storm on a 6.1 kernel as a PMU would sample it: its instructions and offsets, objects where SLUB has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from perf_data.features import Computer
from perf_data.hardware import Served
from perf_data.kernel_facts import Kernel
from perf_data.scenario import Place, Task, Touch

from linesmith.analyzer.model import AccessKind

TASKS = tuple(Task(1000 + number, 1000 + number, "execstorm") for number in range(8))
_R, _W, _U, _A = AccessKind.READ, AccessKind.WRITE, AccessKind.READ_WRITE, AccessKind.ATOMIC

# How loads and stores of a contended member, and of one that is only read beside it, are served.
_CONTENDED_LOADS: Mapping[Served, float] = {
    Served.MODIFIED_HERE: 25,
    Served.MODIFIED_AWAY: 35,
    Served.L3: 15,
    Served.L1: 15,
    Served.CLEAN_AWAY: 10,
}
_CONTENDED_STORES: Mapping[Served, float] = {Served.STORE_HIT: 55, Served.STORE_MISS: 45}
_QUIET: Mapping[Served, float] = {Served.L1: 90, Served.L2: 8, Served.L3: 2}
_QUIET_STORES: Mapping[Served, float] = {Served.STORE_HIT: 98, Served.STORE_MISS: 2}
_FROM_MEMORY: Mapping[Served, float] = {Served.L1: 50, Served.RAM: 35, Served.RAM_AWAY: 15}


@dataclass(frozen=True, slots=True)
class _Use:
    """A function that touches a member of an object, by the words of the access map.

    The code knows the member as ``path`` of ``via``, which lies at ``at`` in the object (``""``: it is the object).
    """

    share: float
    function: str
    via: str
    path: str
    at: str
    kinds: tuple[AccessKind, ...]


# i_mmap and the semaphore that guards it, in ext4's inodes: false sharing between both, true sharing on each.
_INODE = (
    _Use(9, "down_write", "rw_semaphore", "count", "vfs_inode.i_data.i_mmap_rwsem", (_A,)),
    _Use(3, "down_write", "rw_semaphore", "owner", "vfs_inode.i_data.i_mmap_rwsem", (_W,)),
    _Use(6, "rwsem_down_write_slowpath", "rw_semaphore", "count", "vfs_inode.i_data.i_mmap_rwsem", (_R,)),
    _Use(4, "rwsem_down_write_slowpath", "rw_semaphore", "owner", "vfs_inode.i_data.i_mmap_rwsem", (_R,)),
    _Use(2, "rwsem_down_write_slowpath", "rw_semaphore", "wait_list", "vfs_inode.i_data.i_mmap_rwsem", (_R, _W)),
    _Use(4, "up_write", "rw_semaphore", "count", "vfs_inode.i_data.i_mmap_rwsem", (_A,)),
    _Use(2, "up_write", "rw_semaphore", "owner", "vfs_inode.i_data.i_mmap_rwsem", (_W,)),
    _Use(7, "vma_interval_tree_insert", "rb_root_cached", "rb_root", "vfs_inode.i_data.i_mmap", (_R,)),
    _Use(2, "vma_interval_tree_insert", "rb_root_cached", "rb_root", "vfs_inode.i_data.i_mmap", (_W,)),
    _Use(5, "vma_interval_tree_remove", "rb_root_cached", "rb_leftmost", "vfs_inode.i_data.i_mmap", (_R,)),
    _Use(2, "vma_interval_tree_remove", "rb_root_cached", "rb_root", "vfs_inode.i_data.i_mmap", (_W,)),
    _Use(3, "unlink_file_vma", "address_space", "i_mmap_writable", "vfs_inode.i_data", (_A,)),
)
_DENTRY = (
    _Use(6, "lockref_get_not_dead", "lockref", "lock_count", "d_lockref", (_A,)),
    _Use(3, "lockref_get_not_dead", "lockref", "lock_count", "d_lockref", (_R,)),
    _Use(5, "lockref_put_return", "lockref", "lock_count", "d_lockref", (_A,)),
    _Use(4, "path_openat", "dentry", "d_inode", "", (_R,)),
    _Use(3, "__d_lookup_rcu", "dentry", "d_name.name", "", (_R,)),
    _Use(2, "__d_lookup_rcu", "dentry", "d_parent", "", (_R,)),
    _Use(1, "__d_lookup_rcu", "dentry", "d_seq", "", (_R,)),
)
_TASK_GROUP = (
    _Use(8, "update_load_avg", "task_group", "load_avg", "", (_A,)),
    _Use(3, "update_blocked_averages", "task_group", "load_avg", "", (_A,)),
    _Use(2, "update_blocked_averages", "task_group", "se", "", (_R,)),
)
_VECTORS = (
    _Use(2, "cpupri_set", "cpupri", "pri_to_cpu[0].count", "cpupri", (_A,)),
    _Use(2, "cpupri_find_fitness", "cpupri", "pri_to_cpu[0].count", "cpupri", (_R,)),
    _Use(1, "cpupri_find_fitness", "cpupri", "pri_to_cpu[0].mask", "cpupri", (_R,)),
)
_LOCK = (
    _Use(3, "native_queued_spin_lock_slowpath", "qspinlock", "val", "", (_R,)),
    _Use(2, "_raw_spin_lock_irq", "raw_spinlock", "raw_lock", "", (_A,)),
)
_RUN_QUEUE = (
    _Use(2, "update_blocked_averages", "rq", "clock_pelt", "", (_R,)),
    _Use(1, "update_blocked_averages", "rq", "has_blocked_load", "", (_W,)),
)

_INODES, _DENTRIES, _GROUPS = 200, 60, 4
_EXT4_SLAB_BYTES, _DENTRY_SLAB_BYTES, _GROUP_SLAB_BYTES = 32768, 8192, 16384
_VECTORS_USED = (0, 1, 97)
_WORD = 8


def touches(kernel: Kernel, computer: Computer, chains: tuple[int, ...] = (0,)) -> tuple[Touch, ...]:
    """The whole scenario; ``chains`` are the callchains that kernel samples have."""
    every = tuple(range(computer.cpus))
    found = (*_objects(kernel, every), *_globals(kernel, every), *_alone(kernel, every))
    return tuple(replace(one, chains=chains) for one in found)


def _objects(kernel: Kernel, cpus: tuple[int, ...]) -> Iterator[Touch]:
    # ext4 gives its cache a constructor: SLUB keeps the free pointer behind the object, so objects lie 8 bytes wider.
    inode = kernel.slab(0x1_8C00_0000, kernel.size("ext4_inode_info") + _WORD, _EXT4_SLAB_BYTES, _INODES)
    dentry = kernel.slab(0x1_9100_0000, kernel.size("dentry"), _DENTRY_SLAB_BYTES, _DENTRIES)
    group = kernel.slab(0x1_9500_0000, kernel.size("task_group"), _GROUP_SLAB_BYTES, _GROUPS)
    for name, uses, objects in (
        ("ext4_inode_info", _INODE, inode),
        ("dentry", _DENTRY, dentry),
        ("task_group", _TASK_GROUP, group),
    ):
        for use in uses:
            yield from _used(kernel, name, use, objects, cpus)


def _globals(kernel: Kernel, cpus: tuple[int, ...]) -> Iterator[Touch]:
    vector = kernel.size("cpupri_vec")
    domains = tuple(kernel.variable("def_root_domain", number * vector) for number in _VECTORS_USED)
    for use in _VECTORS:
        yield from _used(kernel, "root_domain", use, domains, cpus)
    for use in _LOCK:
        yield from _used(kernel, "", use, (kernel.variable("pidmap_lock"),), cpus)


def _used(kernel: Kernel, name: str, use: _Use, objects: tuple[Place, ...], cpus: tuple[int, ...]) -> Iterator[Touch]:
    """One use as touches, one for each byte that it begins at; loads and stores of an atomic instruction are apart."""
    found = kernel.touching(use.function, f"struct {use.via}", use.path, use.kinds)
    base = kernel.offset(name, use.at) if use.at else 0
    for offset, kind in sorted({(one.offset or 0, one.kind) for one in found}):
        here = tuple(one.address + kernel.slide for one in found if one.offset == offset and one.kind is kind)
        share = use.share * len(here) / len(found)
        load = Touch(
            type=name or "pidmap_lock",
            member=f"{use.at}.{use.path}".strip("."),
            function=use.function,
            instructions=here,
            places=tuple(one.plus(base + offset) for one in objects),
            share=share / 2 if kind in (_A, _U) else share,
            served=_CONTENDED_LOADS,
            cpus=cpus,
            tasks=TASKS,
            atomic=kind is _A,
        )
        if kind is not _W:
            yield load
        if kind is not _R:
            yield replace(load, served=_CONTENDED_STORES)


def _alone(kernel: Kernel, cpus: tuple[int, ...]) -> Iterator[Touch]:
    """Memory that only one CPU touches: its run queue, a stack, pages of its own; and loads without an address."""
    for use in _RUN_QUEUE:
        found = kernel.touching(use.function, f"struct {use.via}", use.path, use.kinds)
        own = tuple(kernel.per_cpu_variable("runqueues", cpu, found[0].offset or 0) for cpu in cpus)
        code = tuple(one.address + kernel.slide for one in found)
        served = _QUIET_STORES if _W in use.kinds else _QUIET
        yield _own("rq", use.path, use.function, code, own, use.share * 2, served, cpus)
    lookup = kernel.touching("__d_lookup_rcu", "struct dentry", "d_flags", (_R,))
    code = (lookup[0].address + kernel.slide,)
    stacks = tuple(kernel.memory(0x2_4000_3C00 + cpu * 0x4000) for cpu in cpus)
    pages = tuple(kernel.memory(0x2_8000_0000 + page * 4096 + 64) for page in range(len(cpus) * 64))
    yield _own("", "", "__d_lookup_rcu", code, stacks, 14, _QUIET, cpus)
    yield _own("", "", "__d_lookup_rcu", code, pages, 6, _FROM_MEMORY, cpus)
    yield _own("", "", "__d_lookup_rcu", code, (Place(0, 0),), 0.5, _QUIET, cpus)


def _own(
    name: str,
    member: str,
    function: str,
    code: tuple[int, ...],
    places: tuple[Place, ...],
    share: float,
    served: Mapping[Served, float],
    cpus: tuple[int, ...],
) -> Touch:
    return Touch(name, member, function, code, places, share, served, cpus, TASKS, skewed=False, owner=len(places) > 1)
