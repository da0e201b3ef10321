# SPDX-License-Identifier: GPL-2.0-or-later
"""Slab objects in the memory of Debian's kernel, held against the kernel's own lists."""

from __future__ import annotations

from pathlib import Path

import drgn
import pytest
from drgn.helpers.linux.percpu import per_cpu
from drgn.helpers.linux.pid import for_each_task
from drgn.helpers.linux.slab import slab_object_info
from snapshots.conftest import DumpOf
from snapshots.kernel_lists import listed
from snapshots.reading import area_at, cache_called, middle, one, read, start_at

from linesmith.analyzer.model import ObjectKind
from linesmith.plugins.snapshots.kernel import opened

pytestmark = pytest.mark.real


# Where the kernel lies as linked, and moved about with all debugging aids of the slab allocator.
COMMAND_LINES = {"plain": "nokaslr", "debugging": "slub_debug=FZPU"}


@pytest.fixture(scope="session", params=COMMAND_LINES.values(), ids=list(COMMAND_LINES))
def memory(request: pytest.FixtureRequest, dump_of: DumpOf) -> Path:
    return dump_of(request.param)


@pytest.fixture(scope="session")
def program(memory: Path, vmlinux: Path) -> drgn.Program:
    return opened(memory, vmlinux)


def test_listed_objects_are_found_at_their_starts_with_their_records(
    memory: Path, vmlinux: Path, program: drgn.Program
) -> None:
    objects = [one for one in listed(program) if one.record != "inode"]
    snapshot = read(memory, vmlinux, map(middle, objects))
    areas = [area_at(snapshot, middle(one)) for one in objects]
    assert [start_at(area, middle(one)) for area, one in zip(areas, objects, strict=True)] == [
        one.address for one in objects
    ]
    assert [one for area, one in zip(areas, objects, strict=True) if one.record not in area.types] == []
    assert len({one.record for one in objects}) == 12


def test_inodes_lie_within_what_their_file_systems_allocate(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    inodes = [one for one in listed(program) if one.record == "inode"]
    snapshot = read(memory, vmlinux, map(middle, inodes))
    assert inodes
    for inode in inodes:
        area = area_at(snapshot, middle(inode))
        start = start_at(area, middle(inode))
        assert start <= inode.address < inode.address + inode.size <= start + area.size
        assert area.types


def test_slab_page_is_one_area_with_all_its_objects(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    root = program["init_fs"].root.dentry.value_()
    area = one(memory, vmlinux, root)
    cache = cache_called(program, "dentry")
    assert (area.kind, area.name, area.types, area.merged) == (ObjectKind.SLAB, "dentry", ("dentry",), ())
    assert (area.size, area.stride) == (cache.object_size.value_(), cache.size.value_())
    assert area.count > 1
    assert (root - area.address) % area.stride == 0


def test_merged_cache_names_those_that_share_it(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    signals = next(for_each_task(program)).signal
    area = one(memory, vmlinux, signals.value_())
    assert area.types[0] == "signal_struct"
    # The first name is the cache's own; with slub_debug there is no other.
    found = slab_object_info(signals)
    assert found is not None
    assert len(area.merged) == found.slab_cache.refcount.value_() - 1


def test_kmalloc_memory_gets_its_record_from_pointers(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    domain = per_cpu(program["runqueues"], 1).sd
    places = {
        "sched_domain": domain,
        "sched_group": domain.groups,
        "sched_group_capacity": domain.groups.sgc,
        "root_domain": per_cpu(program["runqueues"], 1).rd,
        "mem_cgroup_per_node": program["root_mem_cgroup"].nodeinfo[0],
    }
    snapshot = read(memory, vmlinux, (pointer.value_() for pointer in places.values()))
    for record, pointer in places.items():
        area = area_at(snapshot, pointer.value_())
        assert area.name.startswith("kmalloc-")
        assert (start_at(area, pointer.value_()), area.types) == (pointer.value_(), (record,))


def test_dynamic_per_cpu_memory(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    cache = cache_called(program, "dentry")
    place = per_cpu(cache.cpu_slab[0], 1).address_
    area = one(memory, vmlinux, place + 8)
    assert (area.kind, area.address, area.cpu) == (ObjectKind.PER_CPU, place, 1)
    assert area.types == ("kmem_cache_cpu",)
