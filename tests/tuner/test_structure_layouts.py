# SPDX-License-Identifier: GPL-2.0-or-later
"""Records with another structure: what is pulled in, pushed out or shrunk, and what that costs in pages."""

from __future__ import annotations

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


def pointer(name: str, target: str) -> Member:
    return replace(scalar(name), type=f"struct {target} *", category=MemberCategory.POINTER, target=target)


# The sizes of struct vm_area_struct in Linux 6.12 without NUMA balancing and userfaultfd.
AREA = struct(
    "vm_area_struct",
    *(scalar("vm_start", 16), scalar("vm_mm"), scalar("vm_page_prot"), scalar("vm_flags"), scalar("detached", 1)),
    *(scalar("vm_lock_seq", 4), pointer("vm_lock", "vma_lock"), scalar("shared", 32), scalar("anon_vma_chain", 16)),
    *(scalar("anon_vma"), scalar("vm_ops"), scalar("vm_pgoff"), scalar("vm_file"), scalar("vm_private_data")),
    *(scalar("swap_readahead_info"), scalar("vm_policy")),
)


def home(layouts: LayoutTable, kernel: Kernel | None = KERNEL) -> Allocation:
    return Allocation(kernel, Containment(layouts))


def pulled(wish: Pulling, functions: dict[str, int] | None = None) -> tuple[StructuralAdvice, ...]:
    layouts = table(AREA, LOCK)
    return tuple(pulled_in(AREA, layouts, home(layouts), wish, functions or {}))


def pages(one: StructuralAdvice) -> tuple[list[int], list[int]]:
    return [use.pages_per_1000 for use in one.memory_before], [use.pages_per_1000 for use in one.memory_after]


def test_a_lock_pulled_in_and_aligned_makes_256_bytes_of_160_and_40() -> None:
    first = pulled(Pulling("vm_lock"))[0]
    assert (first.before[0].size, first.before[1].size, first.after[0].size) == (160, 40, 256)
    assert pages(first) == ([40, 10], [64])


def test_a_small_lock_with_a_cold_member_behind_it_makes_192_bytes() -> None:
    last = pulled(Pulling("vm_lock", cold=("shared",)))[-1]
    assert last.members == ("vm_lock", "shared")
    assert (last.after[0].size, last.after[0].alignment, pages(last)[1]) == (192, 64, [48])
    assert (offsets(last.after[0])["vm_lock"], offsets(last.after[0])["shared"]) == (128, 136)


def test_who_is_cold_is_taken_from_the_code_and_no_more_of_them_move_than_must() -> None:
    functions = {"swap_readahead_info": 2, "detached": 5, "shared": 7, "vm_file": 200}
    last = pulled(Pulling("vm_lock"), functions)[-1]
    assert last.members == ("vm_lock", "shared")
    assert last.notes[1].startswith("Taken for cold because the fewest functions touch them: shared (7).")


def test_without_any_word_on_what_is_cold_nothing_moves() -> None:
    told = pulled(Pulling("vm_lock"))
    assert [one.members for one in told] == [("vm_lock",), ("vm_lock",)]
    assert told[1].notes[1] == "Which members are so cold that they could lie behind it no code tells."


def test_what_comes_to_lie_with_the_lock_is_told() -> None:
    alone, small = pulled(Pulling("vm_lock"))
    assert alone.notes[0] == "vm_lock has its line to itself where objects begin with a line."
    assert small.notes[0].endswith("objects begin with a line: shared, anon_vma_chain, anon_vma.")


def test_a_program_has_no_slabs_to_count_pages_of() -> None:
    layouts = table(AREA, LOCK)
    first = next(pulled_in(AREA, layouts, home(layouts, None), Pulling("vm_lock"), {}))
    assert (first.memory_before, first.memory_after) == ((), ())
    assert "Holds where objects are allocated at multiples of 64 bytes." in first.notes


def test_a_cache_that_aligns_to_words_must_be_told_to_align_to_lines() -> None:
    outer = struct("mempolicy", *(scalar(f"m{number}") for number in range(11)), pointer("lock", "vma_lock"))
    layouts = table(outer, LOCK)
    first = next(pulled_in(outer, layouts, home(layouts), Pulling("lock"), {}))
    assert "The cache aligns its objects to 8 bytes: create it with SLAB_HWCACHE_ALIGN." in first.notes


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vm_file", "vm_file of struct vm_area_struct is no pointer to a record whose layout is known"),
        ("nobody", "struct vm_area_struct has no member nobody; its members are vm_start, vm_mm"),
        ("lock", "struct vm_area_struct has no member lock; did you mean vm_lock"),
    ],
)
def test_what_cannot_be_pulled_in_is_refused(name: str, message: str) -> None:
    with pytest.raises(StructureRefused, match=message):
        pulled(Pulling(name))


def test_of_many_members_some_are_told() -> None:
    many = struct("task_struct", *(scalar(f"m{number}") for number in range(15)))
    with pytest.raises(StructureRefused, match=r"its members are m0, .*, m11 and 3 more$"):
        without(many, ("nosuch",))


def test_another_configuration_lacks_members() -> None:
    assert without(AREA, ("swap_readahead_info", "vm_policy")).size == 144


def mapping() -> tuple[Layout, Layout, LayoutTable]:
    """A record with a lock of 40 bytes, inside the objects of a cache."""
    lock = struct("rw_semaphore", scalar("words", 40))
    inner = struct("address_space", scalar("host"), held("i_mmap_rwsem", lock), scalar("flags"))
    outer = struct("inode", scalar("i_mode", 2), held("i_data", inner), scalar("i_private"))
    return inner, outer, table(lock, inner, outer)


def test_a_record_that_lies_in_another_costs_what_that_costs() -> None:
    inner, outer, layouts = mapping()
    (one,) = made_smaller(inner, home(layouts), "i_mmap_rwsem", 8)
    assert (inner.size, one.after[0].size, outer.size) == (56, 24, 72)
    assert [use.cache for use in one.memory_before + one.memory_after] == ["inode_cache", "inode_cache"]
    assert [use.object_bytes for use in one.memory_before + one.memory_after] == [72, 40]


def test_what_lies_around_a_changed_record_is_laid_out_anew() -> None:
    inner, outer, layouts = mapping()
    changed = replace(inner, size=128, alignment=64)
    assert offsets(around(outer, changed, layouts)) == {"i_mode": 0, "i_data": 64, "i_private": 192}


def test_a_member_pushed_out_leaves_a_pointer_and_has_a_line_of_its_own() -> None:
    inner, _, layouts = mapping()
    (one,) = put_apart(inner, home(layouts), "i_mmap_rwsem")
    assert one.sentence.endswith("aligned to a line: 56 -> 24 + 64 bytes")
    assert [use.object_bytes for use in one.memory_after] == [40, 64]


def test_nothing_can_be_shrunk_to_more_than_it_has() -> None:
    inner, _, layouts = mapping()
    with pytest.raises(StructureRefused, match="has 40 bytes and cannot be made 48 bytes small"):
        tuple(made_smaller(inner, home(layouts), "i_mmap_rwsem", 48))


def test_nothing_is_put_behind_an_array_without_end() -> None:
    outer = struct("packet", scalar("length"), pointer("lock", "vma_lock"), scalar("cold"), flexible("data"))
    layouts = table(outer, LOCK)
    names = [one.name for one in next(pulled_in(outer, layouts, home(layouts), Pulling("lock"), {})).after[0].members]
    assert names == ["length", "lock", "cold", "data"]
    with pytest.raises(StructureRefused, match="lock, cold may not move to the end of struct packet"):
        tuple(pulled_in(outer, layouts, home(layouts), Pulling("lock", cold=("cold",)), {}))


def test_a_bit_field_is_no_object() -> None:
    flags = struct("flags", bits("dirty", 1), bits("locked", 1))
    with pytest.raises(StructureRefused, match="dirty is a bit-field and cannot be an object of its own"):
        tuple(put_apart(flags, home(table(flags)), "dirty"))
