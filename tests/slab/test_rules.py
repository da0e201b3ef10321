# SPDX-License-Identifier: GPL-2.0-or-later
"""SLUB's rules, which cache serves a record, and the kernel's release."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest
from hand_made import held, scalar, struct, table

from linesmith.analyzer.base.errors import ElfError, SlabFactsError
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import CacheRequest, Layout, RecordKind, SlabBasis, SlabCache, SlabGeometry, SlabMachine
from linesmith.analyzer.slab.allocation import (
    CacheOptions,
    Kernel,
    Served,
    cache_of,
    geometry_of,
    has_slabs,
    own_cache,
    phase_counts,
)
from linesmith.analyzer.slab.caches import measured_caches, release_of
from linesmith.analyzer.slab.starts import slab_places

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
def test_how_slabs_hold_objects(request_: CacheRequest, machine: SlabMachine, shape: tuple[int, int, int, int]) -> None:
    assert _shape(geometry_of(request_, machine)) == shape


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
def test_the_free_pointer(
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


# Which cache serves a record, by /sys/kernel/slab or by what is known of the kernel

DENTRY_FACTS = {"object_size": "192", "slab_size": "200", "align": "8", "objs_per_slab": "20", "order": "0"}


@pytest.fixture(params=["directory", "text"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def facts(form: str, folder: Path, changed: dict[str, str]) -> Path:
    """/sys/kernel/slab as it is, or as grep prints it."""
    values = {**DENTRY_FACTS, **changed}
    if form == "text":
        rows = (f"/sys/kernel/slab/dentry/{name}:{value}\n" for name, value in values.items())
        (folder / "slab.txt").write_text("".join(rows))
        return folder / "slab.txt"
    (folder / "slab" / "dentry").mkdir(parents=True)
    for name, value in values.items():
        (folder / "slab" / "dentry" / name).write_text(f"{value}\n")
    return folder / "slab"


@pytest.mark.parametrize(
    ("changed", "lead", "aliases", "objects"),
    [
        ({"aliases": "3"}, 0, 3, 20),
        ({"aliases": "3 N0=2 N1=1"}, 0, 3, 20),  # words behind a number do not count
        ({"aliases": "many"}, 0, 0, 20),
        ({"aliases": "12345678901"}, 0, 0, 20),  # no number of a cache
        ({"aliases": "1234567890"}, 0, 1234567890, 20),
        ({"red_zone": "1"}, 8, 0, 20),  # an aligned word in front
        ({"red_zone": "0"}, 0, 0, 20),
        ({"red_zone": "1", "align": "64"}, 64, 0, 20),
        ({"red_zone": "1", "align": "0"}, 8, 0, 20),  # no alignment is one of single bytes
        ({"objs_per_slab": "1"}, 0, 0, 1),
    ],
)
def test_a_measured_cache(
    changed: dict[str, str], lead: int, aliases: int, objects: int, form: str, tmp_path: Path
) -> None:
    cache = measured_caches(facts(form, tmp_path, changed), 4096)["dentry"]
    geometry = cache.geometry
    assert (cache.name, cache.aliases, geometry.lead, geometry.objects) == ("dentry", aliases, lead, objects)
    assert (geometry.object_bytes, geometry.stride, geometry.order, geometry.page_bytes) == (192, 200, 0, 4096)


@pytest.mark.parametrize("changed", [{"slab_size": "0"}, {"objs_per_slab": "0"}, {"order": "none"}])
def test_a_cache_without_objects_or_an_order_is_none(changed: dict[str, str], form: str, tmp_path: Path) -> None:
    with pytest.raises(SlabFactsError, match="has no slab cache"):
        measured_caches(facts(form, tmp_path, changed), 4096)


def record(size: int, name: str = "private") -> Layout:
    return struct(name, scalar("bytes", size, dimensions=(size,)))


def kernel(name: str, object_bytes: int, aliases: int = 0) -> Kernel:
    geometry = SlabGeometry(object_bytes, 8, 256, 0, 16)
    return Kernel(measured={name: SlabCache(name, geometry, SlabBasis.MEASURED, "in sysfs", aliases)})


def test_kmalloc_is_measured_where_its_cache_is() -> None:
    found = cache_of(record(100), kernel("kmalloc-128", 128), CacheOptions(kmalloc=True))
    assert (found.basis, found.geometry.stride) == (SlabBasis.MEASURED, 256)
    whole = cache_of(record(20_000), kernel("kmalloc-128", 128), CacheOptions(kmalloc=True))
    assert (whole.name, whole.geometry.order) == ("whole pages", 3)


@pytest.mark.parametrize(
    ("object_bytes", "aliases", "fits"),
    [
        (95, 0, False),
        (96, 0, True),
        (103, 0, True),
        (104, 0, False),
        (159, 2, True),  # objects of a merged cache may be larger by less than a line
        (160, 2, False),
    ],
)
def test_a_cache_of_other_sizes_is_not_the_records(object_bytes: int, aliases: int, fits: bool) -> None:
    found = cache_of(record(96), kernel("private", object_bytes, aliases))
    assert (found.basis is SlabBasis.MEASURED) == fits


@pytest.mark.parametrize(
    ("object_bytes", "told"), [(96, ""), (103, ""), (104, "; its objects have 104 bytes, private has 96")]
)
def test_of_a_cache_asked_for_by_name_another_size_is_told(object_bytes: int, told: str) -> None:
    found = cache_of(record(96), kernel("its_cache", object_bytes), CacheOptions("its_cache"))
    assert found.reason == f"in sysfs{told}"


def test_a_known_cache_of_another_record_lends_its_flags() -> None:
    found = cache_of(record(96), Kernel(), CacheOptions("dentry"))
    assert found.reason == "as dcache_init() creates it for dentry, but with the size of private"
    assert (found.basis, found.geometry.object_bytes) == (SlabBasis.ASSUMED, 96)


PART = struct("part", scalar("first"), scalar("second"))
DENTRY = struct("dentry", scalar("d_flags"), held("d_part", PART))
STRANGER = struct("stranger", held("part", PART))
LAYOUTS = table(PART, DENTRY, STRANGER)


def walked(kernel: Kernel) -> list[str]:
    return [layout.name for layout in Served(LAYOUTS, kernel)]


def places(layout: Layout, kernel: Kernel) -> list[tuple[str, str]]:
    found = slab_places(layout, Containment(Served(LAYOUTS, kernel)), kernel)
    return [(place.outer, place.path) for place in found]


def test_records_of_known_and_measured_caches_and_their_parts_are_walked() -> None:
    assert walked(Kernel()) == ["dentry", "part"]
    measured = SlabCache("stranger", SlabGeometry(16, 8, 16, 0, 256), SlabBasis.MEASURED)
    assert "stranger" in walked(Kernel(measured={"stranger": measured}))


def test_the_places_of_a_record_are_those_that_all_layouts_tell() -> None:
    everywhere = [(one.outer, one.path) for one in slab_places(PART, Containment(LAYOUTS), Kernel())]
    assert places(PART, Kernel()) == everywhere == [("dentry", "d_part")]


def test_what_is_not_walked_can_still_be_asked_for() -> None:
    assert Served(LAYOUTS, Kernel()).by_id(STRANGER.id) == STRANGER


def test_a_program_has_no_slabs() -> None:
    assert not has_slabs(LAYOUTS)
    assert has_slabs(table(struct("task_struct", scalar("flags"))))


def test_a_record_without_bytes_has_no_cache_of_its_own() -> None:
    """Damaged debug information, or a record that a configuration leaves empty."""
    assert own_cache(struct("dentry"), Kernel()) is None
    assert own_cache(struct("dentry", scalar("byte", 1)), Kernel()) is not None


@pytest.mark.parametrize(
    ("content", "release"),
    [
        (b"Linux version 6.12.8 (gcc)", (6, 12)),
        (b"Linux version %s\0Linux version 4.19-rc1", (4, 19)),
        (b"Linux version Linux version 5.10.0", (5, 10)),
        (b"Linux version 6.1", None),  # cut off: it may go on with another digit
        (b"Linux", None),
    ],
)
def test_the_first_whole_banner_counts(content: bytes, release: tuple[int, int] | None, tmp_path: Path) -> None:
    image = tmp_path / "vmlinux"
    image.write_bytes(b"\x7fELF\0" + content)
    assert release_of(image) == release


def test_the_release_is_read_where_the_file_cannot_be_mapped() -> None:
    """The kernel writes this file when it is read, as it does /sys/kernel/btf/vmlinux."""
    version = Path("/proc/version")
    with version.open("rb") as file, pytest.raises((OSError, ValueError)):
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    major, minor, *_ = os.uname().release.split(".")
    assert release_of(version) == (int(major), int(minor))


def test_a_release_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert release_of(tmp_path / "empty") is None
    with pytest.raises(ElfError, match=r"cannot read .*; give a vmlinux"):
        release_of(tmp_path / "gone")
