# SPDX-License-Identifier: GPL-2.0-or-later
"""Which cache serves a record, by /sys/kernel/slab or by what is known of the kernel; and the kernel's release."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest
from hand_made import held, scalar, struct, table

from linesmith.analyzer.base.errors import ElfError, SlabFactsError
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import Layout, SlabBasis, SlabCache, SlabGeometry
from linesmith.analyzer.slab.allocation import CacheOptions, Kernel, Served, cache_of, has_slabs, own_cache
from linesmith.analyzer.slab.caches import measured_caches, release_of
from linesmith.analyzer.slab.starts import slab_places

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
def test_a_cache_without_objects_or_without_an_order_is_none(
    changed: dict[str, str], form: str, tmp_path: Path
) -> None:
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
def test_a_cache_whose_objects_are_of_another_size_is_not_the_records(
    object_bytes: int, aliases: int, fits: bool
) -> None:
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
