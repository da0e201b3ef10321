# SPDX-License-Identifier: GPL-2.0-or-later
"""Areas that overlap, pages as kernels from 6.9 on mark them, and which record a slab cache holds."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace

import pytest

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots import pages
from linesmith.plugins.snapshots.areas import AreaMap, areas_of
from linesmith.plugins.snapshots.pages import FrameLayout, PageTypes, PageWords
from linesmith.plugins.snapshots.pointers import TypedMemory, types_of, votes_for


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


# Sizes as some kernel has them.
RECORDS = {
    "cred": 184, "dentry": 192, "epitem": 128, "ext4_inode_info": 1184, "file": 232,
    "inode": 632, "io_kiocb": 256, "mm_struct": 1048, "pid": 128, "proc_inode": 704, "shmem_inode_info": 776,
    "sighand_struct": 2080, "socket_alloc": 768, "task_struct": 9728, "tcp_sock": 2280, "udp6_sock": 1344,
    "unix_sock": 1024, "xa_node": 576,
}  # fmt: skip


def types(size: int, *caches: str) -> tuple[str, ...]:
    return types_of(caches, size, RECORDS.get)


CACHES = (
    "dentry:dentry cred_jar:cred radix_tree_node:xa_node inode_cache:inode ext4_inode_cache:ext4_inode_info "
    "proc_inode_cache:proc_inode shmem_inode_cache:shmem_inode_info sock_inode_cache:socket_alloc "
    "UNIX-STREAM:unix_sock sighand_cache:sighand_struct TCP:tcp_sock UDPv6:udp6_sock"
)


@pytest.mark.parametrize("pair", CACHES.split())
def test_record_of_a_cache(pair: str) -> None:
    cache, _, record = pair.partition(":")
    assert types(RECORDS[record], cache) == (record,)


@pytest.mark.parametrize(
    ("size", "caches", "records"),
    [
        (1104, "mm_struct", "mm_struct"),  # the object is larger: it ends in the CPU masks that the machine needs
        (128, "dentry", ""),  # the record is larger: it is another one
        (8328, "task_struct", "task_struct"),  # which is cut to what the machine needs
        *((192, name, "") for name in ["kmalloc-192", "kmalloc-cg-64", "dma-kmalloc-8", "kmalloc-rnd-03-96",
            "names_cache"]),
        (256, "filp io_kiocb something_else", "file io_kiocb"),  # it serves several names
        (1024, "UNIX UNIX-STREAM", "unix_sock"),  # of one record
    ],
)  # fmt: skip
def test_records_of_odd_caches(size: int, caches: str, records: str) -> None:
    assert types(size, *caches.split()) == tuple(records.split())


def memory(address: int, *words: int, **declared: str) -> TypedMemory:
    """Words from ``address`` on; ``at8="inode"`` declares the one at offset 8 as a pointer to an inode."""
    names = {address + int(offset.removeprefix("at")): (record,) for offset, record in declared.items()}
    return TypedMemory(address, struct.pack(f"<{len(words)}Q", *words), lambda place: names.get(place, ()))


def test_declared_pointers_to_an_object_vote_for_its_record() -> None:
    sources = (
        memory(0x100, 0x5000, 0x6000, at0="super_block", at8="inode"),
        memory(0x200, 0x5000, at0="super_block"),
        memory(0x300, 0x5000, at0="list_head"),
    )
    assert votes_for([0x5000], sources) == {0x5000: Counter(super_block=2, list_head=1)}


def test_words_that_are_no_vote() -> None:
    assert votes_for([0x5000], [memory(0x100, 0x5000)]) == {}, "no pointer to a record"
    cut = TypedMemory(0, struct.pack("<Q", 0x5000) + b"abc", lambda _: ("inode",))
    assert votes_for([0x5000], [cut]) == {0x5000: Counter(inode=1)}, "bytes behind the last word are left out"
