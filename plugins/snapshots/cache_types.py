# SPDX-License-Identifier: GPL-2.0-or-later
"""Which record type a slab cache holds, by its name.

``KMEM_CACHE(record, flags)`` names a cache after its record; other callers of ``kmem_cache_create()`` choose the name
themselves, mostly by the patterns below. A record counts only when the kernel has it and it fits into an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

# Bytes of the record of that name; none when the kernel has no such record.
RecordSize = Callable[[str], int | None]

# Names that no pattern leads to their record.
_RECORDS = {
    "Acpi-Namespace": ("acpi_namespace_node",),
    "Acpi-Operand": ("acpi_operand_object",),
    "Acpi-Parse": ("acpi_parse_object",),
    "Acpi-ParseExt": ("acpi_parse_object",),
    "Acpi-State": ("acpi_generic_state",),
    "bdev_cache": ("bdev_inode",),
    "blkdev_ioc": ("io_context",),
    "cred_jar": ("cred",),
    "dio": ("dio",),
    "ep_head": ("epitems_head",),
    "eventpoll_epi": ("epitem",),
    "eventpoll_pwq": ("eppoll_entry",),
    "fasync_cache": ("fasync_struct",),
    "file_lock_ctx": ("file_lock_context",),
    "filp": ("file",),
    "fib6_nodes": ("fib6_info",),
    "fs_cache": ("fs_struct",),
    "ip_dst_cache": ("rtable",),
    "ip6_dst_cache": ("rt6_info",),
    "ip_fib_alias": ("fib_alias",),
    "ip_fib_trie": ("key_vector", "tnode"),
    "ip4-frags": ("ipq",),
    "ip6-frags": ("frag_queue",),
    "key_jar": ("key",),
    "lsm_file_cache": (),
    "lsm_inode_cache": (),
    "mnt_cache": ("mount",),
    "net_namespace": ("net",),
    "numa_policy": ("mempolicy",),
    "pde_opener": ("pde_opener",),
    "posix_timers_cache": ("k_itimer",),
    "radix_tree_node": ("xa_node", "radix_tree_node"),
    "request_queue_srcu": ("request_queue",),
    "shared_policy_node": ("sp_node",),
    "skbuff_ext_cache": ("skb_ext",),
    "skbuff_fclone_cache": ("sk_buff_fclones",),
    "skbuff_head_cache": ("sk_buff",),
    "sock_inode_cache": ("socket_alloc",),
    "taskstats": ("taskstats",),
    "uid_cache": ("user_struct",),
    "UNIX": ("unix_sock",),
    "UNIX-STREAM": ("unix_sock",),
    "MPTCP": ("mptcp_sock",),
    "vmap_area": ("vmap_area",),
    "xfrm_dst_cache": ("xfrm_dst",),
    "fscrypt_info": ("fscrypt_info", "fscrypt_inode_info"),
}
# The kernel sizes these at boot for the machine, and may leave off the end of the declared record.
_CUT_AT_BOOT = frozenset({"task_struct", "kmem_cache"})
# What holds raw memory of any kind.
_RAW = re.compile(r"(?:(?:dma-|cg-|rcl-|rnd-\d+-)*kmalloc-.*|biovec-.*|sgpool-.*|names_cache|bio-\d+)\Z")

# The sides of each are a pattern for the name and templates for the record.
_PATTERNS = tuple(
    (re.compile(pattern), templates)
    for pattern, templates in (
        (r"(\w+)_inode_cachep?\Z", ("{0}_inode_info", "{0}_inode", "{0}i_inode_info", "inode_{0}")),
        (r"tw_sock_(\w+)\Z", ("tcp_timewait_sock", "inet_timewait_sock")),
        (r"request_sock_subflow\w*\Z", ("mptcp_subflow_request_sock",)),
        (r"request_sock_(\w+)\Z", ("tcp_request_sock",)),
        (r"(TCP|UDP|RAW|PING|DCCP|SCTP)v6\Z", ("{l}6_sock",)),
        (r"(\w+?)-?Lite(?:v6)?\Z", ("{l}_sock",)),
        (r"UDPLITEv6\Z", ("udp6_sock",)),
        (r"PING\Z", ("raw_sock", "inet_sock")),
        (r"([A-Z]+)\Z", ("{l}_sock",)),
        (r"(.+)\Z", ("{0}",)),
        (r"(.+?)_(?:cachep?|jar|slab|head|pool|mem)\Z", ("{0}", "{0}_struct", "{0}_info", "{0}_t")),
        (r"(.+?)s\Z", ("{0}",)),
    )
)


def types_of(caches: Iterable[str], object_bytes: int, size_of: RecordSize) -> tuple[str, ...]:
    """The records that objects of a slab cache may have, one for each of its names at most, in their order.

    ``caches`` are the cache's own name and those merged into it; ``object_bytes`` is the size of its objects.
    """
    found: dict[str, None] = {}
    for cache in caches:
        for record in _names(cache):
            size = size_of(record) or 0
            if size > 0 and (size <= object_bytes or record in _CUT_AT_BOOT):
                found[record] = None
                break
    return tuple(found)


def _names(cache: str) -> Iterator[str]:
    """Record names to try, likeliest first."""
    if _RAW.match(cache):
        return
    if cache in _RECORDS:
        yield from _RECORDS[cache]
        return
    for pattern, templates in _PATTERNS:
        match = pattern.match(cache)
        if match:
            stem = match[1] if match.re.groups else cache
            names = (template.format(stem, l=stem.lower()) for template in templates)
            yield from (name for name in names if name.isidentifier())
