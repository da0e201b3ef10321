# SPDX-License-Identifier: GPL-2.0-or-later
"""Which record a slab cache holds, by its name and the records that the kernel has."""

from __future__ import annotations

import pytest

from linesmith.plugins.snapshots.cache_types import types_of

# Sizes as some kernel has them.
RECORDS = {
    "acpi_operand_object": 72,
    "cred": 184,
    "dentry": 192,
    "epitem": 128,
    "ext4_inode_info": 1184,
    "file": 232,
    "inode": 632,
    "io_kiocb": 256,
    "mm_struct": 1048,
    "pid": 128,
    "proc_inode": 704,
    "shmem_inode_info": 776,
    "sighand_struct": 2080,
    "socket_alloc": 768,
    "task_struct": 9728,
    "tcp_sock": 2280,
    "udp6_sock": 1344,
    "unix_sock": 1024,
    "xa_node": 576,
}


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
        ("Acpi-Operand", 72, "acpi_operand_object"),
    ],
)
def test_record_of_a_cache(cache: str, size: int, record: str) -> None:
    assert types(size, cache) == (record,)


def test_object_may_be_larger_than_its_record() -> None:
    # mm_struct ends in the CPU masks that the machine needs.
    assert types(1104, "mm_struct") == ("mm_struct",)


def test_record_larger_than_the_object_is_another_one() -> None:
    assert types(128, "dentry") == ()


def test_task_struct_is_cut_to_what_the_machine_needs() -> None:
    assert types(8328, "task_struct") == ("task_struct",)


@pytest.mark.parametrize("cache", ["kmalloc-192", "kmalloc-cg-64", "dma-kmalloc-8", "kmalloc-rnd-03-96", "names_cache"])
def test_memory_of_any_kind_has_no_record(cache: str) -> None:
    assert types(192, cache) == ()


def test_cache_that_serves_several_names() -> None:
    assert types(256, "filp", "io_kiocb", "something_else") == ("file", "io_kiocb")


def test_names_of_one_record_name_it_once() -> None:
    assert types(1024, "UNIX", "UNIX-STREAM") == ("unix_sock",)


def test_name_that_is_no_identifier_is_not_looked_up() -> None:
    def size_of(record: str) -> int | None:
        assert record.isidentifier()
        return None

    assert types_of(("ip4-frags", "a b", "kernfs.iattrs_cache"), 64, size_of) == ()
