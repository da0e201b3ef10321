# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of a kernel's slab caches: what its source asks for them, and what its /sys/kernel/slab says.

Each row names the function that creates the cache; read in Linux 6.1 and 6.12, and compared with what those kernels
have in /sys/kernel/slab (docs/slab.md). Of Linux 7.3, the arguments in its code were read; what came between 6.18
and 7.2 is given to 7.0. Flags that do not move objects (SLAB_ACCOUNT, SLAB_PANIC ...) are left out.

The banner in the image tells the release (init/version.c, linux_banner). What sysfs says is read from there, or from
text with a line for each file:
``dentry/slab_size:192``, as ``grep -s . /sys/kernel/slab/*/*`` writes it (Documentation/ABI/testing/sysfs-kernel-slab).
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Flag, auto
from functools import cache
from pathlib import Path

from linesmith.analyzer.base.errors import ElfError, SlabFactsError
from linesmith.analyzer.model import SlabBasis, SlabCache, SlabGeometry, SlabMachine

Release = tuple[int, int]
_ARM64 = "aarch64"
# arm64 aligned kmalloc() for DMA by devices that are not coherent, until small buffers were copied instead.
_ARM64_DMA_BYTES = 128
_BOUNCES = (6, 5)
_DEFAULT = SlabMachine()
_BEGINNING = b"Linux version "
_BANNER = re.compile(_BEGINNING + rb"(\d{1,3})\.(\d{1,3})\D")
_NEEDED = ("object_size", "slab_size", "align", "objs_per_slab", "order")
_FIELDS = (*_NEEDED, "aliases", "red_zone")
_FACT = re.compile(r"(?:.*/)?([^/\n]+)/(\w+):(\d+)(?:\s.*)?\Z")
_MOST_BYTES = 64 << 20
_MOST_DIGITS = 10
_WORD_BYTES = 8


class CacheFlags(Flag):
    """What decides where objects begin. ``OWN_ALIGNMENT``: that of the record; ``GROWS``: larger than the record."""

    NONE = 0
    OWN_ALIGNMENT = auto()
    SIZE_ALIGNMENT = auto()
    LINE_ALIGNMENT = auto()
    HWCACHE_ALIGN = auto()
    TYPESAFE_BY_RCU = auto()
    CONSTRUCTOR = auto()
    INNER_FREE_POINTER = auto()
    GROWS = auto()


@dataclass(frozen=True, slots=True)
class KnownCache:
    """The cache ``name`` of objects of ``record``, made by ``function`` from release ``since`` to before ``until``."""

    record: str
    name: str
    function: str
    flags: CacheFlags
    since: Release = (0, 0)
    until: Release = (99, 0)


def made_by(function: str, flags: CacheFlags, *caches: str) -> Iterable[KnownCache]:
    """Caches that one function makes alike: ``record:name``, or ``record`` where both are one word."""
    for one in caches:
        record, _, name = one.partition(":")
        yield KnownCache(record, name or record, function, flags)


# Caches of file systems, networks, security modules and other parts: the same in Linux 6.1 and 6.12.
#
# Of what became KMEM_CACHE() in between, the record asks for no more than a word, which any cache gives.

_NONE = CacheFlags.NONE
_OWN = CacheFlags.OWN_ALIGNMENT
_LINE = CacheFlags.HWCACHE_ALIGN
_CTOR = CacheFlags.CONSTRUCTOR

COMPONENT_CACHES = (
    *made_by("audit_init", _NONE, "audit_buffer"),
    *made_by("audit_tree_init", _OWN, "audit_tree_mark"),
    *made_by(
        "avc_init",
        _NONE,
        "avc_node",
        "avc_xperms_node",
        "avc_xperms_decision_node",
        "extended_perms_data:avc_xperms_data",
    ),
    *made_by("avtab_cache_init", _NONE, "avtab_node", "avtab_extended_perms"),
    *made_by("blk_ioc_init", _NONE, "io_context:blkdev_ioc"),
    *made_by("btrfs_auto_defrag_init", _NONE, "inode_defrag:btrfs_inode_defrag"),
    *made_by("btrfs_delayed_inode_init", _NONE, "btrfs_delayed_node"),
    *made_by("btrfs_delayed_ref_init", _NONE, "btrfs_delayed_ref_head", "btrfs_delayed_extent_op"),
    *made_by("btrfs_init_cachep", _NONE, "btrfs_trans_handle", "btrfs_path", "btrfs_free_space"),
    *made_by("btrfs_prelim_ref_init", _NONE, "prelim_ref:btrfs_prelim_ref"),
    *made_by("delayacct_init", _OWN, "task_delay_info"),
    *made_by("dio_init", _OWN, "dio"),
    *made_by("dnotify_init", _OWN, "dnotify_struct", "dnotify_mark"),
    *made_by("ebitmap_cache_init", _NONE, "ebitmap_node"),
    *made_by("event_trace_memsetup", _OWN, "ftrace_event_field", "trace_event_file"),
    *made_by("eventpoll_init", _NONE, "epitems_head:ep_head"),
    *made_by("ext4_fc_init_dentry_cache", _OWN, "ext4_fc_dentry_update"),
    *made_by("ext4_init_es", _NONE, "extent_status:ext4_extent_status"),
    *made_by("ext4_init_mballoc", _OWN, "ext4_prealloc_space", "ext4_allocation_context", "ext4_free_data"),
    *made_by("ext4_init_pageio", _OWN, "ext4_io_end", "ext4_io_end_vec"),
    *made_by("ext4_init_pending", _NONE, "pending_reservation:ext4_pending_reservation"),
    *made_by("ext4_init_system_zone", _OWN, "ext4_system_zone"),
    *made_by("extent_buffer_init_cachep", _NONE, "extent_buffer:btrfs_extent_buffer"),
    *made_by("extent_map_init", _NONE, "extent_map:btrfs_extent_map"),
    *made_by("extent_state_init_cachep", _NONE, "extent_state:btrfs_extent_state"),
    *made_by("f2fs_init_iostat_processing", _NONE, "bio_iostat_ctx:f2fs_bio_iostat_ctx"),
    *made_by("f2fs_init_post_read_processing", _NONE, "bio_post_read_ctx:f2fs_bio_post_read_ctx"),
    *made_by("fanotify_user_setup", _OWN, "fanotify_fid_event", "fanotify_path_event", "fanotify_perm_event"),
    *made_by("fcntl_init", _NONE, "fasync_struct:fasync_cache"),
    *made_by("fib6_init", _LINE, "fib6_node:fib6_nodes"),
    *made_by("fib_trie_init", _NONE, "fib_alias:ip_fib_alias"),
    *made_by("filelock_init", _NONE, "file_lock_context:file_lock_ctx"),
    *made_by("fsnotify_init", _OWN, "fsnotify_mark_connector"),
    *made_by("fuse_dev_init", _NONE, "fuse_req:fuse_request"),
    *made_by("hashtab_cache_init", _NONE, "hashtab_node"),
    *made_by("inet_initpeers", _LINE, "inet_peer:inet_peer_cache"),
    *made_by("init_inodecache", _CTOR, "ext2_inode_info:ext2_inode_cache"),
    *made_by("init_posix_timers", _NONE, "k_itimer:posix_timers_cache"),
    *made_by("inotify_user_setup", _OWN, "inotify_inode_mark"),
    *made_by("ip6_mr_init", _LINE, "mfc6_cache:ip6_mrt_cache"),
    *made_by("ip6_route_init", _LINE, "rt6_info:ip6_dst_cache"),
    *made_by("ip_mr_init", _LINE, "mfc_cache:ip_mrt_cache"),
    *made_by("ip_vs_conn_init", _LINE, "ip_vs_conn"),
    *made_by("jbd2_journal_init_handle_cache", _OWN, "jbd2_journal_handle"),
    *made_by("jbd2_journal_init_inode_cache", _OWN, "jbd2_inode"),
    *made_by("jbd2_journal_init_revoke_record_cache", _OWN | _LINE, "jbd2_revoke_record_s"),
    *made_by("jbd2_journal_init_revoke_table_cache", _OWN, "jbd2_revoke_table_s"),
    *made_by("kernfs_init", _NONE, "kernfs_iattrs:kernfs_iattrs_cache"),
    *made_by("khugepaged_init", _OWN, "khugepaged_mm_slot"),
    *made_by("mbcache_init", _NONE, "mb_cache_entry:mbcache"),
    *made_by("nf_conncount_modinit", _NONE, "nf_conncount_tuple", "nf_conncount_rb"),
    *made_by("nf_conntrack_expect_init", _NONE, "nf_conntrack_expect"),
    *made_by("nfs4_xattr_cache_init", _CTOR, "nfs4_xattr_cache:nfs4_xattr_cache_cache"),
    *made_by("nfs_init_directcache", _NONE, "nfs_direct_req:nfs_direct_cache"),
    *made_by("nfs_init_nfspagecache", _LINE, "nfs_page"),
    *made_by("nfs_init_readpagecache", _LINE, "nfs_pgio_header:nfs_read_data"),
    *made_by("nfs_init_writepagecache", _LINE, "nfs_commit_data"),
    *made_by("nfsd4_init_pnfs", _NONE, "nfs4_layout", "nfs4_layout_stateid"),
    *made_by(
        "nfsd4_init_slabs",
        _NONE,
        "nfs4_client:nfsd4_clients",
        "nfs4_openowner:nfsd4_openowners",
        "nfs4_lockowner:nfsd4_lockowners",
        "nfs4_file:nfsd4_files",
        "nfs4_ol_stateid:nfsd4_stateids",
        "nfs4_delegation:nfsd4_delegations",
        "nfs4_clnt_odstate:nfsd4_odstate",
    ),
    *made_by("nfsd_file_cache_init", _NONE, "nfsd_file", "nfsd_file_mark"),
    *made_by("numa_policy_init", _NONE, "sp_node:shared_policy_node"),
    *made_by("ordered_data_init", _NONE, "btrfs_ordered_extent"),
    *made_by("pid_namespaces_init", _OWN, "pid_namespace"),
    *made_by("proc_init_kmemcache", _NONE, "pde_opener"),
    *made_by("radix_tree_init", _CTOR, "radix_tree_node"),
    *made_by("seq_file_init", _OWN, "seq_file"),
    *made_by("taskstats_init_early", _OWN, "taskstats"),
    *made_by("tcp_init", _LINE, "inet_bind_bucket:tcp_bind_bucket", "inet_bind2_bucket:tcp_bind2_bucket"),
    *made_by("user_namespaces_init", _OWN, "user_namespace"),
    *made_by("userfaultfd_init", _LINE | _CTOR, "userfaultfd_ctx:userfaultfd_ctx_cache"),
    *made_by("uts_ns_init", _NONE, "uts_namespace"),
    *made_by("xfrm6_tunnel_init", _LINE, "xfrm6_tunnel_spi"),
    *made_by("xfs_init_caches", _LINE, "xfs_buf"),
    *made_by(
        "xfs_init_caches",
        _NONE,
        "xlog_ticket:xfs_log_ticket",
        "xfs_da_state",
        "xfs_ifork",
        "xfs_trans",
        "xfs_buf_log_item:xfs_buf_item",
        "xfs_inode_log_item:xfs_ili",
        "xfs_icreate_item:xfs_icr",
        "xfs_rud_log_item:xfs_rud_item",
        "xfs_cud_log_item:xfs_cud_item",
        "xfs_bud_log_item:xfs_bud_item",
        "xfs_attrd_log_item:xfs_attrd_item",
        "xfs_attri_log_item:xfs_attri_item",
        "xfs_iunlink_item:xfs_iul_item",
    ),
    *made_by("xfs_qm_init", _NONE, "xfs_dquot", "xfs_dquot_acct:xfs_dqtrx"),
    *made_by("zswap_entry_cache_create", _OWN, "zswap_entry"),
)


_RCU = CacheFlags.TYPESAFE_BY_RCU
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


def machine_of(
    name: str, release: tuple[int, int] | None, cpus: int = _DEFAULT.cpus, page_bytes: int = _DEFAULT.page_bytes
) -> SlabMachine:
    """The machine of an ELF file by its ``name``; without a release the rules of Linux 6.12 hold."""
    rules = release or _DEFAULT.release
    kmalloc = _ARM64_DMA_BYTES if name == _ARM64 and rules < _BOUNCES else _DEFAULT.kmalloc_alignment
    return SlabMachine(cpus=cpus, page_bytes=page_bytes, release=rules, kmalloc_alignment=kmalloc)


@contextmanager
def kernel_image(elf: Path) -> Iterator[mmap.mmap | bytes]:
    """The content of ``elf``, mapped where the file system lets it be, else read. Raises ``ElfError``."""
    try:
        with elf.open("rb") as file:
            try:
                image = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError):
                # What the kernel writes itself, as /sys/kernel/btf/vmlinux, can be read but not always mapped.
                yield file.read()
                return
            with image:
                yield image
    except OSError as error:
        raise ElfError(f"cannot read {elf}: {error}; give a vmlinux") from error


def release_of(elf: Path) -> tuple[int, int] | None:
    """Version and patch level of the kernel in ``elf``; ``None`` where it says none. Raises ``ElfError``."""
    with kernel_image(elf) as image:
        at = image.find(_BEGINNING)  # takes a third of the time that the expression takes to look through an image
        while at >= 0:
            match = _BANNER.match(image, at)
            if match:
                return int(match[1]), int(match[2])
            at = image.find(_BEGINNING, at + 1)
    return None


def measured_caches(path: Path, page_bytes: int) -> Mapping[str, SlabCache]:
    """The caches by name; ``path`` is a directory like /sys/kernel/slab or the text of one.

    Raises ``SlabFactsError`` when it cannot be read or describes no cache.
    """
    facts: dict[str, dict[str, int]] = {}
    try:
        for cache, field, value in _in_directory(path) if path.is_dir() else _in_text(path):
            facts.setdefault(cache, {})[field] = value
    except OSError as error:
        raise SlabFactsError(f"cannot read {path}: {error.strerror}; copy /sys/kernel/slab as root") from error
    sound = {
        name: _cache(name, one, page_bytes)
        for name, one in facts.items()
        if all(field in one for field in _NEEDED) and one["slab_size"] > 0 and one["objs_per_slab"] > 0
    }
    if not sound:
        raise SlabFactsError(
            f"{path} has no slab cache; give /sys/kernel/slab or the output of grep -s . /sys/kernel/slab/*/*"
        )
    return sound


def _in_directory(path: Path) -> Iterator[tuple[str, str, int]]:
    for folder in sorted(path.iterdir()):
        for field in _FIELDS:
            file = folder / field
            if file.is_file():
                words = file.read_text("utf-8", "replace").split()
                if words and words[0].isdecimal() and len(words[0]) <= _MOST_DIGITS:
                    yield folder.name, field, int(words[0])


def _in_text(path: Path) -> Iterator[tuple[str, str, int]]:
    with path.open("rb") as file:
        text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    for line in text.splitlines():
        match = _FACT.match(line)
        if match and match[2] in _FIELDS and len(match[3]) <= _MOST_DIGITS:
            yield match[1], match[2], int(match[3])


def _cache(name: str, facts: Mapping[str, int], page_bytes: int) -> SlabCache:
    align = max(facts["align"], 1)
    geometry = SlabGeometry(
        facts["object_size"],
        facts["align"],
        facts["slab_size"],
        min(facts["order"], 31),
        facts["objs_per_slab"],
        page_bytes,
        -(-_WORD_BYTES // align) * align if facts.get("red_zone") else 0,
    )
    return SlabCache(name, geometry, SlabBasis.MEASURED, "in /sys/kernel/slab", facts.get("aliases", 0))
