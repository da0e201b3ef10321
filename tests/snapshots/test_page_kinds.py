# SPDX-License-Identifier: GPL-2.0-or-later
"""Page flags and page types as kernels have encoded them over the years."""

from __future__ import annotations

import struct

import pytest

from linesmith.plugins.snapshots.page_kinds import FrameLayout, PageKind, PageTypes, PageWords

FLAGS = {"PG_locked": 0, "PG_reserved": 12}
BEFORE_6_10 = PageTypes({**FLAGS, "PG_slab": 9}, {})
SINCE_6_11 = PageTypes(FLAGS, {"PG_buddy": 1 << 30, "PG_table": 1 << 28, "PG_slab": 1 << 25, "PAGE_TYPE_BASE": 1 << 31})
SINCE_6_12 = PageTypes(FLAGS, {"PGTY_buddy": 0xF0, "PGTY_table": 0xF2, "PGTY_slab": 0xF5})
UNMAPPED = 0xFFFFFFFF


def page(flags: int = 0, mapping: int = 0, page_type: int = UNMAPPED, references: int = 1) -> PageWords:
    return PageWords(flags, mapping, page_type, references)


@pytest.mark.parametrize(
    ("types", "words"),
    [
        (BEFORE_6_10, page(flags=1 << 9)),
        (SINCE_6_11, page(page_type=UNMAPPED & ~(1 << 25))),
        (SINCE_6_12, page(page_type=0xF5000000)),
    ],
    ids=["flag", "cleared bit", "number"],
)
def test_slab_page(types: PageTypes, words: PageWords) -> None:
    assert types.kind(words) == PageKind.SLAB


@pytest.mark.parametrize(
    ("types", "free", "table"),
    [
        (BEFORE_6_10, UNMAPPED & ~0x80, UNMAPPED & ~0x200),
        (SINCE_6_11, UNMAPPED & ~(1 << 30), UNMAPPED & ~(1 << 28)),
        (SINCE_6_12, 0xF0000000, 0xF2000000),
    ],
    ids=["preprocessor", "cleared bit", "number"],
)
def test_free_pages_and_page_tables(types: PageTypes, free: int, table: int) -> None:
    assert types.kind(page(page_type=free, references=0)) == PageKind.FREE
    assert types.kind(page(page_type=table)) == PageKind.TABLE


@pytest.mark.parametrize("types", [BEFORE_6_10, SINCE_6_11, SINCE_6_12])
def test_mapped_pages_are_no_typed_pages(types: PageTypes) -> None:
    # The map count shares the place of the page type: 0 is one mapping, 0x7f is 128.
    for count in (0, 1, 0x7F):
        assert types.kind(page(mapping=0xFFFF888000000000, page_type=count)) == PageKind.CACHE
        assert types.kind(page(mapping=0xFFFF888000000001, page_type=count)) == PageKind.ANONYMOUS


def test_pages_without_a_mapping() -> None:
    assert BEFORE_6_10.kind(page(flags=1 << 12)) == PageKind.BOOT
    assert BEFORE_6_10.kind(page(references=0)) == PageKind.FREE
    assert BEFORE_6_10.kind(page()) == PageKind.OTHER


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
