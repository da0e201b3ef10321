# SPDX-License-Identifier: GPL-2.0-or-later
"""Symbols, allocations and areas by address."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.identify import areas_of
from linesmith.plugins.snapshots.per_cpu_chunks import Chunk
from linesmith.plugins.snapshots.symbols import DataSymbol, SymbolMap
from linesmith.plugins.snapshots.vmalloc import AreaMap

TABLE = DataSymbol(0x100, 0x40, "table")
FIELD = DataSymbol(0x110, 8, "table_field")
BARE = DataSymbol(0x200, 0, "bare")
LAST = DataSymbol(0x300, 0, "last")
SYMBOLS = SymbolMap([LAST, FIELD, DataSymbol(0x100, 0, "start_of_data"), TABLE, BARE])


def test_symbol_that_covers_an_address() -> None:
    assert SYMBOLS.at(0x100) == SYMBOLS.at(0x13F) == TABLE


def test_symbol_within_another() -> None:
    assert SYMBOLS.at(0x110) == FIELD
    assert SYMBOLS.at(0x118) == TABLE


def test_symbol_without_a_size_reaches_to_the_next() -> None:
    assert SYMBOLS.at(0x2FF) == DataSymbol(0x200, 0x100, "bare")


def test_addresses_between_symbols_and_outside() -> None:
    assert SYMBOLS.at(0x140) is None
    assert SYMBOLS.at(0xFF) is None
    assert SYMBOLS.at(0x301) is None


def test_gap_between_symbols() -> None:
    assert SYMBOLS.gap(0x150, range(0x50, 0x400)) == range(0x140, 0x200)
    assert SYMBOLS.gap(0x60, range(0x50, 0x400)) == range(0x50, 0x100)
    assert SYMBOLS.gap(0x350, range(0x50, 0x400)) == range(0x300, 0x400)


def test_allocation_of_a_per_cpu_chunk() -> None:
    # A bit for 4 bytes, set where an allocation begins: at 0, 8 and 40.
    chunk = Chunk((), bytes([0b101, 0b100]))
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


def test_area_of_untyped_memory_is_cut_where_a_known_one_begins() -> None:
    page = AreaMap([area(0x100, 0x20, "page")])
    table = AreaMap([area(0x110, 0x80, "table")])
    assert areas_of([0x100, 0x130], (page.area, table.area)) == (area(0x100, 0x10, "page"), area(0x110, 0x80, "table"))


def test_area_of_untyped_memory_begins_where_a_known_one_ends() -> None:
    table = AreaMap([replace(area(0x100, 0x30, "table"), types=("inode",))])
    page = AreaMap([area(0x120, 0x20, "page")])
    assert areas_of([0x100, 0x13F], (table.area, page.area))[1] == area(0x130, 0x10, "page")


def test_area_that_would_overlap_a_typed_one_is_left_out() -> None:
    record = AreaMap([replace(area(0x100, 0x20), types=("inode",))])
    other = AreaMap([replace(area(0x110, 0x80), types=("file",))])
    assert areas_of([0x100, 0x130], (record.area, other.area)) == (replace(area(0x100, 0x20), types=("inode",)),)
