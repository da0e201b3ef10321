# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects in the memory of Debian's kernel, held against the kernel's own lists."""

from __future__ import annotations

import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import drgn
import pytest
from drgn.helpers.linux.kallsyms import module_kallsyms
from drgn.helpers.linux.mm import follow_phys, for_each_vmap_area, phys_to_virt, virt_to_page
from drgn.helpers.linux.module import find_module, module_address_regions
from drgn.helpers.linux.percpu import per_cpu
from drgn.helpers.linux.pid import for_each_task
from drgn.helpers.linux.slab import find_slab_cache, slab_object_info
from snapshots.guest import dumped
from snapshots.kernel_lists import Listed, listed

from linesmith.analyzer.errors import DebugInfoMissing
from linesmith.analyzer.model import ObjectArea, ObjectKind, Snapshot
from linesmith.plugins.registry import snapshot_source
from linesmith.plugins.snapshots.kernel import opened

pytestmark = pytest.mark.real

# Where the kernel lies as linked, and moved about with all debugging aids of the slab allocator.
COMMAND_LINES = {"plain": "nokaslr", "debugging": "slub_debug=FZPU"}


@pytest.fixture(scope="session", params=COMMAND_LINES.values(), ids=list(COMMAND_LINES))
def memory(
    request: pytest.FixtureRequest, kernel_image: Path, kernel_module: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The dump of a guest, taken once for all tests."""
    return dumped(kernel_image, kernel_module, request.param, tmp_path_factory.mktemp("guest"))


@pytest.fixture(scope="session")
def program(memory: Path, vmlinux: Path) -> drgn.Program:
    return opened(memory, vmlinux)


def read(memory: Path, vmlinux: Path, addresses: Iterable[int]) -> Snapshot:
    return snapshot_source("drgn").read(memory, vmlinux, list(addresses))


def area_at(snapshot: Snapshot, address: int) -> ObjectArea:
    index = bisect_right([area.address for area in snapshot.areas], address) - 1
    area = snapshot.areas[index]
    assert index >= 0
    assert address < area.end
    return area


def start_at(area: ObjectArea, address: int) -> int:
    return address - (address - area.address) % area.stride


def cache_called(program: drgn.Program, name: str) -> drgn.Object:
    cache = find_slab_cache(program, name)
    assert cache is not None
    return cache


def one(memory: Path, vmlinux: Path, address: int) -> ObjectArea:
    return area_at(read(memory, vmlinux, [address]), address)


def middle(listed: Listed) -> int:
    """An address within the object, wherever the machine cuts the end of its record."""
    return listed.address + listed.size // 3


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


def test_variables_of_the_image(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    variable = program["init_task"]
    area = one(memory, vmlinux, variable.address_ + 100)
    assert (area.kind, area.name, area.types) == (ObjectKind.GLOBAL, "init_task", ("task_struct",))
    assert (area.address, area.size, area.count) == (variable.address_, variable.type_.size, 1)


def test_variable_of_a_record_without_a_name_is_told_by_its_members(
    memory: Path, vmlinux: Path, program: drgn.Program
) -> None:
    member = program["tk_core"].timekeeper
    area = one(memory, vmlinux, member.address_ + 8)
    assert (area.name, area.address, area.types) == ("tk_core.timekeeper", member.address_, ("timekeeper",))


def test_array_of_records_is_one_area(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    variable = program["softirq_vec"]
    area = one(memory, vmlinux, variable.address_ + 8)
    assert (area.types, area.address, area.count) == (("softirq_action",), variable.address_, variable.type_.length)


def test_per_cpu_variables_tell_their_cpu(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    queue = per_cpu(program["runqueues"], 2).address_
    area = one(memory, vmlinux, queue + 8)
    assert (area.kind, area.name, area.types, area.cpu) == (ObjectKind.PER_CPU, "runqueues", ("rq",), 2)
    assert area.address == queue


def test_dynamic_per_cpu_memory(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    cache = cache_called(program, "dentry")
    place = per_cpu(cache.cpu_slab[0], 1).address_
    area = one(memory, vmlinux, place + 8)
    assert (area.kind, area.address, area.cpu) == (ObjectKind.PER_CPU, place, 1)
    assert area.types == ("kmem_cache_cpu",)


def test_stacks_of_tasks_and_idle_cpus(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    stacks = [program["init_task"].stack.value_(), per_cpu(program["idle_threads"], 3).stack.value_()]
    snapshot = read(memory, vmlinux, (stack + 500 for stack in stacks))
    assert [(area.kind, area.address) for area in snapshot.areas] == [
        (ObjectKind.STACK, stack) for stack in sorted(stacks)
    ]


def test_page_descriptors(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    page = virt_to_page(program, program["init_fs"].root.dentry.value_()).value_()
    area = one(memory, vmlinux, page + 52)
    assert (area.kind, area.types, start_at(area, page + 52)) == (ObjectKind.STRUCT_PAGE, ("page",), page)


def test_tables_of_the_boot_allocator_are_named_by_their_variable(
    memory: Path, vmlinux: Path, program: drgn.Program
) -> None:
    table = program["dentry_hashtable"].value_()
    area = one(memory, vmlinux, table + 800)
    assert (area.kind, area.types, area.size, area.address) == (ObjectKind.BOOT, ("hlist_bl_head",), 8, table)
    assert area.name == "dentry_hashtable"
    assert area.count == 1 << (32 - program["d_hash_shift"].value_())


def test_description_of_a_memory_node(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    node = program["node_data"][0].value_()
    area = one(memory, vmlinux, node + 100_000)
    assert (area.kind, area.address, area.types) == (ObjectKind.BOOT, node, ("pglist_data",))


def test_vmalloc_areas_tell_who_asked_for_them(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    plain = next(
        area for area in for_each_vmap_area(program) if area.vm and program.symbol(area.vm.caller).name == "hpet_enable"
    )
    area = one(memory, vmlinux, plain.va_start.value_() + 8)
    assert (area.kind, area.name, area.address) == (ObjectKind.VMALLOC, "hpet_enable", plain.va_start.value_())


def test_image_seen_through_the_direct_map(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    place = program["init_task"].address_
    alias = phys_to_virt(program, follow_phys(program["init_mm"].address_of_(), place)).value_()
    area = one(memory, vmlinux, alias + 8)
    assert (area.kind, area.name, area.address) == (ObjectKind.GLOBAL, "init_task", alias)


def test_variables_of_a_module(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    module = find_module(program, "fat")
    symbol = next(symbol for symbol in module_kallsyms(module) if symbol.name == "floppy_defaults")
    start = module_address_regions(module)[0][0]
    snapshot = read(memory, vmlinux, [start, symbol.address + 4])
    area = area_at(snapshot, symbol.address)
    assert (area.kind, area.name, area.size) == (ObjectKind.GLOBAL, "floppy_defaults", symbol.size)
    assert area.detail == "of the module fat"
    assert area_at(snapshot, start).name == "module fat"


def test_addresses_of_user_space_and_of_nothing_are_in_no_area(memory: Path, vmlinux: Path) -> None:
    assert read(memory, vmlinux, [0, 0x400000, (1 << 64) - 8]).areas == ()


def test_areas_do_not_overlap(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    start = phys_to_virt(program, 0).value_()
    areas = read(memory, vmlinux, range(start, start + (256 << 20), 4096 * 7 + 8)).areas
    assert len(areas) > 1000
    assert all(before.end <= behind.address for before, behind in pairwise(areas))


def test_the_kernel_is_named(memory: Path, vmlinux: Path, program: drgn.Program) -> None:
    snapshot = read(memory, vmlinux, [])
    assert snapshot.kernel_release is not None
    assert vmlinux.name == f"vmlinux-{snapshot.kernel_release}"
    assert snapshot.build_id == program.main_module().build_id.hex()


def test_kernel_that_wrote_no_vmcoreinfo(memory: Path, vmlinux: Path, program: drgn.Program, tmp_path: Path) -> None:
    silent = tmp_path / "memory"
    silent.write_bytes(memory.read_bytes().replace(b"VMCOREINFO\0", b"----------\0"))
    root = program["init_fs"].root.dentry.value_()
    addresses = [root, program["init_task"].address_, per_cpu(program["runqueues"], 2).address_]
    assert read(silent, vmlinux, addresses).areas == read(memory, vmlinux, addresses).areas


def test_vmlinux_without_debug_information(memory: Path, vmlinux: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "vmlinux"
    subprocess.run(("strip", "--strip-debug", "-o", stripped, vmlinux), check=True)
    with pytest.raises(DebugInfoMissing, match="vmlinux has no DWARF; give the vmlinux with debug information"):
        read(memory, stripped, [0])
