# SPDX-License-Identifier: GPL-2.0-or-later
"""How large a record may become: by what it may grow, to fill its slabs, and up to a page."""

from __future__ import annotations

from hand_made import scalar, struct, table

from linesmith.analyzer.model import FactKind, Layout, SlabMachine, SourceFact, SourceFacts
from linesmith.analyzer.slab import Kernel, cache_of
from linesmith.tuner.constraints.memory import facts_of, room_in_slabs
from linesmith.tuner.premises import Premises

KERNEL = Kernel(SlabMachine(cpus=8, release=(6, 12)))


def record(size: int, name: str = "s") -> Layout:
    return struct(name, scalar("bytes", size))


def most(layout: Layout, kernel: Kernel | None, growth: int | None, *facts: SourceFact) -> list[int | None]:
    """The limits in bytes."""
    premises = Premises(SourceFacts(((layout.name, facts),)), kernel, growth)
    return [fact.bytes for fact in facts_of(layout, premises, table(layout))]


def test_a_record_of_a_program_is_not_limited() -> None:
    assert most(record(40), None, None) == []


def test_a_record_may_grow_by_what_is_allowed() -> None:
    assert most(record(40), None, 24) == [64]
    assert most(record(40), KERNEL, 0) == [40]


def test_an_object_of_the_kernel_that_fits_into_a_page_still_must() -> None:
    assert most(record(4000), KERNEL, None) == [4096]
    assert most(record(4104), KERNEL, None) == []


def test_a_limit_of_a_page_is_that_of_the_machine() -> None:
    page = SourceFact(FactKind.PAGE, (), "mapped by itself")
    assert most(record(4000), Kernel(SlabMachine(page_bytes=16384)), 8, page) == [16384, 4008]


def test_outside_a_kernel_there_are_no_slabs_so_nothing_may_grow_into_them() -> None:
    assert most(record(40), None, None, SourceFact(FactKind.SLAB, (), "many of them")) == [40]


def test_a_record_from_kmalloc_may_fill_its_class() -> None:
    assert room_in_slabs(record(200), KERNEL) == 256


def test_a_record_of_its_own_cache_may_use_what_is_left_over() -> None:
    layout = record(176, "vm_area_struct")
    room = room_in_slabs(layout, KERNEL)
    now = cache_of(layout, KERNEL).geometry
    assert (now.objects, room) == (23, 176)
    assert cache_of(record(room + 8, "vm_area_struct"), KERNEL).geometry.objects == 22


def test_the_free_pointer_behind_an_object_takes_room_too() -> None:
    layout = record(700, "ext4_inode_info")
    geometry = cache_of(layout, KERNEL).geometry
    room = room_in_slabs(layout, KERNEL)
    assert geometry.free_pointer == 704
    larger = [cache_of(record(size, "ext4_inode_info"), KERNEL).geometry.objects for size in (room, room + 8)]
    assert larger[0] == geometry.objects > larger[1]
