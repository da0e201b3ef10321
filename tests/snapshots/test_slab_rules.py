# SPDX-License-Identifier: GPL-2.0-or-later
"""SLUB's rules against the caches in the memory of Debian's kernel, and what is known of their flags against both."""

from __future__ import annotations

from pathlib import Path

import drgn
import pytest
from drgn.helpers.linux.slab import for_each_slab_cache
from snapshots.conftest import DumpOf

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.model import CacheRequest, SlabBasis, SlabMachine
from linesmith.analyzer.slab import Kernel, geometry_of, own_cache, release_of
from linesmith.plugins.snapshots.kernel import opened

pytestmark = pytest.mark.real

# include/linux/slab.h; the order stands above the number of objects in kmem_cache.oo (mm/slub.c).
RED_ZONE, POISON, STORE_USER, BY_RCU = 0x400, 0x800, 0x10000, 0x80000
ORDER_SHIFT = 16
CPUS = 4
COMMAND_LINES = {"plain": "nokaslr", "debugging": "slub_debug=FZPU"}

Shape = tuple[int, int, int]


@pytest.fixture(scope="module", params=COMMAND_LINES.values(), ids=list(COMMAND_LINES))
def kernel(request: pytest.FixtureRequest, dump_of: DumpOf, vmlinux: Path) -> drgn.Program:
    return opened(dump_of(request.param), vmlinux)


def test_all_caches_are_laid_out_by_the_rules(kernel: drgn.Program, vmlinux: Path) -> None:
    release = release_of(vmlinux)
    assert release is not None
    machine = SlabMachine(cpus=CPUS, release=release, track_bytes=kernel.type("struct track").size)
    caches = list(for_each_slab_cache(kernel))
    assert len(caches) > 100
    assert [_name(cache) for cache in caches if _told(cache) != _computed(cache, machine)] == []


def test_what_is_known_of_caches_gives_what_they_are(program: drgn.Program, vmlinux: Path) -> None:
    machine = SlabMachine(cpus=CPUS, release=release_of(vmlinux) or (0, 0))
    told = {_name(cache): _told(cache) for cache in for_each_slab_cache(program)}
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
