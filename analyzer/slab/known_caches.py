# SPDX-License-Identifier: GPL-2.0-or-later
"""Caches of the kernel's own and what they are asked for with, where neither sysfs nor the caller says so.

Each row names the function that creates the cache; read in Linux 6.1 and 6.12, and compared with what those kernels
have in /sys/kernel/slab (docs/slab.md). Of Linux 7.3, the arguments in its code were read; what came between 6.18 and
7.2 is given to 7.0. Flags that do not move objects (SLAB_ACCOUNT, SLAB_PANIC ...) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from linesmith.analyzer.slab.component_caches import COMPONENT_CACHES
from linesmith.analyzer.slab.known_cache import CacheFlags, KnownCache, Release, made_by

_NONE = CacheFlags.NONE
_OWN = CacheFlags.OWN_ALIGNMENT
_LINE = CacheFlags.HWCACHE_ALIGN
_RCU = CacheFlags.TYPESAFE_BY_RCU
_CTOR = CacheFlags.CONSTRUCTOR
_INNER = CacheFlags.INNER_FREE_POINTER


_CACHES = (
    # Processes.
    KnownCache("task_struct", "task_struct", "fork_init", CacheFlags.LINE_ALIGNMENT | CacheFlags.GROWS),
    KnownCache("mm_struct", "mm_struct", "mm_cache_init", _LINE | CacheFlags.GROWS),
    KnownCache("sighand_struct", "sighand_cache", "proc_caches_init", _LINE | _RCU | _CTOR),
    *made_by("proc_caches_init", _LINE, "signal_struct:signal_cache", "files_struct:files_cache"),
    KnownCache("fs_struct", "fs_cache", "proc_caches_init", _LINE),
    KnownCache("cred", "cred_jar", "cred_init", _LINE, until=(6, 9)),
    KnownCache("cred", "cred", "cred_init", _LINE, since=(6, 9)),
    KnownCache("pid", "pid", "pid_idr_init", _OWN | _LINE | CacheFlags.GROWS),
    KnownCache("nsproxy", "nsproxy", "nsproxy_cache_init", _OWN),
    KnownCache("sigqueue", "sigqueue", "signals_init", _OWN),
    KnownCache("task_group", "task_group", "sched_init", _OWN),
    KnownCache("pool_workqueue", "pool_workqueue", "workqueue_init_early", _OWN),
    KnownCache("user_struct", "uid_cache", "uid_cache_init", _LINE),
    KnownCache("key", "key_jar", "key_init", _LINE),
    KnownCache("perf_event", "perf_event", "perf_event_init", _OWN),
    # Memory.
    KnownCache("vm_area_struct", "vm_area_struct", "proc_caches_init", _OWN, until=(6, 15)),
    KnownCache("vm_area_struct", "vm_area_struct", "vma_state_init", _LINE | _RCU | _INNER, since=(6, 15)),
    KnownCache("vma_lock", "vma_lock", "proc_caches_init", _OWN, until=(6, 15)),
    KnownCache("anon_vma", "anon_vma", "anon_vma_init", _RCU | _CTOR),
    KnownCache("anon_vma_chain", "anon_vma_chain", "anon_vma_init", _OWN),
    KnownCache("maple_node", "maple_node", "maple_tree_init", CacheFlags.SIZE_ALIGNMENT),
    KnownCache("xa_node", "radix_tree_node", "radix_tree_init", _CTOR),
    KnownCache("vmap_area", "vmap_area", "vmalloc_init", _OWN),
    KnownCache("mempolicy", "numa_policy", "numa_policy_init", _NONE),
    # Files.
    KnownCache("file", "filp", "files_init", _LINE, until=(6, 7)),
    KnownCache("file", "filp", "files_init", _LINE | _RCU, since=(6, 7), until=(6, 12)),
    KnownCache("file", "filp", "files_init", _LINE | _RCU | _INNER, since=(6, 12)),
    KnownCache("dentry", "dentry", "dcache_init", _OWN),
    KnownCache("mount", "mnt_cache", "mnt_init", _LINE),
    KnownCache("inode", "inode_cache", "inode_init", _CTOR),
    KnownCache("bdev_inode", "bdev_cache", "bdev_cache_init", _LINE | _CTOR),
    KnownCache("socket_alloc", "sock_inode_cache", "init_inodecache", _LINE | _CTOR, until=(7, 2)),
    KnownCache("sockfs_inode", "sock_inode_cache", "sock_init", _LINE | _CTOR, since=(7, 0)),
    KnownCache("xfs_inode", "xfs_inode", "xfs_init_caches", _LINE | _CTOR),
    KnownCache("fuse_inode", "fuse_inode", "fuse_fs_init", _LINE | _CTOR),
    KnownCache("mqueue_inode_info", "mqueue_inode_cache", "init_mqueue_fs", _LINE | _CTOR),
    *made_by(
        "init_inodecache",
        _CTOR,
        "nfs_inode:nfs_inode_cache",
        "btrfs_inode",
        "ovl_inode",
        "iso_inode_info:isofs_inode_cache",
        "msdos_inode_info:fat_inode_cache",
        "tracefs_inode:tracefs_inode_cache",
        "rpc_inode:rpc_inode_cache",
    ),
    KnownCache("ext4_inode_info", "ext4_inode_cache", "init_inodecache", _CTOR, until=(7, 0)),
    KnownCache("ext4_inode_info", "ext4_inode_cache", "init_inodecache", _CTOR | _INNER, since=(7, 0)),
    KnownCache("f2fs_inode_info", "f2fs_inode_cache", "init_inodecache", _NONE),
    KnownCache("shmem_inode_info", "shmem_inode_cache", "shmem_init_inodecache", _CTOR),
    KnownCache("hugetlbfs_inode_info", "hugetlbfs_inode_cache", "init_hugetlbfs_fs", _CTOR),
    KnownCache("proc_inode", "proc_inode_cache", "proc_init_kmemcache", _CTOR),
    KnownCache("kernfs_node", "kernfs_node_cache", "kernfs_init", _NONE),
    KnownCache("buffer_head", "buffer_head", "buffer_init", _NONE),
    KnownCache("file_lock", "file_lock_cache", "filelock_init", _NONE),
    KnownCache("epitem", "eventpoll_epi", "eventpoll_init", _LINE),
    KnownCache("eppoll_entry", "eventpoll_pwq", "eventpoll_init", _NONE),
    *made_by("aio_setup", _OWN | _LINE, "kioctx", "aio_kiocb"),
    KnownCache("io_kiocb", "io_kiocb", "io_uring_init", _OWN | _LINE, until=(6, 12)),
    KnownCache("io_kiocb", "io_kiocb", "io_uring_init", _LINE | _RCU | _INNER, since=(6, 12)),
    KnownCache("journal_head", "jbd2_journal_head", "jbd2_journal_init_journal_head_cache", _RCU),
    KnownCache("request_queue", "request_queue", "blk_dev_init", _NONE, until=(6, 9)),
    KnownCache("request_queue", "request_queue", "blk_dev_init", _OWN, since=(6, 9)),
    # Networks.
    *made_by("skb_init", _LINE, "sk_buff:skbuff_head_cache", "sk_buff_fclones:skbuff_fclone_cache"),
    KnownCache("tcp_sock", "TCP", "proto_register", _LINE | _RCU, until=(7, 0)),
    KnownCache("tcp_sock", "TCP", "proto_register", _LINE | _RCU | _INNER, since=(7, 0)),
    KnownCache("tcp6_sock", "TCPv6", "proto_register", _LINE | _RCU, until=(7, 0)),
    KnownCache("tcp6_sock", "TCPv6", "proto_register", _LINE | _RCU | _INNER, since=(7, 0)),
    KnownCache("mptcp_sock", "MPTCP", "proto_register", _LINE | _RCU),
    *made_by("proto_register", _LINE, "udp_sock:UDP", "udp6_sock:UDPv6", "raw_sock:RAW"),
    *made_by("proto_register", _LINE, "raw6_sock:RAWv6", "unix_sock:UNIX-STREAM", "netlink_sock:NETLINK"),
    KnownCache("rtable", "ip_dst_cache", "ip_rt_init", _LINE, until=(6, 9)),
    KnownCache("rtable", "rtable", "ip_rt_init", _LINE | _OWN, since=(6, 9)),
    KnownCache("nf_conn", "nf_conntrack", "nf_conntrack_init_start", _LINE | _RCU),
    *COMPONENT_CACHES,
)


def known_cache(record: str, release: Release) -> KnownCache | None:
    """The cache that serves objects of ``record`` in that release, if one is known."""
    return _by_record(release).get(record)


@cache
def _by_record(release: Release) -> dict[str, KnownCache]:
    """The first cache of each record: lints ask for thousands."""
    return {one.record: one for one in reversed(tuple(_of_release(release)))}


def caches_called(name: str, release: Release) -> tuple[KnownCache, ...]:
    """The caches of that name in that release, one for each record that it is known to serve."""
    return tuple(one for one in _of_release(release) if one.name == name)


def served_records(release: Release) -> tuple[str, ...]:
    """Names of the records that known caches of that release serve."""
    return tuple(one.record for one in _of_release(release))


def _of_release(release: Release) -> Iterator[KnownCache]:
    return (one for one in _CACHES if one.since <= release < one.until)
