# SPDX-License-Identifier: GPL-2.0-or-later
"""The address of a line and the geometry of caches say where on it an object of a type can begin."""

from __future__ import annotations

from math import exp

import pytest
from c_source import compiled

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import SlabBasis, SlabCache, SlabGeometry
from linesmith.analyzer.slab import Kernel, Machines, PlacedStart, SlabStarts, any_machine
from linesmith.analyzer.slab.observed import observed_geometry

PAGE = 0xFFFF_8880_0001_0000
SOURCE = """
struct dentry { long all[24]; };
struct vm_area_struct { long all[19]; };
struct address_space { long all[4]; };
struct inode { long before[10]; struct address_space i_data; long behind[8]; };
struct task_struct { char all[8000]; };
struct odd { char all[65]; } odd;
struct { struct dentry a; struct vm_area_struct b; struct inode c; struct task_struct d; } all;
"""
EIGHT_CPUS = Machines(((8, 1.0),))


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> Layouts:
    return read_layouts(compiled(tmp_path_factory.mktemp("kernel"), SOURCE)).layouts


def _starts(layouts: Layouts, machines: Machines = EIGHT_CPUS) -> SlabStarts:
    return SlabStarts(Containment(layouts), Kernel(), machines)


def _at(layouts: Layouts, name: str, line: int | None, machines: Machines = EIGHT_CPUS) -> dict[int, float]:
    """What is possible on a line, less what smaller slabs make possible besides."""
    found = _starts(layouts, machines).starts(layouts.variants(name)[0].id, line, 64)
    return {start: round(share, 2) for start, share in sorted(found.items()) if share > 0.05}


def test_a_red_zone_in_front_moves_all_objects(layouts: Layouts) -> None:
    measured = SlabCache("dentry", SlabGeometry(192, 8, 216, 0, 18, lead=8), SlabBasis.MEASURED)
    starts = SlabStarts(Containment(layouts), Kernel(measured={"dentry": measured}), EIGHT_CPUS)
    assert starts.starts(layouts.variants("dentry")[0].id, PAGE, 64) == {8: 1.0}


def test_the_last_byte_of_an_object_is_enough_to_be_on_a_line(layouts: Layouts) -> None:
    """Objects of 65 bytes, 72 apart: the second line has the end of the first one and most of the second."""
    measured = SlabCache("odd", SlabGeometry(65, 8, 72, 0, 56), SlabBasis.MEASURED)
    starts = SlabStarts(Containment(layouts), Kernel(measured={"odd": measured}), EIGHT_CPUS)
    assert starts.starts(layouts.variants("odd")[0].id, PAGE + 64, 64) == {-64: 0.5, 8: 0.5}


def test_an_object_that_covers_the_line_has_one_start(layouts: Layouts) -> None:
    """Objects of 192 bytes: the first ends at 192, so the third line of a page has its last third."""
    assert _at(layouts, "dentry", PAGE + 128) == {-128: 1.0}


def test_a_line_may_have_the_end_of_one_object_and_the_start_of_the_next(layouts: Layouts) -> None:
    """Objects of 152 bytes: the first covers 24 bytes of the third line, the second the others."""
    assert _at(layouts, "vm_area_struct", PAGE + 128) == {-128: 0.5, 24: 0.5}


def test_behind_the_last_object_there_is_none(layouts: Layouts) -> None:
    """21 objects of 192 bytes fill 4,032 bytes of a page."""
    assert _at(layouts, "dentry", PAGE + 3840) == {0: 1.0}
    assert _at(layouts, "dentry", PAGE + 4032) == {}


def test_a_part_begins_where_the_object_around_it_has_it(layouts: Layouts) -> None:
    """Inodes of 176 bytes with a constructor are 184 bytes apart: the second one's part begins at 184 + 80."""
    assert _at(layouts, "address_space", PAGE + 256) == {8: 1.0}


def test_with_five_levels_of_page_tables_the_direct_map_is_elsewhere(layouts: Layouts) -> None:
    assert _at(layouts, "dentry", 0xFF2C_4645_0040_8080) == {-128: 1.0}


@pytest.mark.parametrize("line", [None, 0x40_0000, 0xFFFF_FFFF_8100_0000])
def test_outside_the_direct_map_nothing_is_known(layouts: Layouts, line: int | None) -> None:
    assert _at(layouts, "dentry", line) == {}
    assert _starts(layouts).log_prior(layouts.variants("dentry")[0].id, 0, line, 64) is None


def test_an_impossible_start_is_unlikely_but_not_forbidden(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    possible = _starts(layouts).log_prior(dentry, -128, PAGE + 128, 64)
    impossible = _starts(layouts).log_prior(dentry, -64, PAGE + 128, 64)
    assert possible is not None
    assert impossible is not None
    assert exp(possible) == pytest.approx(0.9, abs=0.01)
    assert exp(impossible) == pytest.approx(0.1 / 32, rel=0.01)


def test_an_assumed_cache_leaves_a_record_of_single_bytes_nearly_anywhere(layouts: Layouts) -> None:
    prior = _starts(layouts).log_prior(layouts.variants("task_struct")[0].id, 1, PAGE, 64)
    assert prior is not None
    assert exp(prior) == pytest.approx(0.6 / 8064, rel=0.01)


@pytest.mark.parametrize(("offset", "byte"), [(0, 0), (191, 191), (192, 0), (200, 8), (-8, 184)])
def test_beside_an_object_lie_bytes_of_the_next_one(layouts: Layouts, offset: int, byte: int) -> None:
    assert _starts(layouts).in_row(layouts.variants("dentry")[0].id, offset) == byte


@pytest.mark.parametrize("name", ["address_space", "task_struct"])
def test_what_lies_beside_a_part_or_an_assumed_object_is_not_known(layouts: Layouts, name: str) -> None:
    assert _starts(layouts).in_row(layouts.variants(name)[0].id, 9000) == 9000


def test_what_lies_beside_an_object_that_is_distrusted_is_not_known(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    assert _starts(layouts, Machines(((8, 1.0),), frozenset((dentry,)))).in_row(dentry, 200) == 200


def test_only_caches_that_are_sure_allow_an_object_its_place(layouts: Layouts) -> None:
    starts = _starts(layouts)
    dentry, task = layouts.variants("dentry")[0].id, layouts.variants("task_struct")[0].id
    assert starts.allows(dentry, -128, PAGE + 128, 64)
    assert not starts.allows(dentry, -64, PAGE + 128, 64)
    assert not starts.allows(dentry, 0, None, 64)
    assert starts.starts(task, PAGE, 64)
    assert not starts.allows(task, 0, PAGE, 64)


def test_with_an_unknown_number_of_cpus_all_sizes_of_slabs_count(layouts: Layouts) -> None:
    """In the second page of a slab of several pages objects begin elsewhere than in the first."""
    assert set(_at(layouts, "dentry", PAGE + 4096, any_machine())) == {-64, 0}


def test_objects_that_are_sure_tell_the_size_of_slabs(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    sure = [PAGE + 192 * 22, PAGE + 192 * 41, PAGE + 2 * 4096]
    learnt = _starts(layouts, any_machine()).learnt(PlacedStart(dentry, one) for one in sure)
    assert [cpus for cpus, share in learnt.machines.cpus if share > 0.01] == [16, 32, 64, 128, 256]
    assert set(_at(layouts, "vm_area_struct", PAGE + 4096, learnt.machines)) == {-144, 0, 8}


def test_a_type_that_is_elsewhere_is_distrusted(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    odd = [PlacedStart(dentry, PAGE + 192 * number + 8) for number in range(3)]
    learnt = _starts(layouts).learnt(odd)
    assert learnt.machines.distrusted == {dentry}
    prior = learnt.log_prior(dentry, -120, PAGE + 128, 64)
    assert prior is not None
    assert exp(prior) == pytest.approx(0.9 / 32, rel=0.01)


def test_objects_elsewhere_tell_their_stride(layouts: Layouts) -> None:
    """The kernel that booted gives each task 7,488 bytes; four of them share eight pages."""
    task = layouts.variants("task_struct")[0].id
    starts = [PAGE + 32768 * slab + 7488 * number for slab, number in ((0, 1), (1, 2), (2, 3), (3, 1))]
    learnt = _starts(layouts).learnt(PlacedStart(task, one) for one in starts)
    assert learnt.machines.distrusted == frozenset()
    assert [(one.stride, one.order, one.objects) for _, one in learnt.machines.observed] == [(7488, 3, 4)]
    assert set(_at(layouts, "task_struct", PAGE + 7488 * 2 + 64, learnt.machines)) == {-64}


def test_objects_anywhere_tell_no_stride(layouts: Layouts) -> None:
    task = layouts.variants("task_struct")[0].id
    learnt = _starts(layouts).learnt(PlacedStart(task, PAGE + one) for one in (8, 1000, 5000, 9008, 30000))
    assert learnt.machines.observed == ()
    assert learnt.machines.distrusted == {task}


def test_one_object_of_a_slab_tells_no_stride() -> None:
    """The first objects of four slabs, and the second of one of them."""
    starts = [*(PAGE + 32768 * slab for slab in range(4)), PAGE + 192]
    assert observed_geometry(starts, 192, 4096) is None


def test_of_slabs_that_explain_the_objects_alike_the_smallest_is_taken() -> None:
    found = observed_geometry([PAGE + 192 * number for number in (1, 5, 7)], 192, 4096)
    assert found is not None
    assert (found.stride, found.order, found.objects) == (192, 0, 21)


def test_objects_of_half_the_size_that_is_known_share_the_smallest_slab() -> None:
    """As where a configuration leaves half of a record out."""
    found = observed_geometry([PAGE + 1056, PAGE + 2112], 2100, 4096)
    assert found is not None
    assert (found.stride, found.order) == (1056, 0)


def test_two_objects_elsewhere_prove_nothing(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    odd = [PlacedStart(dentry, PAGE + 8), PlacedStart(dentry, PAGE + 200)]
    assert _starts(layouts).learnt(odd).machines.distrusted == frozenset()


def test_whether_an_object_can_begin_somewhere(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    assert _starts(layouts).agrees(PlacedStart(dentry, PAGE + 384))
    assert not _starts(layouts).agrees(PlacedStart(dentry, PAGE + 385))
    assert not _starts(layouts).agrees(PlacedStart(dentry, PAGE + 192 * 21))
