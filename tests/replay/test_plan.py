# SPDX-License-Identifier: GPL-2.0-or-later
"""Where objects go that no longer fit their place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import held, scalar, struct, table

from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.geometry.placement import lay_out
from linesmith.analyzer.model import Layout, ObjectArea, ObjectKind
from linesmith.tuner.plan import KindPlan, Placement, aligned, in_all_phases, relaid, unchanged
from linesmith.tuner.scene import scene

RECORD = struct("s", scalar("a"), scalar("b"), *(scalar(f"w{number}") for number in range(10)))
GROWN = lay_out(RECORD, (RECORD.members[0], replace(RECORD.members[1], alignment=64), *RECORD.members[2:]))


def slab(name: str, stride: int, count: int, address: int = 0x10000, size: int = RECORD.size) -> ObjectArea:
    return ObjectArea(ObjectKind.SLAB, name, address, size, stride, count, ("s",))


def plan_of(after: Layout, *areas: ObjectArea) -> tuple[KindPlan, ...]:
    return relaid(scene(RECORD, areas, table(RECORD)), {RECORD.id: after}, table(RECORD)).kinds


def test_objects_of_the_same_size_stay_at_their_addresses() -> None:
    swapped = lay_out(RECORD, (RECORD.members[1], RECORD.members[0], *RECORD.members[2:]))
    (kind,) = plan_of(swapped, slab("s_cache", 96, 42))
    assert kind.placement is None
    assert [(piece.old, piece.new) for piece in kind.pieces] == [(0, 8), (8, 0), (16, 16)]


def test_a_cache_of_its_own_packs_the_new_size() -> None:
    (kind,) = plan_of(GROWN, slab("s_cache", 96, 42))
    assert kind.placement == Placement(stride=192, per_slab=21, slab_bytes=4096)


def test_kmalloc_rounds_up_to_its_own_sizes() -> None:
    (kind,) = plan_of(GROWN, slab("kmalloc-96", 96, 42))
    assert kind.placement == Placement(stride=192, per_slab=21, slab_bytes=4096)
    (bigger,) = plan_of(replace(GROWN, size=200), slab("kmalloc-96", 96, 42))
    assert bigger.placement == Placement(stride=256, per_slab=16, slab_bytes=4096)


def test_what_the_cache_adds_to_an_object_stays() -> None:
    (kind,) = plan_of(replace(GROWN, natural_alignment=8, size=136, members=RECORD.members), slab("s_cache", 104, 39))
    assert kind.placement == Placement(stride=144, per_slab=28, slab_bytes=4096)


def test_slabs_of_several_pages_stay_as_large() -> None:
    (kind,) = plan_of(GROWN, slab("s_cache", 96, 85))
    assert kind.placement == Placement(stride=192, per_slab=42, slab_bytes=8192)


def test_slabs_of_one_cache_are_one_kind_and_variables_one_each() -> None:
    areas = [
        slab("s_cache", 96, 42),
        slab("s_cache", 96, 42, 0x20000),
        ObjectArea(ObjectKind.GLOBAL, "one", 0x30000, 96, 96, 1, ("s",)),
        ObjectArea(ObjectKind.GLOBAL, "other", 0x30060, 96, 96, 1, ("s",)),
    ]
    found = scene(RECORD, areas, table(RECORD))
    assert [(kind.name, len(kind.areas)) for kind in found.kinds] == [("s_cache", 2), ("one", 1), ("other", 1)]


def test_a_variable_that_grows_keeps_its_phase_as_far_as_its_alignment_lets_it() -> None:
    (kind,) = plan_of(GROWN, ObjectArea(ObjectKind.GLOBAL, "one", 0x30068, 96, 96, 1, ("s",)))
    assert kind.placement == Placement(stride=192, per_slab=1, slab_bytes=4096, first=128)


def test_an_array_is_a_row_of_objects() -> None:
    found = scene(RECORD, [ObjectArea(ObjectKind.GLOBAL, "table", 0x30000, 960, 960, 1, ("struct s",))], table(RECORD))
    assert (found.objects, found.kinds[0].stride) == (10, 96)


def test_a_record_inside_another_is_found_with_its_place() -> None:
    outer = struct("inode", scalar("number"), held("mapping", RECORD))
    area = ObjectArea(ObjectKind.SLAB, "inode_cache", 0x10000, outer.size, 104, 39, ("inode",))
    found = scene(RECORD, [area], table(RECORD, outer))
    assert found.kinds[0].places == (8,)
    assert found.member(0, 8 + 8, table(RECORD, outer)) == "b"
    assert found.member(0, 0, table(RECORD, outer)) == "inode.number"


def test_memory_of_unknown_or_other_types_is_no_part_of_the_scene() -> None:
    other = struct("other", scalar("x"))
    areas = [replace(slab("a", 96, 1), types=()), replace(slab("b", 96, 1), types=("other",))]
    assert scene(RECORD, areas, table(RECORD, other)).kinds == ()


def test_objects_that_may_be_of_other_types_are_named() -> None:
    both = replace(slab("kmalloc-96", 96, 42), types=("s", "other"))
    assert scene(RECORD, [both], table(RECORD)).doubtful == ("kmalloc-96",)


def test_another_stride_gives_another_mix_of_phases() -> None:
    found = scene(RECORD, [slab("s_cache", 96, 42)], table(RECORD))
    assert aligned(found, 128).kinds == (KindPlan(placement=Placement(128, 32, 4096)),)
    with pytest.raises(NotSimulated, match="do not fit 64 bytes"):
        aligned(found, 64)


def test_the_stride_of_a_slab_tells_its_phases_and_variables_stay() -> None:
    variable = ObjectArea(ObjectKind.GLOBAL, "one", 0x30000, 96, 96, 1, ("s",))
    found = scene(RECORD, [slab("s_cache", 96, 42), variable], table(RECORD))
    shifts = [[kind.shift for kind in plan.kinds] for plan in in_all_phases(unchanged(found), found)]
    assert shifts == [[0, 0], [32, 0]]


def test_objects_that_all_begin_with_a_line_have_one_phase() -> None:
    found = scene(RECORD, [slab("s_cache", 128, 32)], table(RECORD))
    assert len(in_all_phases(unchanged(found), found)) == 1
