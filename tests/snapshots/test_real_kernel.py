# SPDX-License-Identifier: GPL-2.0-or-later
"""What else lies in the memory of Debian's kernel: variables, per-CPU memory, stacks, and pages of all kinds."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import drgn
import pytest
from drgn.helpers.linux.kallsyms import module_kallsyms
from drgn.helpers.linux.mm import follow_phys, for_each_vmap_area, phys_to_virt, virt_to_page
from drgn.helpers.linux.module import find_module, module_address_regions
from drgn.helpers.linux.percpu import per_cpu
from snapshots.reading import area_at, one, read, start_at

from linesmith.analyzer.errors import DebugInfoMissing
from linesmith.analyzer.model import ObjectKind

pytestmark = pytest.mark.real


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
