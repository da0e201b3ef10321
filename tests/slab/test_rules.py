# SPDX-License-Identifier: GPL-2.0-or-later
"""SLUB's rules give what kernels say of their caches in /sys/kernel/slab."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from linesmith.analyzer.model import CacheRequest, SlabGeometry, SlabMachine
from linesmith.analyzer.slab import geometry_of, pages_for, phase_counts
from linesmith.analyzer.slab.kmalloc import kmalloc_classes, kmalloc_request

LIVE = Path("/sys/kernel/slab")
OLD = SlabMachine(cpus=8, release=(6, 1))
NEW = SlabMachine(cpus=8, release=(6, 12))


def _shape(request: CacheRequest, machine: SlabMachine) -> tuple[int, int, int, int]:
    found = geometry_of(request, machine)
    return found.alignment, found.stride, found.objects, found.order


def _pages(size: int, machine: SlabMachine, alignment: int = 8) -> int:
    return pages_for(1000, geometry_of(CacheRequest("", size, alignment), machine))


def test_vmas_with_a_lock_of_their_own_take_50_64_or_48_pages_per_thousand() -> None:
    server = SlabMachine(cpus=64, release=(6, 13))
    assert _pages(160, server) + _pages(40, server) == 50
    assert _pages(256, server, 64) == 64
    assert _pages(192, server, 64) == 48


def test_51_vmas_of_160_bytes_share_two_pages_and_102_locks_of_40_bytes_one() -> None:
    server = SlabMachine(cpus=64, release=(6, 13))
    assert _shape(CacheRequest("vm_area_struct", 160), server) == (8, 160, 51, 1)
    assert _shape(CacheRequest("vma_lock", 40), server) == (8, 40, 102, 0)
    assert _shape(CacheRequest("vm_area_struct", 256, 64), server) == (64, 256, 32, 1)
    assert _shape(CacheRequest("vm_area_struct", 192, 64), server) == (64, 192, 42, 1)


def test_a_constructor_keeps_the_free_pointer_out_of_the_object() -> None:
    assert _shape(CacheRequest("ext4_inode_cache", 1184, constructor=True), OLD) == (8, 1192, 27, 3)
    assert geometry_of(CacheRequest("ext4_inode_cache", 1184, constructor=True), OLD).free_pointer == 1184


def test_so_does_safety_by_rcu_unless_the_object_has_room_for_it() -> None:
    assert geometry_of(CacheRequest("x", 232, typesafe_by_rcu=True), NEW).stride == 240
    inner = CacheRequest("x", 232, typesafe_by_rcu=True, inner_free_pointer=True)
    assert (geometry_of(inner, NEW).stride, geometry_of(inner, NEW).free_pointer) == (232, None)


def test_a_constructor_may_leave_the_free_pointer_room_in_the_object() -> None:
    inner = CacheRequest("ext4_inode_cache", 1048, constructor=True, inner_free_pointer=True)
    assert geometry_of(inner, SlabMachine(cpus=64, release=(7, 3))).stride == 1048


def test_other_objects_hold_the_free_pointer_near_their_middle() -> None:
    assert geometry_of(CacheRequest("x", 152), OLD).free_pointer == 72


@pytest.mark.parametrize(("size", "alignment"), [(8, 8), (16, 16), (17, 32), (32, 32), (33, 64), (64, 64), (200, 64)])
def test_small_objects_are_aligned_to_parts_of_a_line(size: int, alignment: int) -> None:
    assert geometry_of(CacheRequest("x", size, hwcache_align=True), OLD).alignment == alignment


def test_a_request_for_more_than_a_line_is_kept() -> None:
    assert geometry_of(CacheRequest("x", 200, 128, hwcache_align=True), OLD).alignment == 128


def test_general_caches_are_aligned_to_what_divides_them_since_6_11() -> None:
    assert _shape(CacheRequest("kmalloc-192", 192, kmalloc=True), OLD) == (8, 192, 21, 0)
    assert _shape(CacheRequest("kmalloc-192", 192, kmalloc=True), NEW) == (64, 192, 21, 0)
    assert _shape(CacheRequest("kmalloc-96", 96, kmalloc=True), NEW) == (32, 96, 42, 0)
    assert _shape(CacheRequest("kmalloc-512", 512, kmalloc=True), OLD) == (512, 512, 32, 2)


def test_more_cpus_want_more_objects_in_a_slab() -> None:
    orders = [geometry_of(CacheRequest("x", 192), SlabMachine(cpus=cpus)).order for cpus in (1, 15, 16, 511, 512)]
    assert orders == [0, 0, 1, 1, 2]


def test_what_leaves_over_a_quarter_is_placed_otherwise_since_6_7() -> None:
    """11,000 bytes fit two times into 8 pages and leave a third of them."""
    assert _shape(CacheRequest("x", 11_000), SlabMachine(cpus=1, release=(6, 6))) == (8, 11_000, 1, 2)
    assert _shape(CacheRequest("x", 11_000), SlabMachine(cpus=1, release=(6, 7))) == (8, 11_000, 2, 3)


def test_a_sixteenth_of_a_slab_may_be_left_over_and_no_byte_more() -> None:
    """12 objects of 320 bytes leave 256 of 4,096 bytes, 11 of 344 leave 312."""
    assert _shape(CacheRequest("x", 320), SlabMachine(cpus=1)) == (8, 320, 12, 0)
    assert _shape(CacheRequest("x", 344), SlabMachine(cpus=1)) == (8, 344, 23, 1)


def test_before_6_7_a_quarter_is_left_over_rather_than_objects_given_up() -> None:
    old = SlabMachine(cpus=1, release=(6, 1))
    assert _shape(CacheRequest("x", 8232), old) == (8, 8232, 3, 3)
    assert _shape(CacheRequest("x", 12368), old) == (8, 12368, 2, 3)


def test_an_object_too_large_for_eight_pages_has_a_slab_of_its_own() -> None:
    assert _shape(CacheRequest("x", 40_000), NEW) == (8, 40_000, 1, 4)


def test_large_pages_hold_more_objects() -> None:
    assert _shape(CacheRequest("x", 160), SlabMachine(cpus=64, page_bytes=65536)) == (8, 160, 409, 0)


def test_red_zones_lie_on_both_sides_of_an_object() -> None:
    """Debian 6.1 with slub_debug=FZPU: 152 bytes, zone, pointer, two tracks of 32 bytes, zone, and one before."""
    request = CacheRequest("vm_area_struct", 152, red_zone=True, poison=True, store_user=True)
    found = geometry_of(request, SlabMachine(cpus=8, release=(6, 1), track_bytes=32))
    assert (found.stride, found.objects, found.order, found.lead) == (248, 33, 1, 8)


@pytest.mark.parametrize(("release", "free_pointer"), [((6, 1), 32), ((6, 2), 72)])
def test_red_zones_in_kmalloc_memory_keep_the_free_pointer_out_since_6_2(
    release: tuple[int, int], free_pointer: int
) -> None:
    machine = SlabMachine(cpus=8, release=release)
    kept = CacheRequest("kmalloc-64", 64, kmalloc=True, red_zone=True, store_user=True)
    assert geometry_of(kept, machine).free_pointer == free_pointer


@pytest.mark.parametrize("flags", [{"kmalloc": True}, {"store_user": True}])
def test_where_no_size_is_kept_for_red_zones_the_free_pointer_stays_inside(flags: dict[str, bool]) -> None:
    assert geometry_of(CacheRequest("x", 64, red_zone=True, **flags), NEW).free_pointer == 32


def test_red_zones_keep_the_free_pointer_out_of_objects_that_are_smaller() -> None:
    assert geometry_of(CacheRequest("x", 4, red_zone=True), OLD).free_pointer == 8
    assert geometry_of(CacheRequest("x", 8, red_zone=True), OLD).free_pointer == 0
    assert geometry_of(CacheRequest("x", 4), OLD).free_pointer == 0


@pytest.mark.parametrize(
    ("least", "classes"),
    [(8, (8, 16, 32, 64, 96, 128, 192, 256)), (64, (64, 128, 192, 256)), (128, (128, 256))],
)
def test_general_caches_between_powers_of_two_need_a_smaller_alignment(least: int, classes: tuple[int, ...]) -> None:
    made = kmalloc_classes(SlabMachine(kmalloc_alignment=least))
    assert made == (*classes, 512, 1024, 2048, 4096, 8192)


@pytest.mark.parametrize(("size", "name"), [(1, "kmalloc-8"), (512, "kmalloc-512"), (513, "kmalloc-1k")])
def test_the_smallest_general_cache_that_holds_a_size_serves_it(size: int, name: str) -> None:
    request = kmalloc_request(size, NEW)
    assert request is not None
    assert request.name == name


def test_no_general_cache_serves_more_than_two_pages() -> None:
    assert kmalloc_request(8192, NEW) is not None
    assert kmalloc_request(8193, NEW) is None


def test_phases_follow_from_the_stride() -> None:
    found = phase_counts(geometry_of(CacheRequest("x", 192), OLD), 128)
    assert [(one.phase, one.objects) for one in found] == [(0, 11), (64, 10)]


def test_phases_of_a_part_are_shifted() -> None:
    found = phase_counts(geometry_of(CacheRequest("x", 192), OLD), 64, offset=40)
    assert [(one.phase, one.objects) for one in found] == [(40, 21)]


def test_the_kernel_that_runs_here_agrees_in_all_its_caches() -> None:
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if not os.access(LIVE, os.R_OK) or not release or not (LIVE / "kmalloc-64/slab_size").is_file():
        pytest.skip("no readable /sys/kernel/slab of the SLUB allocator")
    machine = SlabMachine(cpus=_present_cpus(), release=(int(release[1]), int(release[2])))
    caches = [folder for folder in LIVE.iterdir() if (folder / "ctor").is_file() and not _number(folder, "store_user")]
    assert [folder.name for folder in caches if not _agrees(folder, machine)] == []


def _present_cpus() -> int:
    last = Path("/sys/devices/system/cpu/present").read_text().strip().rpartition("-")[2]
    return int(last.rpartition(",")[2]) + 1


def _number(folder: Path, name: str) -> int:
    return int((folder / name).read_text().split()[0])


def _agrees(folder: Path, machine: SlabMachine) -> bool:
    """Whether the rules give the cache; an object with a place of its own for the free pointer does not say so."""
    told = tuple(_number(folder, name) for name in ("slab_size", "objs_per_slab", "order"))
    requests = (
        CacheRequest(
            folder.name,
            _number(folder, "object_size"),
            _number(folder, "align"),
            typesafe_by_rcu=bool(_number(folder, "destroy_by_rcu")),
            constructor=bool((folder / "ctor").read_text().strip()),
            inner_free_pointer=inner,
            red_zone=bool(_number(folder, "red_zone")),
            poison=bool(_number(folder, "poison")),
        )
        for inner in (False, True)
    )
    return told in [_told(geometry_of(request, machine)) for request in requests]


def _told(found: SlabGeometry) -> tuple[int, int, int]:
    return found.stride, found.objects, found.order
