# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases the objects of a record start: by slab place, recomputed for another size, or at every alignment."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, held, hot, meeting, scalar, struct, table

from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Layout, PlacePhases, SlabBasis, SlabMachine
from linesmith.analyzer.slab import Kernel
from linesmith.tuner.cost.conflict import cost
from linesmith.tuner.cost.phase_mix import every_start, phase_mix
from linesmith.tuner.cost.phase_mixes import PhaseMixes
from linesmith.tuner.premises import Premises
from linesmith.tuner.subject import subject

KERNEL = Kernel(SlabMachine(cpus=8, release=(6, 1)))


def mapping() -> Layout:
    """A record that lies in inodes, as address_space does."""
    return struct("address_space", scalar("tree", 16), scalar("lock"), scalar("rest", 104))


def in_inodes(record: Layout, front: int) -> LayoutTable:
    """``record`` behind ``front`` bytes of an ext4 inode, whose cache asks for no alignment."""
    inode = struct("ext4_inode_info", scalar("own", front), held("i_data", record), scalar("tail", 16))
    return table(record, inode)


def test_without_a_kernel_every_multiple_of_the_alignment_counts_the_same() -> None:
    layout = mapping()
    mix = PhaseMixes(layout, table(layout), None).of(granule=16)
    assert mix.at(64) == (PlacePhases("", 64, ((0, 0.25), (16, 0.25), (32, 0.25), (48, 0.25))),)
    assert [place.line_bytes for place in mix.places] == [64, 128]


def test_the_slabs_of_the_objects_around_a_record_decide_its_phases() -> None:
    layout = mapping()
    layouts = in_inodes(layout, front=64)
    place, elsewhere = PhaseMixes(layout, layouts, KERNEL).of(granule=8).at(64)
    # 208 bytes and a word for the free pointer: 216 apart, 37 objects on two pages.
    assert (place.place, place.basis) == ("ext4_inode_cache, i_data", SlabBasis.COMPUTED)
    assert [(phase, round(share * 37)) for phase, share in place.phases] == [
        (0, 5), (8, 5), (16, 4), (24, 5), (32, 5), (40, 4), (48, 5), (56, 4),
    ]  # fmt: skip
    assert elsewhere.place == ""


def test_a_record_that_grows_is_placed_anew() -> None:
    layout = mapping()
    mixes = PhaseMixes(layout, in_inodes(layout, front=64), KERNEL)
    grown = mixes.of(granule=8, growth=40).at(64)[0]
    # 248 bytes and a word for the free pointer: 256 apart.
    assert grown.phases == ((0, 1.0),)


def test_an_aligned_member_aligns_the_record_in_what_holds_it() -> None:
    layout = mapping()
    mixes = PhaseMixes(layout, in_inodes(layout, front=72), KERNEL)
    (slab,) = mixes.slabs(granule=64, growth=0)
    assert (slab.offset, slab.cache.geometry.object_bytes) == (128, 320)


def test_a_record_with_a_cache_of_its_own_is_nowhere_else() -> None:
    layout = struct("vm_area_struct", scalar("start"), scalar("rest", 184))
    (place,) = PhaseMixes(layout, table(layout), KERNEL).of(granule=8).at(64)
    assert (place.place, place.phases) == ("vm_area_struct", ((0, 1.0),))


def test_a_record_that_kmalloc_is_assumed_for_may_also_be_elsewhere() -> None:
    layout = struct("thing", scalar("a"), scalar("rest", 184))
    assert [one.place for one in PhaseMixes(layout, table(layout), KERNEL).of(granule=8).at(64)] == ["kmalloc-192", ""]


@pytest.mark.parametrize(("last", "first", "share"), [(7, 8, 7 / 8), (7, 40, 3 / 8), (7, 64, 0), (7, 71, 0), (9, 3, 1)])
def test_the_share_of_objects_in_which_two_bytes_meet(last: int, first: int, share: float) -> None:
    assert phase_mix([every_start(8, 64)]).share(last, first) == share


def test_what_no_object_has_is_exactly_nothing() -> None:
    thirds = phase_mix([PlacePhases("cache", 64, ((0, 1 / 3), (8, 1 / 3), (16, 1 / 3)))])
    assert thirds.share(last=39, first=63) == pytest.approx(1 / 3)
    assert thirds.share(last=47, first=87) == 0


def test_places_count_the_same_however_many_objects_their_slabs_have() -> None:
    both = phase_mix([PlacePhases("large", 64, ((0, 1.0),)), PlacePhases("small", 64, ((0, 0.5), (32, 0.5)))])
    assert both.phases() == ((0, 0.75), (32, 0.25))


def test_the_predicted_cost_follows_the_slabs_when_the_record_grows() -> None:
    layout = struct("vm_area_struct", scalar("reader"), scalar("gap", 40), scalar("writer"), scalar("rest", 96))
    target = subject(meeting(layout, "writer", "reader"), table(layout), premises=Premises(kernel=KERNEL))
    # 152 bytes apart all eight phases occur, 192 apart only one, in which the two lie on one line.
    now = cost(target.heat, target.starts, granule=8)
    grown = cost(target.heat, target.starts, granule=8, growth=40)
    assert (now.here, round(now.anywhere, 1), grown.here, grown.anywhere) == (100, 26.9, 100, 100)


def test_the_phases_of_all_lines_of_a_record_are_the_profiles() -> None:
    layout = struct("s", scalar("reader"), scalar("gap", 24), scalar("writer"), scalar("rest", 88))
    here = meeting(layout, "writer", "reader", phase=0, samples=300)
    there = meeting(layout, "writer", "reader", phase=16, samples=100)
    target = subject(here, table(layout), [there])
    assert target.heat.seen == ((0, 0.75), (16, 0.25))
    assert target.heat.phase is None
    assert [one.weight for one in target.heat.sampled] == [400]
    assert cost(target.heat, [0, 8, 56, 64], granule=8).here == pytest.approx(300)


def test_a_contact_seen_in_some_phases_costs_more_in_all_of_them() -> None:
    layout = struct("s", scalar("reader"), scalar("gap", 24), scalar("writer"), scalar("rest", 88))
    here = meeting(layout, "writer", "reader", phase=0, samples=100)
    apart = replace(meeting(layout, "writer", "reader", phase=40, samples=100), rank=1)
    lonely = replace(apart, triage=replace(apart.triage, pairs=()))
    target = subject(here, table(layout), [lonely])
    assert [(one.sampled, one.weight) for one in target.heat.contacts] == [(True, 200)]
    assert cost(target.heat, target.starts, granule=8).here == 100


def test_who_uses_a_record_without_waiting_counts_as_well() -> None:
    layout = struct("s", scalar("reader"), scalar("writer"), scalar("gap", 112), scalar("quiet"))
    quiet = finding(layout, [hot("quiet", 128, 8, reads=40)], rank=7)
    target = subject(meeting(layout, "writer", "reader"), table(layout), premises=Premises(beside=(quiet,)))
    assert [(one.second.name, one.sampled) for one in target.heat.contacts] == [("writer", True), ("quiet", False)]
