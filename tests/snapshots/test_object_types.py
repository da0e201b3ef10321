# SPDX-License-Identifier: GPL-2.0-or-later
"""Which record a slab cache holds, by its name and the records that the kernel has."""

from __future__ import annotations

import struct
from collections import Counter

import pytest

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.pointers import (
    KernelRecords,
    TypedMemory,
    as_array,
    likely_records,
    types_of,
    votes_for,
)

# Sizes as some kernel has them.
RECORDS = {
    "cred": 184, "dentry": 192, "epitem": 128, "ext4_inode_info": 1184, "file": 232,
    "inode": 632, "io_kiocb": 256, "mm_struct": 1048, "pid": 128, "proc_inode": 704, "shmem_inode_info": 776,
    "sighand_struct": 2080, "socket_alloc": 768, "task_struct": 9728, "tcp_sock": 2280, "udp6_sock": 1344,
    "unix_sock": 1024, "xa_node": 576,
}  # fmt: skip


def types(size: int, *caches: str) -> tuple[str, ...]:
    return types_of(caches, size, RECORDS.get)


@pytest.mark.parametrize(
    ("cache", "size", "record"),
    [
        ("dentry", 192, "dentry"),
        ("filp", 256, "file"),
        ("cred_jar", 184, "cred"),
        ("radix_tree_node", 576, "xa_node"),
        ("inode_cache", 632, "inode"),
        ("ext4_inode_cache", 1184, "ext4_inode_info"),
        ("proc_inode_cache", 704, "proc_inode"),
        ("shmem_inode_cache", 776, "shmem_inode_info"),
        ("sock_inode_cache", 768, "socket_alloc"),
        ("sighand_cache", 2080, "sighand_struct"),
        ("TCP", 2280, "tcp_sock"),
        ("UDPv6", 1344, "udp6_sock"),
        ("UNIX-STREAM", 1024, "unix_sock"),
    ],
)
def test_record_of_a_cache(cache: str, size: int, record: str) -> None:
    assert types(size, cache) == (record,)


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


def test_name_that_is_no_identifier_is_not_looked_up() -> None:
    def size_of(record: str) -> int | None:
        assert record.isidentifier()
        return None

    assert types_of(("a b", "kernfs.iattrs_cache"), 64, size_of) == ()


class Known(KernelRecords):
    """Records by size; those in ``flexible`` end in a flexible array."""

    def __init__(self, sizes: dict[str, int], flexible: frozenset[str]) -> None:
        self.sizes = sizes
        self.flexible = flexible

    def size(self, record: str) -> int | None:
        return self.sizes.get(record)

    def grows(self, record: str) -> bool:
        return record in self.flexible


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


@pytest.mark.parametrize(
    ("votes", "size", "records"),
    [
        ({"device": 1, "super_block": 3, "list_head": 9, "net": 5}, 2048, ("super_block", "device")),  # what fills it
        ({"kobject": 3}, 128, ()),  # half of the object is not filled
        ({"sched_group": 1}, 64, ("sched_group",)),  # its CPU mask lies behind it
    ],
)
def test_most_voted_record_that_fills_the_object_comes_first(
    votes: dict[str, int], size: int, records: tuple[str, ...]
) -> None:
    sizes = {"super_block": 1408, "device": 1400, "list_head": 16, "net": 4000, "kobject": 64, "sched_group": 32}
    assert likely_records(Counter(votes), size, Known(sizes, frozenset({"sched_group"}))) == records


def test_buckets_of_a_table() -> None:
    sizes = {"hlist_bl_head": 8, "dentry": 192}
    assert as_array(Counter(hlist_bl_head=1, dentry=4), sizes.get) == ("hlist_bl_head", 8)
    assert as_array(Counter(dentry=1), sizes.get) is None


def area(count: int, first: int = 0, types: tuple[str, ...] = ()) -> ObjectArea:
    return ObjectArea(ObjectKind.SLAB, "kmalloc-64", 0x1000 + first * 64, 64, 64, count, types)


@pytest.mark.parametrize(
    ("whole", "types", "expected"),
    [
        (area(8), {2: ("inode",), 7: ("file", "inode")},
            (area(2), area(1, 2, ("inode",)), area(4, 3), area(1, 7, ("file", "inode")))),
        (area(1, types=("pid", "epitem")), {0: ("epitem",)}, (area(1, types=("epitem",)),)),
        (area(8), {}, (area(8),)),
    ],
)  # fmt: skip
def test_typed_objects_become_areas_of_their_own(
    whole: ObjectArea, types: dict[int, tuple[str, ...]], expected: tuple[ObjectArea, ...]
) -> None:
    assert whole.split(types) == expected
