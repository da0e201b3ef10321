# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies in the memory of Debian's kernel, by its own structures and by the snapshot."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import drgn
import pytest
from drgn.helpers.linux.slab import for_each_slab_cache, slab_object_info
from keeping import Keeper
from kernel_index import index_of
from snapshots.conftest import Guest
from snapshots.places import area_at, in_slabs, in_the_image, listed, signals, start_at

from linesmith.analyzer.base.errors import DebugInfoMissing
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import CacheRequest, SlabBasis, SlabMachine
from linesmith.analyzer.slab.allocation import Kernel, geometry_of, own_cache
from linesmith.analyzer.slab.caches import release_of
from linesmith.plugins.registry import snapshot_source

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("guests")]

# include/linux/slab.h; the order stands above the number of objects in kmem_cache.oo (mm/slub.c).
RED_ZONE, POISON, STORE_USER, BY_RCU = 0x400, 0x800, 0x10000, 0x80000
ORDER_SHIFT = 16
CPUS = 4
Shape = tuple[int, int, int]


def test_what_lies_in_the_image_and_beside_it(plain: Guest) -> None:
    for name, known in in_the_image(plain.program).items():
        area = area_at(plain.snapshot, known.at)
        assert {one: getattr(area, one) for one in known.fields} == known.fields, name
        assert known.start in (None, start_at(area, known.at)), name


def test_what_lies_in_slabs(each_guest: Guest) -> None:
    for name, known in in_slabs(each_guest.program).items():
        area = area_at(each_guest.snapshot, known.at)
        assert {one: getattr(area, one) for one in known.fields} == known.fields, name
        assert start_at(area, known.at) == known.start, name
        assert area.name.startswith("kmalloc-") or name in ("dentry", "kmem_cache_cpu")
        assert area.count > 1 or name != "dentry"


def test_listed_objects_are_found_at_their_starts_with_their_records(each_guest: Guest) -> None:
    """Inodes lie within what their file systems allocate."""
    objects = listed(each_guest.program)
    assert len({one.record for one in objects}) == 13
    for one in objects:
        area = area_at(each_guest.snapshot, one.middle)
        start = start_at(area, one.middle)
        if one.record == "inode":
            assert area.types
            assert start <= one.address < one.address + one.size <= start + area.size
        else:
            assert (start, one.record in area.types) == (one.address, True), one


def test_merged_cache_names_those_that_share_it(each_guest: Guest) -> None:
    """The first name is the cache's own; with slub_debug there is no other."""
    object_ = signals(each_guest.program)
    area, found = area_at(each_guest.snapshot, object_.value_()), slab_object_info(object_)
    assert found is not None
    assert area.types[0] == "signal_struct"
    assert len(area.merged) == found.slab_cache.refcount.value_() - 1


def test_areas_do_not_overlap_and_hold_only_kernel_memory(plain: Guest) -> None:
    areas = plain.snapshot.areas
    assert len(areas) > 1000
    assert all(before.end <= behind.address for before, behind in pairwise(areas))
    assert areas[0].address >= 1 << 63
    assert areas[-1].end < (1 << 64) - 8


def test_the_kernel_is_named(plain: Guest, vmlinux: Path) -> None:
    assert plain.snapshot.kernel_release is not None
    assert vmlinux.name == f"vmlinux-{plain.snapshot.kernel_release}"
    assert plain.snapshot.build_id == plain.program.main_module().build_id.hex()


def test_vmlinux_without_debug_information(plain: Guest, vmlinux: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "vmlinux"
    subprocess.run(("strip", "--strip-debug", "-o", stripped, vmlinux), check=True)
    with pytest.raises(DebugInfoMissing, match="vmlinux has no DWARF; give the vmlinux with debug information"):
        snapshot_source("drgn").read(plain.memory, stripped, [0])


def test_all_caches_are_laid_out_by_the_rules(each_guest: Guest, vmlinux: Path) -> None:
    release = release_of(vmlinux)
    assert release is not None
    track = each_guest.program.type("struct track").size
    machine = SlabMachine(cpus=CPUS, release=release, track_bytes=track)
    caches = list(for_each_slab_cache(each_guest.program))
    assert len(caches) > 100
    assert [_name(cache) for cache in caches if _told(cache) != _computed(cache, machine)] == []


def test_what_is_known_of_caches_gives_what_they_are(
    plain: Guest, vmlinux: Path, kept: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(index_of(vmlinux, kept)))
    machine = SlabMachine(cpus=CPUS, release=release_of(vmlinux) or (0, 0))
    told = {_name(cache): _told(cache) for cache in for_each_slab_cache(plain.program)}
    found = (own_cache(layout, Kernel(machine)) for layout in read_layouts(vmlinux).layouts if layout.name)
    known = [one for one in found if one and one.basis is SlabBasis.COMPUTED and one.name in told]
    shapes = {one.name: (one.geometry.stride, one.geometry.order, one.geometry.objects) for one in known}
    assert len(shapes) > 40
    assert {name: shape for name, shape in shapes.items() if told[name] != shape} == {}


def _name(cache: drgn.Object) -> str:
    return str(cache.name.string_(), "utf-8")


def _told(cache: drgn.Object) -> Shape:
    packed = cache.oo.x.value_()
    return cache.size.value_(), packed >> ORDER_SHIFT, packed & ((1 << ORDER_SHIFT) - 1)


def _computed(cache: drgn.Object, machine: SlabMachine) -> Shape:
    flags = cache.flags.value_()
    request = CacheRequest(
        _name(cache),
        cache.object_size.value_(),
        cache.align.value_(),
        typesafe_by_rcu=bool(flags & BY_RCU),
        constructor=bool(cache.ctor.value_()),
        kmalloc="kmalloc-" in _name(cache),
        red_zone=bool(flags & RED_ZONE),
        poison=bool(flags & POISON),
        store_user=bool(flags & STORE_USER),
    )
    found = geometry_of(request, machine)
    return found.stride, found.order, found.objects
