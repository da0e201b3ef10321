# SPDX-License-Identifier: GPL-2.0-or-later
"""Records with another structure: what is pulled in, pushed out or shrunk, and what that costs in pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hand_made import bits, flexible, held, offsets, scalar, struct, table

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.errors import StructureRefused
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Layout, Member, MemberCategory, SlabMachine, StructuralAdvice
from linesmith.analyzer.slab import Kernel
from linesmith.tuner.structure.embedding import Pulling
from linesmith.tuner.structure.memory import Allocation
from linesmith.tuner.structure.pull_in import pulled_in
from linesmith.tuner.structure.push_out import put_apart
from linesmith.tuner.structure.reshape import around, without
from linesmith.tuner.structure.shrink import made_smaller

LOCK = struct("vma_lock", scalar("word", 40))
KERNEL = Kernel(SlabMachine(64, release=(6, 12)))


def pointer(name: str) -> Member:
    return replace(scalar(name), type="struct vma_lock *", category=MemberCategory.POINTER, target="vma_lock")


# The sizes of struct vm_area_struct in Linux 6.12 without NUMA balancing and userfaultfd.
AREA = struct(
    "vm_area_struct",
    *(scalar("vm_start", 16), scalar("vm_mm"), scalar("vm_page_prot"), scalar("vm_flags"), scalar("detached", 1)),
    *(scalar("vm_lock_seq", 4), pointer("vm_lock"), scalar("shared", 32), scalar("anon_vma_chain", 16)),
    *(scalar("anon_vma"), scalar("vm_ops"), scalar("vm_pgoff"), scalar("vm_file"), scalar("vm_private_data")),
    *(scalar("swap_readahead_info"), scalar("vm_policy")),
)
Advice = tuple[StructuralAdvice, ...]


def home(layouts: LayoutTable, kernel: Kernel | None = KERNEL) -> Allocation:
    return Allocation(kernel, Containment(layouts))


def pulled(
    name: str,
    cold: tuple[str, ...] = (),
    functions: dict[str, int] | None = None,
    outer: Layout = AREA,
    kernel: Kernel | None = KERNEL,
) -> Advice:
    """What the lock becomes inside the record."""
    layouts = table(outer, LOCK)
    return tuple(pulled_in(outer, layouts, home(layouts, kernel), Pulling(name, cold=cold), functions or {}))


def pages(one: StructuralAdvice) -> tuple[list[int], list[int]]:
    return [use.pages_per_1000 for use in one.memory_before], [use.pages_per_1000 for use in one.memory_after]


def test_a_lock_pulled_in_and_aligned_makes_256_bytes_of_160_and_40() -> None:
    alone, small = pulled("vm_lock")
    assert (alone.before[0].size, alone.before[1].size, alone.after[0].size) == (160, 40, 256)
    assert pages(alone) == ([40, 10], [64])
    assert alone.notes[0] == "vm_lock has its line to itself where objects begin with a line."
    assert small.notes[0].endswith("objects begin with a line: shared, anon_vma_chain, anon_vma.")
    assert (alone.members, small.members) == (("vm_lock",), ("vm_lock",)), "nothing moves that nobody calls cold"
    assert small.notes[1] == "Which members are so cold that they could lie behind it no code tells."


def test_a_small_lock_with_a_cold_member_behind_it_makes_192_bytes() -> None:
    last = pulled("vm_lock", cold=("shared",))[-1]
    assert last.members == ("vm_lock", "shared")
    assert (last.after[0].size, last.after[0].alignment, pages(last)[1]) == (192, 64, [48])
    assert (offsets(last.after[0])["vm_lock"], offsets(last.after[0])["shared"]) == (128, 136)


def test_who_is_cold_is_taken_from_the_code_and_no_more_of_them_move_than_must() -> None:
    functions = {"swap_readahead_info": 2, "detached": 5, "shared": 7, "vm_file": 200}
    last = pulled("vm_lock", functions=functions)[-1]
    assert last.members == ("vm_lock", "shared")
    assert last.notes[1].startswith("Taken for cold because the fewest functions touch them: shared (7).")


def test_where_objects_begin_is_told() -> None:
    program = pulled("vm_lock", kernel=None)[0]
    assert (program.memory_before, program.memory_after) == ((), ()), "a program has no slabs to count pages of"
    assert "Holds where objects are allocated at multiples of 64 bytes." in program.notes
    outer = struct("mempolicy", *(scalar(f"m{number}") for number in range(11)), pointer("lock"))
    words = pulled("lock", outer=outer)[0]
    assert "The cache aligns its objects to 8 bytes: create it with SLAB_HWCACHE_ALIGN." in words.notes


def test_another_configuration_lacks_members() -> None:
    assert without(AREA, ("swap_readahead_info", "vm_policy")).size == 144


# A record with a lock of 40 bytes, inside the objects of a cache.
RWSEM = struct("rw_semaphore", scalar("words", 40))
MAPPING = struct("address_space", scalar("host"), held("i_mmap_rwsem", RWSEM), scalar("flags"))
INODE = struct("inode", scalar("i_mode", 2), held("i_data", MAPPING), scalar("i_private"))
LAYOUTS = table(RWSEM, MAPPING, INODE)


def smaller(size: int) -> Advice:
    return tuple(made_smaller(MAPPING, home(LAYOUTS), "i_mmap_rwsem", size))


def test_a_record_that_lies_in_another_costs_what_that_costs() -> None:
    (one,) = smaller(8)
    assert (MAPPING.size, one.after[0].size, INODE.size) == (56, 24, 72)
    uses = one.memory_before + one.memory_after
    assert [(use.cache, use.object_bytes) for use in uses] == [("inode_cache", 72), ("inode_cache", 40)]
    changed = replace(MAPPING, size=128, alignment=64)
    assert offsets(around(INODE, changed, LAYOUTS)) == {"i_mode": 0, "i_data": 64, "i_private": 192}


def test_a_member_pushed_out_leaves_a_pointer_and_has_a_line_of_its_own() -> None:
    (one,) = put_apart(MAPPING, home(LAYOUTS), "i_mmap_rwsem")
    assert one.sentence.endswith("aligned to a line: 56 -> 24 + 64 bytes")
    assert [use.object_bytes for use in one.memory_after] == [40, 64]


PACKET = struct("packet", scalar("length"), pointer("lock"), scalar("cold"), flexible("data"))
MANY = struct("task_struct", *(scalar(f"m{number}") for number in range(15)))
FLAGS = struct("flags", bits("dirty", 1), bits("locked", 1))


def test_nothing_is_put_behind_an_array_without_end() -> None:
    after = pulled("lock", outer=PACKET)[0].after[0]
    assert [one.name for one in after.members] == ["length", "lock", "cold", "data"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: pulled("vm_file"), "vm_file of struct vm_area_struct is no pointer to a record whose layout is known"),
        (lambda: pulled("nobody"), "struct vm_area_struct has no member nobody; its members are vm_start, vm_mm"),
        (lambda: pulled("lock"), "struct vm_area_struct has no member lock; did you mean vm_lock"),
        (lambda: [without(MANY, ("nosuch",))], r"its members are m0, .*, m11 and 3 more$"),
        (lambda: smaller(48), "has 40 bytes and cannot be made 48 bytes small"),
        (lambda: pulled("lock", ("cold",), outer=PACKET), "lock, cold may not move to the end of struct packet"),
        (
            lambda: put_apart(FLAGS, home(table(FLAGS)), "dirty"),
            "dirty is a bit-field and cannot be an object of its own",
        ),
    ],
)
def test_what_cannot_be_changed_is_refused(asked: Callable[[], Iterable[object]], message: str) -> None:
    with pytest.raises(StructureRefused, match=message):
        tuple(asked())
