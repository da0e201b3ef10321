# SPDX-License-Identifier: GPL-2.0-or-later
"""The address of a line and the geometry of caches say where on it an object of a type can begin."""

from __future__ import annotations

from math import exp
from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import SlabBasis, SlabCache, SlabGeometry
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.starts import PlacedStart, SlabStarts, machines_with

PAGE = 0xFFFF_8880_0001_0000
SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "starts.c").read_text()


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> Layouts:
    return read_layouts(compiled(tmp_path_factory.mktemp("kernel"), SOURCE)).layouts


def _starts(layouts: Layouts, cpus: int | None = 8) -> SlabStarts:
    return SlabStarts(Containment(layouts), Kernel(), machines_with(cpus))


def _at(layouts: Layouts, name: str, line: int | None, starts: SlabStarts | None = None) -> dict[int, float]:
    """What is possible on a line, less what smaller slabs make possible besides."""
    found = (starts or _starts(layouts)).starts(layouts.variants(name)[0].id, line, 64)
    return {start: round(share, 2) for start, share in sorted(found.items()) if share > 0.05}


@pytest.mark.parametrize(
    ("name", "geometry", "line", "expected"),
    [
        # A red zone in front moves all objects.
        ("dentry", SlabGeometry(192, 8, 216, 0, 18, lead=8), PAGE, {8: 1.0}),
        # The second line has the end of the first object and most of the second: its last byte is enough.
        ("odd", SlabGeometry(65, 8, 72, 0, 56), PAGE + 64, {-64: 0.5, 8: 0.5}),
    ],
)
def test_starts_in_a_cache(
    name: str, geometry: SlabGeometry, line: int, expected: dict[int, float], layouts: Layouts
) -> None:
    measured = SlabCache(name, geometry, SlabBasis.MEASURED)
    starts = SlabStarts(Containment(layouts), Kernel(measured={name: measured}), machines_with(8))
    layout = layouts.variants(name)[0].id
    assert starts.starts(layout, line, 64) == expected
    assert all(starts.agrees(PlacedStart(layout, line + start)) for start in expected)
    assert not any(starts.agrees(PlacedStart(layout, line + start - 8)) for start in expected)


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        # Objects of 192 bytes: the first ends at 192, so the third line of a page has its last third.
        ("dentry", PAGE + 128, {-128: 1.0}),
        # Objects of 152 bytes: the first covers 24 bytes of the third line, the second the others.
        ("vm_area_struct", PAGE + 128, {-128: 0.5, 24: 0.5}),
        # 21 objects of 192 bytes fill 4,032 bytes of a page.
        ("dentry", PAGE + 3840, {0: 1.0}),
        ("dentry", PAGE + 4032, {}),
        # Inodes of 176 bytes with a constructor are 184 bytes apart: the second one's part begins at 184 + 80.
        ("address_space", PAGE + 256, {8: 1.0}),
        # With five levels of page tables the direct map is elsewhere.
        ("dentry", 0xFF2C_4645_0040_8080, {-128: 1.0}),
    ],
)
def test_starts_of_a_known_cache(name: str, line: int, expected: dict[int, float], layouts: Layouts) -> None:
    assert _at(layouts, name, line) == expected


@pytest.mark.parametrize("line", [None, 0x40_0000, 0xFFFF_FFFF_8100_0000])
def test_outside_the_direct_map_nothing_is_known(layouts: Layouts, line: int | None) -> None:
    assert _at(layouts, "dentry", line) == {}
    assert _starts(layouts).log_prior(layouts.variants("dentry")[0].id, 0, line, 64) is None


@pytest.mark.parametrize(
    ("name", "start", "line", "prior"),
    [
        ("dentry", -128, PAGE + 128, 0.9),
        ("dentry", -64, PAGE + 128, 0.1 / 32),  # impossible is unlikely, but not forbidden
        ("task_struct", 1, PAGE, 0.6 / 8064),  # an assumed cache of single bytes: nearly anywhere
    ],
)
def test_the_prior_of_a_start(name: str, start: int, line: int, prior: float, layouts: Layouts) -> None:
    found = _starts(layouts).log_prior(layouts.variants(name)[0].id, start, line, 64)
    assert found is not None
    assert exp(found) == pytest.approx(prior, rel=0.011)


@pytest.mark.parametrize(("offset", "byte"), [(0, 0), (191, 191), (192, 0), (200, 8), (-8, 184)])
def test_beside_an_object_lie_bytes_of_the_next_one(layouts: Layouts, offset: int, byte: int) -> None:
    assert _starts(layouts).in_row(layouts.variants("dentry")[0].id, offset) == byte


@pytest.mark.parametrize("name", ["address_space", "task_struct"])
def test_what_lies_beside_a_part_or_an_assumed_object_is_not_known(layouts: Layouts, name: str) -> None:
    assert _starts(layouts).in_row(layouts.variants(name)[0].id, 9000) == 9000


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
    assert set(_at(layouts, "dentry", PAGE + 4096, _starts(layouts, None))) == {-64, 0}


def test_objects_that_are_sure_tell_the_size_of_slabs(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    sure = [PAGE + 192 * 22, PAGE + 192 * 41, PAGE + 2 * 4096]
    learnt = _starts(layouts, None).learnt(PlacedStart(dentry, one) for one in sure)
    assert [cpus for cpus, share in learnt.machines.cpus if share > 0.01] == [16, 32, 64, 128, 256]
    assert set(_at(layouts, "vm_area_struct", PAGE + 4096, learnt)) == {-144, 0, 8}


def test_a_type_that_is_elsewhere_is_distrusted(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    odd = [PlacedStart(dentry, PAGE + 192 * number + 8) for number in range(3)]
    learnt = _starts(layouts).learnt(odd)
    assert learnt.machines.distrusted == {dentry}
    assert learnt.in_row(dentry, 200) == 200  # what lies beside it is not known either
    prior = learnt.log_prior(dentry, -120, PAGE + 128, 64)
    assert prior is not None
    assert exp(prior) == pytest.approx(0.9 / 32, rel=0.01)


def test_two_objects_elsewhere_prove_nothing(layouts: Layouts) -> None:
    dentry = layouts.variants("dentry")[0].id
    odd = [PlacedStart(dentry, PAGE + 8), PlacedStart(dentry, PAGE + 200)]
    assert _starts(layouts).learnt(odd).machines.distrusted == frozenset()
