# SPDX-License-Identifier: GPL-2.0-or-later
"""Which record a slab cache holds, by its name and the records that the kernel has."""

from __future__ import annotations

import struct
from collections import Counter

import pytest

from linesmith.plugins.snapshots.pointers import (
    TypedMemory,
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
