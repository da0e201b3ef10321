# SPDX-License-Identifier: GPL-2.0-or-later
"""SLUB's rules give what kernels say of their caches in /sys/kernel/slab."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from linesmith.analyzer.model import CacheRequest, Layout, RecordKind, SlabGeometry, SlabMachine
from linesmith.analyzer.slab.allocation import CacheOptions, Kernel, cache_of, geometry_of, pages_for, phase_counts

LIVE = Path("/sys/kernel/slab")
OLD = SlabMachine(cpus=8, release=(6, 1))
NEW = SlabMachine(cpus=8, release=(6, 12))


ONE = SlabMachine(cpus=1)
SERVER = SlabMachine(cpus=64, release=(6, 13))
INNER = {"inner_free_pointer": True}


def _shape(found: SlabGeometry) -> tuple[int, int, int, int]:
    return found.alignment, found.stride, found.objects, found.order


@pytest.mark.parametrize(
    ("request_", "machine", "shape"),
    [
        # 51 vmas of 160 bytes share two pages, and 102 locks of 40 bytes one.
        (CacheRequest("vm_area_struct", 160), SERVER, (8, 160, 51, 1)),
        (CacheRequest("vma_lock", 40), SERVER, (8, 40, 102, 0)),
        (CacheRequest("vm_area_struct", 256, 64), SERVER, (64, 256, 32, 1)),
        (CacheRequest("vm_area_struct", 192, 64), SERVER, (64, 192, 42, 1)),
        # General caches are aligned to what divides them since 6.11.
        (CacheRequest("kmalloc-192", 192, kmalloc=True), OLD, (8, 192, 21, 0)),
        (CacheRequest("kmalloc-192", 192, kmalloc=True), NEW, (64, 192, 21, 0)),
        (CacheRequest("kmalloc-96", 96, kmalloc=True), NEW, (32, 96, 42, 0)),
        (CacheRequest("kmalloc-512", 512, kmalloc=True), OLD, (512, 512, 32, 2)),
        # More CPUs want more objects in a slab.
        *(
            (CacheRequest("x", 192), SlabMachine(cpus=cpus), (8, 192, (4096 << order) // 192, order))
            for cpus, order in ((1, 0), (15, 0), (16, 1), (511, 1), (512, 2))
        ),
        # 11,000 bytes fit two times into 8 pages and leave a third of them, which is placed otherwise since 6.7.
        (CacheRequest("x", 11_000), SlabMachine(cpus=1, release=(6, 6)), (8, 11_000, 1, 2)),
        (CacheRequest("x", 11_000), SlabMachine(cpus=1, release=(6, 7)), (8, 11_000, 2, 3)),
        # Before, a quarter is left over rather than objects given up.
        (CacheRequest("x", 8232), SlabMachine(cpus=1, release=(6, 1)), (8, 8232, 3, 3)),
        (CacheRequest("x", 12368), SlabMachine(cpus=1, release=(6, 1)), (8, 12368, 2, 3)),
        # A sixteenth of a slab may be left over: 12 objects of 320 bytes leave 256 of 4,096, 11 of 344 leave 312.
        (CacheRequest("x", 320), ONE, (8, 320, 12, 0)),
        (CacheRequest("x", 344), ONE, (8, 344, 23, 1)),
        # An object too large for eight pages has a slab of its own; large pages hold more objects.
        (CacheRequest("x", 40_000), NEW, (8, 40_000, 1, 4)),
        (CacheRequest("x", 160), SlabMachine(cpus=64, page_bytes=65536), (8, 160, 409, 0)),
    ],
    ids=str,
)
def test_how_objects_lie_in_a_slab(
    request_: CacheRequest, machine: SlabMachine, shape: tuple[int, int, int, int]
) -> None:
    assert _shape(geometry_of(request_, machine)) == shape


def test_vmas_with_a_lock_of_their_own_take_50_64_or_48_pages_per_thousand() -> None:
    requests = CacheRequest("", 160), CacheRequest("", 40), CacheRequest("", 256, 64), CacheRequest("", 192, 64)
    vma, lock, wide, narrow = (pages_for(1000, geometry_of(one, SERVER)) for one in requests)
    assert (vma + lock, wide, narrow) == (50, 64, 48)


@pytest.mark.parametrize(
    ("request_", "machine", "stride", "free_pointer"),
    [
        # A constructor keeps the free pointer out of the object; so does safety by RCU, unless there is room for it.
        (CacheRequest("x", 1184, constructor=True), OLD, 1192, 1184),
        (CacheRequest("x", 1048, constructor=True, **INNER), SlabMachine(cpus=64, release=(7, 3)), 1048, None),
        (CacheRequest("x", 232, typesafe_by_rcu=True), NEW, 240, 232),
        (CacheRequest("x", 232, typesafe_by_rcu=True, **INNER), NEW, 232, None),
        (CacheRequest("x", 152), OLD, 152, 72),  # others hold it near their middle
        # Red zones in kmalloc memory keep it out since 6.2, if the size asked for is kept.
        (CacheRequest("x", 64, kmalloc=True, red_zone=True, store_user=True), OLD, None, 32),
        (CacheRequest("x", 64, kmalloc=True, red_zone=True, store_user=True), NEW, None, 72),
        (CacheRequest("x", 64, red_zone=True, kmalloc=True), NEW, None, 32),
        (CacheRequest("x", 64, red_zone=True, store_user=True), NEW, None, 32),
        # Red zones keep it out of objects that are smaller than it.
        (CacheRequest("x", 4, red_zone=True), OLD, None, 8),
        (CacheRequest("x", 8, red_zone=True), OLD, None, 0),
        (CacheRequest("x", 4), OLD, None, 0),
    ],
    ids=str,
)
def test_where_the_free_pointer_lies(
    request_: CacheRequest, machine: SlabMachine, stride: int | None, free_pointer: int | None
) -> None:
    found = geometry_of(request_, machine)
    assert found.free_pointer == free_pointer
    assert stride in (None, found.stride)


@pytest.mark.parametrize(
    ("size", "asked", "alignment"),
    [(8, 8, 8), (16, 8, 16), (17, 8, 32), (32, 8, 32), (33, 8, 64), (64, 8, 64), (200, 8, 64), (200, 128, 128)],
)
def test_small_objects_are_aligned_to_parts_of_a_line(size: int, asked: int, alignment: int) -> None:
    assert geometry_of(CacheRequest("x", size, asked, hwcache_align=True), OLD).alignment == alignment


@pytest.mark.parametrize(
    ("least", "size", "name"),
    [
        *((8, 1, "kmalloc-8"), (8, 96, "kmalloc-96"), (8, 512, "kmalloc-512"), (8, 513, "kmalloc-1k")),
        *((8, 8192, "kmalloc-8k"), (8, 8193, "whole pages")),
        # Those between powers of two need a smaller alignment.
        *((64, 1, "kmalloc-64"), (64, 96, "kmalloc-128"), (64, 192, "kmalloc-192"), (128, 192, "kmalloc-256")),
    ],
)
def test_the_smallest_general_cache_that_holds_a_size_serves_it(least: int, size: int, name: str) -> None:
    kernel = Kernel(machine=SlabMachine(kmalloc_alignment=least))
    assert cache_of(Layout(0, "x", RecordKind.STRUCT, size, ()), kernel, CacheOptions(kmalloc=True)).name == name


def test_red_zones_lie_on_both_sides_of_an_object() -> None:
    """Debian 6.1 with slub_debug=FZPU: 152 bytes, zone, pointer, two tracks of 32 bytes, zone, and one before."""
    request = CacheRequest("vm_area_struct", 152, red_zone=True, poison=True, store_user=True)
    found = geometry_of(request, SlabMachine(cpus=8, release=(6, 1), track_bytes=32))
    assert (found.stride, found.objects, found.order, found.lead) == (248, 33, 1, 8)


@pytest.mark.parametrize(
    ("granule", "offset", "phases"), [(128, 0, [(0, 11), (64, 10)]), (64, 40, [(40, 21)])], ids=["whole", "a part"]
)
def test_phases_follow_from_the_stride(granule: int, offset: int, phases: list[tuple[int, int]]) -> None:
    found = phase_counts(geometry_of(CacheRequest("x", 192), OLD), granule, offset=offset)
    assert [(one.phase, one.objects) for one in found] == phases


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
