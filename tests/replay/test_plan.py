# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the bytes of an object go when a record in it changes, and where objects go that no longer fit."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest
from hand_made import bits, held, scalar, struct, table, union

from linesmith.analyzer.base.errors import NotSimulated
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import Layout, ObjectArea, ObjectKind
from linesmith.tuner.replay.plan import KindPlan, aligned, in_all_phases, relaid, unchanged
from linesmith.tuner.replay.scene import Relocation, TraceScene, relocation, scene


def reordered(layout: Layout, names: str) -> Layout:
    by_name = {member.name: member for member in layout.members}
    return lay_out(layout, tuple(by_name[name] for name in names.split()))


def grown(layout: Layout) -> Layout:
    """Its second member begins a line."""
    first, second, *rest = layout.members
    return lay_out(layout, (first, replace(second, alignment=64), *rest))


def pieces(found: Relocation) -> list[tuple[int, int, int]]:
    """Old offset, size and new offset of each piece."""
    return [(piece.old, piece.size, piece.new) for piece in found.pieces]


THREE = struct("s", scalar("a"), scalar("b"), scalar("c"))
HOLE = struct("s", scalar("a", 4), scalar("b"), scalar("c"))
LOOSE = struct("s", bits("wide", 20), scalar("big", 16, align=16), scalar("c"))
FIELDS = struct("s", bits("flags", 8), bits("state", 8), scalar("count"))


@pytest.mark.parametrize(
    ("record", "order", "places"),
    [
        pytest.param(THREE, "c b a", [(0, 8, 16), (8, 8, 8), (16, 8, 0)], id="a swap"),
        pytest.param(THREE, "c a b", [(0, 16, 8), (16, 8, 0)], id="members that stay together are one piece"),
        pytest.param(HOLE, "b a c", [(0, 8, 8), (8, 8, 0), (16, 8, 16)], id="a hole goes with the one before it"),
        pytest.param(FIELDS, "count flags state", [(0, 8, 8), (8, 8, 0)], id="bit-fields"),
        pytest.param(LOOSE, "big c wide", [(0, 3, 24), (3, 13, 19), (16, 32, 0)], id="all bytes of a bit-field"),
    ],
)
def test_where_the_bytes_of_a_record_go(record: Layout, order: str, places: list[tuple[int, int, int]]) -> None:
    assert pieces(relocation(record, table(record), {record.id: reordered(record, order)})) == places


PAIR = struct("inner", scalar("a"), scalar("b"))
SMALL = struct("inner", scalar("a", 4), scalar("b", 4))


def around(inner: Layout, after: Layout, outer: Layout) -> Relocation:
    return relocation(outer, table(inner, outer), {inner.id: after})


def test_a_record_of_the_same_size_leaves_its_holder_alone() -> None:
    swapped = reordered(PAIR, "b a")
    found = around(PAIR, swapped, struct("outer", scalar("before"), held("inner", PAIR), scalar("behind")))
    assert (pieces(found), found.fits) == ([(0, 8, 0), (8, 8, 16), (16, 8, 8), (24, 8, 24)], True)
    other = struct("o", scalar("x"))
    assert around(PAIR, swapped, other).stays, "what does not hold it stays"
    row = replace(held("row", PAIR), dimensions=(3,), size=48)
    every = [(start, 8, start + 8 if start % 16 == 0 else start - 8) for start in range(0, 48, 8)]
    assert pieces(around(PAIR, swapped, struct("outer", row))) == every, "every element of an array moves alike"


def test_a_record_that_grows_pushes_what_follows_it() -> None:
    found = around(SMALL, grown(SMALL), struct("outer", held("inner", SMALL), scalar("behind")))
    assert pieces(found) == [(0, 4, 0), (4, 4, 64), (8, 8, 128)]
    assert (found.old_size, found.new_size, found.new_alignment, found.fits) == (16, 192, 64, False)
    row = replace(held("row", SMALL), dimensions=(2,), size=16)
    elements = around(SMALL, grown(SMALL), struct("outer", row))
    assert pieces(elements) == [(0, 4, 0), (4, 4, 64), (8, 4, 128), (12, 4, 192)], "elements at their new distance"
    either = around(PAIR, grown(PAIR), union("either", held("inner", PAIR), scalar("word")))
    assert (either.new_size, either.new_alignment) == (128, 64)
    loose = struct("outer", scalar("x", 1), held("inner", SMALL))
    packed = replace(loose, size=9, members=(loose.members[0], replace(loose.members[1], offset=1)))
    with pytest.raises(NotSimulated, match="struct outer cannot be laid out around a member of another size"):
        around(SMALL, grown(SMALL), packed)


def test_members_without_a_name_keep_their_order() -> None:
    first, second = union("", scalar("a"), scalar("b")), union("", scalar("c"), scalar("d"))
    record = struct("s", held("", first), held("", second), scalar("x"))
    after = lay_out(record, (record.members[2], *record.members[:2]))
    assert pieces(relocation(record, table(record, first, second), {record.id: after})) == [(0, 16, 8), (16, 8, 0)]


RECORD = struct("s", scalar("a"), scalar("b"), *(scalar(f"w{number}") for number in range(10)))
GROWN = grown(RECORD)
ONE, OTHER = (
    ObjectArea(ObjectKind.GLOBAL, name, at, 96, 96, 1, ("s",)) for name, at in (("one", 0x30000), ("other", 0x30060))
)


def slab(name: str = "s_cache", stride: int = 96, count: int = 42, address: int = 0x10000) -> ObjectArea:
    return ObjectArea(ObjectKind.SLAB, name, address, RECORD.size, stride, count, ("s",))


def of(*areas: ObjectArea) -> TraceScene:
    return scene(RECORD, areas, table(RECORD))


def plan_of(after: Layout, area: ObjectArea) -> KindPlan:
    (kind,) = relaid(of(area), {RECORD.id: after}, table(RECORD)).kinds
    return kind


def test_objects_of_the_same_size_stay_at_their_addresses() -> None:
    kind = plan_of(lay_out(RECORD, (RECORD.members[1], RECORD.members[0], *RECORD.members[2:])), slab())
    assert kind.placement is None
    assert [(piece.old, piece.new) for piece in kind.pieces] == [(0, 8), (8, 0), (16, 16)]


PADDED = replace(GROWN, natural_alignment=8, size=136, members=RECORD.members)


@pytest.mark.parametrize(
    ("after", "area", "placement"),
    [
        pytest.param(GROWN, slab(), (192, 21, 4096), id="a cache of its own packs the new size"),
        pytest.param(GROWN, slab("kmalloc-96"), (192, 21, 4096), id="kmalloc has it"),
        pytest.param(replace(GROWN, size=200), slab("kmalloc-96"), (256, 16, 4096), id="kmalloc rounds up"),
        pytest.param(PADDED, slab("s_cache", 104, 39), (144, 28, 4096), id="what the cache adds stays"),
        pytest.param(GROWN, slab("s_cache", 96, 85), (192, 42, 8192), id="slabs of several pages stay as large"),
        pytest.param(GROWN, replace(ONE, address=0x30068), (192, 1, 4096, 128), id="a variable keeps its phase"),
    ],
)
def test_where_larger_objects_go(after: Layout, area: ObjectArea, placement: tuple[int, ...]) -> None:
    found = plan_of(after, area).placement
    assert found is not None
    assert astuple(found)[: len(placement)] == placement


def test_the_memory_that_is_part_of_the_scene() -> None:
    found = of(slab(), slab(address=0x20000), ONE, OTHER)
    assert [(kind.name, len(kind.areas)) for kind in found.kinds] == [("s_cache", 2), ("one", 1), ("other", 1)]
    array = of(ObjectArea(ObjectKind.GLOBAL, "table", 0x30000, 960, 960, 1, ("struct s",)))
    assert (array.objects, array.kinds[0].stride) == (10, 96), "an array is a row of objects"
    other = struct("other", scalar("x"))
    areas = [replace(slab(), types=()), replace(slab(), types=("other",))]
    assert scene(RECORD, areas, table(RECORD, other)).kinds == ()
    assert of(replace(slab("kmalloc-96"), types=("s", "other"))).doubtful == ("kmalloc-96",)


def test_a_record_inside_another_is_found_with_its_place() -> None:
    outer = struct("inode", scalar("number"), held("mapping", RECORD))
    area = ObjectArea(ObjectKind.SLAB, "inode_cache", 0x10000, outer.size, 104, 39, ("inode",))
    layouts = table(RECORD, outer)
    found = scene(RECORD, [area], layouts)
    assert found.kinds[0].places == (8,)
    assert [found.member(0, offset, layouts) for offset in (8 + 8, 0)] == ["b", "inode.number"]


def test_the_stride_of_a_slab_tells_its_phases() -> None:
    found = of(slab())
    (kind,) = aligned(found, 128).kinds
    assert kind.placement is not None
    assert astuple(kind.placement)[:3] == (128, 32, 4096)
    with pytest.raises(NotSimulated, match="do not fit 64 bytes"):
        aligned(found, 64)
    found, whole = of(slab(), ONE), of(slab("s_cache", 128, 32))
    shifts = [[kind.shift for kind in plan.kinds] for plan in in_all_phases(unchanged(found), found)]
    assert shifts == [[0, 0], [32, 0]]
    assert len(in_all_phases(unchanged(whole), whole)) == 1, "objects that all begin with a line have one"
