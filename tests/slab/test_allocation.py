# SPDX-License-Identifier: GPL-2.0-or-later
"""When what a kernel says of its caches counts, and when what is asked for does."""

from __future__ import annotations

import pytest
from hand_made import scalar, struct

from linesmith.analyzer.model import Layout, SlabBasis, SlabCache, SlabGeometry
from linesmith.analyzer.slab import Asked, Kernel, any_machine, cache_of, machines_with


def record(size: int, name: str = "private") -> Layout:
    return struct(name, scalar("bytes", size, dimensions=(size,)))


def kernel(name: str, object_bytes: int, aliases: int = 0) -> Kernel:
    geometry = SlabGeometry(object_bytes, 8, 256, 0, 16)
    return Kernel(measured={name: SlabCache(name, geometry, SlabBasis.MEASURED, "in sysfs", aliases)})


def test_kmalloc_is_measured_where_its_cache_is() -> None:
    found = cache_of(record(100), kernel("kmalloc-128", 128), Asked(kmalloc=True))
    assert (found.basis, found.geometry.stride) == (SlabBasis.MEASURED, 256)


def test_whole_pages_are_measured_nowhere() -> None:
    found = cache_of(record(20_000), kernel("kmalloc-128", 128), Asked(kmalloc=True))
    assert (found.name, found.geometry.order) == ("whole pages", 3)


@pytest.mark.parametrize(("object_bytes", "fits"), [(95, False), (96, True), (103, True), (104, False)])
def test_a_cache_whose_objects_are_of_another_size_is_not_the_records(object_bytes: int, fits: bool) -> None:
    found = cache_of(record(96), kernel("private", object_bytes))
    assert (found.basis is SlabBasis.MEASURED) == fits


@pytest.mark.parametrize(("object_bytes", "fits"), [(159, True), (160, False)])
def test_objects_of_a_merged_cache_may_be_larger_by_less_than_a_line(object_bytes: int, fits: bool) -> None:
    found = cache_of(record(96), kernel("private", object_bytes, aliases=2))
    assert (found.basis is SlabBasis.MEASURED) == fits


@pytest.mark.parametrize(
    ("object_bytes", "told"), [(96, ""), (103, ""), (104, "; its objects have 104 bytes, private has 96")]
)
def test_of_a_cache_asked_for_by_name_another_size_is_told(object_bytes: int, told: str) -> None:
    found = cache_of(record(96), kernel("its_cache", object_bytes), Asked("its_cache"))
    assert found.reason == f"in sysfs{told}"


def test_a_known_cache_of_another_record_lends_its_flags() -> None:
    found = cache_of(record(96), Kernel(), Asked("dentry"))
    assert found.reason == "as dcache_init() creates it for dentry, but with the size of private"
    assert (found.basis, found.geometry.object_bytes) == (SlabBasis.ASSUMED, 96)


def test_any_machine_has_some_number_of_cpus() -> None:
    assert sum(share for _, share in any_machine().cpus) == pytest.approx(1)


@pytest.mark.parametrize("cpus", [None, 0])
def test_machines_without_a_number_of_cpus_are_any(cpus: int | None) -> None:
    assert machines_with(cpus) == any_machine()


def test_one_cpu_is_a_number_of_cpus() -> None:
    assert machines_with(1).cpus == ((1, 1.0),)
