# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds out what untyped memory holds by the typed pointers to it.

Nothing in a slab page of ``kmalloc-192`` says which records its objects are. What the kernel reaches, though, it
reaches through a pointer, and the declaration of that pointer is in DWARF: variables, per-CPU variables and objects
of caches that hold one type only are searched for words that are the start of such an object.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache as cached

import drgn

# Which record type a slab cache holds, by its name.

# Bytes of the record of that name; none when the kernel has no such record.
RecordSize = Callable[[str], int | None]

# Names that no pattern leads to their record.
_RECORDS = {
    "bdev_cache": ("bdev_inode",),
    "cred_jar": ("cred",),
    "eventpoll_epi": ("epitem",),
    "eventpoll_pwq": ("eppoll_entry",),
    "file_lock_ctx": ("file_lock_context",),
    "filp": ("file",),
    "fib6_nodes": ("fib6_info",),
    "fs_cache": ("fs_struct",),
    "ip_dst_cache": ("rtable",),
    "ip6_dst_cache": ("rt6_info",),
    "ip_fib_alias": ("fib_alias",),
    "key_jar": ("key",),
    "mnt_cache": ("mount",),
    "net_namespace": ("net",),
    "numa_policy": ("mempolicy",),
    "posix_timers_cache": ("k_itimer",),
    "radix_tree_node": ("xa_node", "radix_tree_node"),
    "skbuff_ext_cache": ("skb_ext",),
    "skbuff_fclone_cache": ("sk_buff_fclones",),
    "skbuff_head_cache": ("sk_buff",),
    "sock_inode_cache": ("socket_alloc",),
    "uid_cache": ("user_struct",),
    "UNIX-STREAM": ("unix_sock",),
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


WORD_BYTES = 8
BUCKET_BYTES = 64

# Records that a word at an address may point to.
Declared = Callable[[int], tuple[str, ...]]

_RECORD_KINDS = (drgn.TypeKind.STRUCT, drgn.TypeKind.UNION, drgn.TypeKind.CLASS)


@dataclass(frozen=True, slots=True)
class TypedMemory:
    """Contiguous memory from ``address`` on, and how its words are declared."""

    address: int
    content: bytes
    declared: Declared


def words_where(source: TypedMemory, wanted: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Address and value of every word (8 bytes, little-endian) of ``source`` whose value is ``wanted``."""
    words = memoryview(source.content)[: len(source.content) & -WORD_BYTES].cast("Q")
    return ((source.address + index * WORD_BYTES, word) for index, word in enumerate(words) if wanted(word))


def votes_for(targets: Iterable[int], sources: Iterable[TypedMemory]) -> dict[int, Counter[str]]:
    """How often each record is declared to lie at each of ``targets`` (values of pointers)."""
    wanted = frozenset(targets)
    votes: dict[int, Counter[str]] = {}
    for source in sources:
        for address, value in words_where(source, wanted.__contains__):
            records = source.declared(address)
            if records:
                votes.setdefault(value, Counter()).update(records)
    return votes


def likely_records(votes: Counter[str], object_bytes: int, records: KernelRecords) -> tuple[str, ...]:
    """Records of ``votes`` that fill the object, most voted first.

    Smaller ones are rather its first member (a list node, a lock): the allocator would have served a record of up to
    half the size from a smaller cache, unless its end is flexible.
    """
    fitting = []
    for record, count in votes.items():
        size = records.size(record) or 0
        if 0 < size <= object_bytes and (object_bytes < 2 * size or records.grows(record)):
            fitting.append((-count, record))
    return tuple(record for _, record in sorted(fitting))


def as_array(votes: Counter[str], size_of: RecordSize) -> tuple[str, int] | None:
    """The small record that memory of many is an array of (the buckets of a hash table), and its size in bytes."""
    sizes = {record: size_of(record) or 0 for record in votes}
    small = ((-count, record) for record, count in votes.items() if 0 < sizes[record] <= BUCKET_BYTES)
    _, first = min(small, default=(0, None))
    return (first, sizes[first]) if first else None


class KernelRecords:
    """The records of one program by name, as DWARF declares them; where several share a name, any one of them."""

    def __init__(self, program: drgn.Program) -> None:
        """Looks records up as they are asked for."""
        self._program = program
        self._declared = cached(self._find)
        self.pointees = cached(self._pointees)

    def size(self, record: str) -> int | None:
        """Bytes of the record; none when the kernel has no such record."""
        kind = self._declared(record)
        return None if kind is None else kind.size

    def grows(self, record: str) -> bool:
        """Whether the record ends in a flexible array."""
        kind = self._declared(record)
        return kind is not None and bool(kind.members) and _is_flexible(kind.members[-1].type)

    def _pointees(self, record: str, offset: int) -> tuple[str, ...]:
        """Records that the pointer at ``offset`` bytes of ``record`` may point to; several within a union."""
        kind = self._declared(record)
        try:
            return () if kind is None else tuple(dict.fromkeys(pointees(kind, offset)))
        except (LookupError, drgn.BadDataError):
            return ()

    def _find(self, record: str) -> drgn.Type | None:
        for tag in ("struct", "union"):
            try:
                kind = self._program.type(f"{tag} {record}")
            except (LookupError, drgn.BadDataError):
                continue
            if kind.is_complete():
                return kind
        return None


def record_name(kind: drgn.Type) -> str | None:
    """The tag of a record, or the typedef that names one without a tag; none for what is no record."""
    alias = None
    while kind.kind == drgn.TypeKind.TYPEDEF:
        alias, kind = kind.name, kind.type
    return (kind.tag or alias) if kind.kind in _RECORD_KINDS else None


def pointees(kind: drgn.Type, offset: int) -> Iterator[str]:
    """Names of the records that pointers at byte ``offset`` of ``kind`` point to."""
    while kind.kind == drgn.TypeKind.TYPEDEF:
        kind = kind.type
    if kind.kind == drgn.TypeKind.POINTER:
        name = record_name(kind.type) if offset == 0 else None
        if name is not None:
            yield name
    elif kind.kind == drgn.TypeKind.ARRAY:
        element = drgn.sizeof(kind.type)
        if element:
            yield from pointees(kind.type, offset % element)
    elif kind.kind in _RECORD_KINDS and kind.is_complete():
        for member in kind.members:
            if member.bit_field_size is not None or offset < member.offset:
                continue
            inside = offset - member.offset
            # A flexible array has no end, so it holds everything behind its beginning.
            if _is_flexible(member.type) or inside < drgn.sizeof(member.type):
                yield from pointees(member.type, inside)


def _is_flexible(kind: drgn.Type) -> bool:
    return kind.kind == drgn.TypeKind.ARRAY and not kind.length
