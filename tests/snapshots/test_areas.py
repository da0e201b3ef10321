# SPDX-License-Identifier: GPL-2.0-or-later
"""Symbols, allocations and areas by address."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots import pages
from linesmith.plugins.snapshots.areas import AreaMap, PerCpuChunk, areas_of
from linesmith.plugins.snapshots.pages import FrameLayout, PageTypes, PageWords
from linesmith.plugins.snapshots.variables import DataSymbol, SymbolMap

TABLE = DataSymbol(0x100, 0x40, "table")
FIELD = DataSymbol(0x110, 8, "table_field")
BARE = DataSymbol(0x200, 0, "bare")
LAST = DataSymbol(0x300, 0, "last")
SYMBOLS = SymbolMap([LAST, FIELD, DataSymbol(0x100, 0, "start_of_data"), TABLE, BARE])


def test_symbols_cover_addresses() -> None:
    assert SYMBOLS.at(0x100) == SYMBOLS.at(0x13F) == SYMBOLS.at(0x118) == TABLE
    assert SYMBOLS.at(0x110) == FIELD, "within another"
    assert SYMBOLS.at(0x2FF) == DataSymbol(0x200, 0x100, "bare"), "without a size it reaches to the next"
    assert [SYMBOLS.at(address) for address in (0x140, 0xFF, 0x301)] == [None] * 3


@pytest.mark.parametrize(
    ("address", "gap"),
    [(0x150, range(0x140, 0x200)), (0x60, range(0x50, 0x100)), (0x350, range(0x300, 0x400))],
)
def test_gap_between_symbols(address: int, gap: range) -> None:
    assert SYMBOLS.gap(address, range(0x50, 0x400)) == gap


def test_allocation_of_a_per_cpu_chunk() -> None:
    # A bit for 4 bytes, set where an allocation begins: at 0, 8 and 40.
    chunk = PerCpuChunk((), bytes([0b101, 0b100]))
    assert chunk.extent(0) == chunk.extent(7) == (0, 8)
    assert chunk.extent(8) == chunk.extent(39) == (8, 32)
    assert chunk.extent(63) == (40, 24)


def area(address: int, size: int, name: str = "") -> ObjectArea:
    return ObjectArea(ObjectKind.GLOBAL, name, address, size, size)


def test_area_map_has_gaps() -> None:
    areas = AreaMap([area(0x200, 0x10), area(0x100, 0x10)])
    assert areas.area(0x10F) == area(0x100, 0x10)
    assert areas.area(0x110) is None
    assert areas.area(0xFF) is None


def test_each_area_once_by_address_and_the_first_finder_is_believed() -> None:
    stack = AreaMap([area(0x200, 0x100, "stack")])
    rest = AreaMap([area(0x100, 0x100, "before"), area(0x200, 0x200, "around")])
    assert areas_of([0x2FF, 0x100, 0x200, 0x180, 0x500], (stack.area, rest.area)) == (
        area(0x100, 0x100, "before"),
        area(0x200, 0x100, "stack"),
    )


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


def test_pages_without_a_mapping() -> None:
    assert BEFORE_6_10.kind(page(flags=1 << 12)) == pages.BOOT_PAGE
    assert BEFORE_6_10.kind(page(references=0)) == pages.FREE_PAGE
    assert BEFORE_6_10.kind(page()) == pages.OTHER_PAGE


@pytest.mark.parametrize(
    ("types", "slab"),
    [
        (BEFORE_6_10, struct.pack("<QQII", 1 << 9, 0, UNMAPPED, 0)),
        (SINCE_6_12, struct.pack("<QQII", 0, 0, 0xF5 << 24, 0)),
    ],
    ids=["flag", "number"],
)
def test_slab_pages_of_an_array(types: PageTypes, slab: bytes) -> None:
    other = struct.pack("<QQII", 0, 0, UNMAPPED, 1)
    assert types.slabs(other + slab + other + slab, FrameLayout(size=24, flags=0, page_type=16)) == [1, 3]
