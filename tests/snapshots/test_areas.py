# SPDX-License-Identifier: GPL-2.0-or-later
"""Areas that overlap, and pages as kernels from 6.9 on mark them; the rest a real kernel shows."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots import pages
from linesmith.plugins.snapshots.areas import AreaMap, areas_of
from linesmith.plugins.snapshots.pages import FrameLayout, PageTypes, PageWords


def area(address: int, size: int, name: str = "") -> ObjectArea:
    return ObjectArea(ObjectKind.GLOBAL, name, address, size, size)


def typed(address: int, size: int, record: str = "inode") -> ObjectArea:
    return replace(area(address, size, "table"), types=(record,))


@pytest.mark.parametrize(
    ("first", "second", "asked", "expected"),
    [
        (  # untyped memory is cut where a known area begins
            area(0x100, 0x20, "page"), area(0x110, 0x80, "table"), [0x100, 0x130],
            (area(0x100, 0x10, "page"), area(0x110, 0x80, "table")),
        ),
        (  # and begins where a known one ends
            typed(0x100, 0x30), area(0x120, 0x20, "page"), [0x100, 0x13F],
            (typed(0x100, 0x30), area(0x130, 0x10, "page")),
        ),
        (typed(0x100, 0x20), typed(0x110, 0x80, "file"), [0x100, 0x130], (typed(0x100, 0x20),)),  # would overlap it
    ],
)  # fmt: skip
def test_areas_that_overlap(
    first: ObjectArea, second: ObjectArea, asked: list[int], expected: tuple[ObjectArea, ...]
) -> None:
    assert areas_of(asked, (AreaMap([first]).area, AreaMap([second]).area)) == expected


FLAGS = {"PG_locked": 0, "PG_reserved": 12}
BEFORE_6_10 = PageTypes({**FLAGS, "PG_slab": 9}, {})
SINCE_6_11 = PageTypes(FLAGS, {"PG_buddy": 1 << 30, "PG_table": 1 << 28, "PG_slab": 1 << 25, "PAGE_TYPE_BASE": 1 << 31})
SINCE_6_12 = PageTypes(FLAGS, {"PGTY_buddy": 0xF0, "PGTY_table": 0xF2, "PGTY_slab": 0xF5})
UNMAPPED = 0xFFFFFFFF


def page(flags: int = 0, mapping: int = 0, page_type: int = UNMAPPED, references: int = 1) -> PageWords:
    return PageWords(flags, mapping, page_type, references)


@pytest.mark.parametrize(
    ("types", "slab", "free", "table"),
    [
        (BEFORE_6_10, page(flags=1 << 9), UNMAPPED & ~0x80, UNMAPPED & ~0x200),
        (SINCE_6_11, page(page_type=UNMAPPED & ~(1 << 25)), UNMAPPED & ~(1 << 30), UNMAPPED & ~(1 << 28)),
        (SINCE_6_12, page(page_type=0xF5000000), 0xF0000000, 0xF2000000),
    ],
    ids=["flag", "cleared bit", "number"],
)
def test_kinds_of_pages(types: PageTypes, slab: PageWords, free: int, table: int) -> None:
    assert types.kind(slab) == pages.SLAB_PAGE
    assert types.kind(page(page_type=free, references=0)) == pages.FREE_PAGE
    assert types.kind(page(page_type=table)) == pages.PAGE_TABLE
    # The map count shares the place of the page type: 0 is one mapping, 0x7f is 128.
    for count in (0, 1, 0x7F):
        assert types.kind(page(mapping=0xFFFF888000000000, page_type=count)) == pages.CACHE_PAGE
        assert types.kind(page(mapping=0xFFFF888000000001, page_type=count)) == pages.ANONYMOUS_PAGE


FLAGGED, NUMBERED = struct.pack("<QQII", 1 << 9, 0, UNMAPPED, 0), struct.pack("<QQII", 0, 0, 0xF5 << 24, 0)


@pytest.mark.parametrize(("types", "slab"), [(BEFORE_6_10, FLAGGED), (SINCE_6_12, NUMBERED)], ids=["flag", "number"])
def test_slab_pages_of_an_array(types: PageTypes, slab: bytes) -> None:
    other = struct.pack("<QQII", 0, 0, UNMAPPED, 1)
    assert types.slabs(other + slab + other + slab, FrameLayout(size=24, flags=0, page_type=16)) == [1, 3]
