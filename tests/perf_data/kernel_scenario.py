# SPDX-License-Identifier: GPL-2.0-or-later
"""An exec storm on a 6.1 kernel as a PMU would sample it: its instructions and offsets, objects where SLUB has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perf_data.image import Kernel
from perf_data.recording import Computer
from perf_data.scenario import Place, Task, Touch
from perf_data.uses import ATOMIC, FROM_MEMORY, QUIET, QUIET_STORES, READ, WRITE, Objects, Use, alone, contended

TASKS = tuple(Task(1000 + number, 1000 + number, "execstorm") for number in range(8))

# i_mmap and the semaphore that guards it, in ext4's inodes: false sharing between both, true sharing on each.
_INODE = (
    Use(9, "down_write", "rw_semaphore", "count", "vfs_inode.i_data.i_mmap_rwsem", (ATOMIC,)),
    Use(3, "down_write", "rw_semaphore", "owner", "vfs_inode.i_data.i_mmap_rwsem", (WRITE,)),
    Use(6, "rwsem_down_write_slowpath", "rw_semaphore", "count", "vfs_inode.i_data.i_mmap_rwsem", (READ,)),
    Use(4, "rwsem_down_write_slowpath", "rw_semaphore", "owner", "vfs_inode.i_data.i_mmap_rwsem", (READ,)),
    Use(2, "rwsem_down_write_slowpath", "rw_semaphore", "wait_list", "vfs_inode.i_data.i_mmap_rwsem", (READ, WRITE)),
    Use(4, "up_write", "rw_semaphore", "count", "vfs_inode.i_data.i_mmap_rwsem", (ATOMIC,)),
    Use(2, "up_write", "rw_semaphore", "owner", "vfs_inode.i_data.i_mmap_rwsem", (WRITE,)),
    Use(7, "vma_interval_tree_insert", "rb_root_cached", "rb_root", "vfs_inode.i_data.i_mmap", (READ,)),
    Use(2, "vma_interval_tree_insert", "rb_root_cached", "rb_root", "vfs_inode.i_data.i_mmap", (WRITE,)),
    Use(5, "vma_interval_tree_remove", "rb_root_cached", "rb_leftmost", "vfs_inode.i_data.i_mmap", (READ,)),
    Use(2, "vma_interval_tree_remove", "rb_root_cached", "rb_root", "vfs_inode.i_data.i_mmap", (WRITE,)),
    Use(3, "unlink_file_vma", "address_space", "i_mmap_writable", "vfs_inode.i_data", (ATOMIC,)),
)
_DENTRY = (
    Use(6, "lockref_get_not_dead", "lockref", "lock_count", "d_lockref", (ATOMIC,)),
    Use(3, "lockref_get_not_dead", "lockref", "lock_count", "d_lockref", (READ,)),
    Use(5, "lockref_put_return", "lockref", "lock_count", "d_lockref", (ATOMIC,)),
    Use(4, "path_openat", "dentry", "d_inode", "", (READ,)),
    Use(3, "__d_lookup_rcu", "dentry", "d_name.name", "", (READ,)),
    Use(2, "__d_lookup_rcu", "dentry", "d_parent", "", (READ,)),
    Use(1, "__d_lookup_rcu", "dentry", "d_seq", "", (READ,)),
)
_TASK_GROUP = (
    Use(8, "update_load_avg", "task_group", "load_avg", "", (ATOMIC,)),
    Use(3, "update_blocked_averages", "task_group", "load_avg", "", (ATOMIC,)),
    Use(2, "update_blocked_averages", "task_group", "se", "", (READ,)),
)
_VECTORS = (
    Use(2, "cpupri_set", "cpupri", "pri_to_cpu[0].count", "cpupri", (ATOMIC,)),
    Use(2, "cpupri_find_fitness", "cpupri", "pri_to_cpu[0].count", "cpupri", (READ,)),
    Use(1, "cpupri_find_fitness", "cpupri", "pri_to_cpu[0].mask", "cpupri", (READ,)),
)
_LOCK = (
    Use(3, "native_queued_spin_lock_slowpath", "qspinlock", "val", "", (READ,)),
    Use(2, "_raw_spin_lock_irq", "raw_spinlock", "raw_lock", "", (ATOMIC,)),
)
_CLOCK = Use(4, "update_blocked_averages", "rq", "clock_pelt", "", (READ,))
_BLOCKED = Use(2, "update_blocked_averages", "rq", "has_blocked_load", "", (WRITE,))
_LOOKUP = Use(1, "__d_lookup_rcu", "dentry", "d_flags", "", (READ,))

_INODES, _DENTRIES, _GROUPS = 200, 60, 4
_EXT4_SLAB_BYTES, _DENTRY_SLAB_BYTES, _GROUP_SLAB_BYTES = 32768, 8192, 16384
_VECTORS_USED = (0, 1, 97)
_WORD = 8


def touches(kernel: Kernel, computer: Computer, chains: tuple[int, ...] = (0,), pages: int = 1024) -> tuple[Touch, ...]:
    """The whole scenario; ``chains`` are the callchains of all samples, ``pages`` how many pages one CPU has alone."""
    every = tuple(range(computer.cpus))
    found = (*_objects(kernel, every), *_globals(kernel, every), *_alone(kernel, every, pages))
    return tuple(replace(one, chains=chains) for one in found)


def _objects(kernel: Kernel, cpus: tuple[int, ...]) -> Iterator[Touch]:
    # ext4 gives its cache a constructor: SLUB keeps the free pointer behind the object, so objects lie 8 bytes wider.
    inodes = kernel.slab(0x1_8C00_0000, kernel.size("ext4_inode_info") + _WORD, _EXT4_SLAB_BYTES, _INODES)
    dentries = kernel.slab(0x1_9100_0000, kernel.size("dentry"), _DENTRY_SLAB_BYTES, _DENTRIES)
    groups = kernel.slab(0x1_9500_0000, kernel.size("task_group"), _GROUP_SLAB_BYTES, _GROUPS)
    for name, uses, places in (
        ("ext4_inode_info", _INODE, inodes),
        ("dentry", _DENTRY, dentries),
        ("task_group", _TASK_GROUP, groups),
    ):
        for use in uses:
            yield from contended(kernel, use, Objects(name, places, cpus, TASKS))


def _globals(kernel: Kernel, cpus: tuple[int, ...]) -> Iterator[Touch]:
    vector = kernel.size("cpupri_vec")
    vectors = tuple(kernel.variable("def_root_domain").plus(number * vector) for number in _VECTORS_USED)
    for use in _VECTORS:
        yield from contended(kernel, use, Objects("root_domain", vectors, cpus, TASKS))
    for use in _LOCK:
        yield from contended(kernel, use, Objects("", (kernel.variable("pidmap_lock"),), cpus, TASKS))


def _alone(kernel: Kernel, cpus: tuple[int, ...], pages: int) -> Iterator[Touch]:
    """Memory that only one CPU touches: its run queue, a stack, pages of its own; and loads without an address."""
    for use, served in ((_CLOCK, QUIET), (_BLOCKED, QUIET_STORES)):
        offset = kernel.offset(use.via, use.path)
        own = tuple(kernel.per_cpu_variable("runqueues", cpu, offset) for cpu in cpus)
        yield alone(kernel, use, Objects("rq", own, cpus, TASKS, owned=True), served)
    stacks = tuple(kernel.memory(0x2_4000_3C00 + cpu * 0x4000) for cpu in cpus)
    private = tuple(kernel.memory(0x2_8000_0000 + page * 4096 + 64) for page in range(pages))
    for share, places, served in ((14, stacks, QUIET), (6, private, FROM_MEMORY)):
        yield alone(kernel, replace(_LOOKUP, share=share), Objects("", places, cpus, TASKS, owned=True), served)
    yield alone(kernel, replace(_LOOKUP, share=0.5), Objects("", (Place(0, 0),), cpus, TASKS), QUIET)
