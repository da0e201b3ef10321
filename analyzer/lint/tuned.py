# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether somebody cared for the layout of a record, as its declaration or the history of the kernel shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from linesmith.analyzer.layouts.alignment import asked_at_least
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.lint.meetings import pads
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member

# Records of the kernel whose layouts were tuned although their debug information carries no mark of it.
# Sources: comments in the declarations of Linux 6.1 and 6.12 in the files named, and the commits named.
KERNEL_TYPES: Mapping[str, str] = {
    "address_space": "keeps i_mmap_rwsem away from i_mmap (include/linux/fs.h)",
    "bio": "ends in what a reset preserves (include/linux/blk_types.h)",
    "block_device": "keeps what the fast path does not need at its end (include/linux/blk_types.h)",
    "dentry": "keeps what lookups by RCU touch together (include/linux/dcache.h, 18a5daf0e497)",
    "dst_entry": "keeps its reference count off the line that every packet reads (include/net/dst.h, d288a162dd1c)",
    "epitem": "fits two lines, which the build asserts (fs/eventpoll.c)",
    "file": "states its lines in comments (include/linux/fs.h)",
    "folio": "lies over struct page, word by word (include/linux/mm_types.h)",
    "inode": "begins with what is read often, above all by lookups and stat (include/linux/fs.h)",
    "kmem_cache_cpu": "has two words that are exchanged as one (mm/slub.c)",
    "mm_struct": "asks for care with what is in front of mmap_lock (include/linux/mm_types.h)",
    "napi_struct": "has what only the control path needs at its end (include/linux/netdevice.h)",
    "net_device": "parts receiving from sending (include/linux/netdevice.h)",
    "netns_ipv4": "is parted into groups of members since 6.8 (include/net/netns/ipv4.h)",
    "nf_flowtable": "begins with what the data path reads (include/net/netfilter/nf_flow_table.h)",
    "page": "is there once for each page of memory (include/linux/mm_types.h)",
    "rw_semaphore": "keeps count and owner together for tasks that do not wait (include/linux/rwsem.h)",
    "sk_buff": "keeps what copies share together (include/linux/skbuff.h)",
    "skb_shared_info": "begins with what every allocation clears (include/linux/skbuff.h)",
    "slab": "lies over struct page, word by word (mm/slab.h)",
    "sock": "is parted into groups of members since 6.8 (include/net/sock.h)",
    "sock_common": "keeps what lookups compare together (include/net/sock.h)",
    "tcp_sock": "is parted into groups of members since 6.8 (include/linux/tcp.h)",
    "timekeeper": "begins with what reading the clock touches (include/linux/timekeeper_internal.h)",
    "tk_read_base": "fits one line together with a sequence count (include/linux/timekeeper_internal.h)",
    "vm_area_struct": "has what walks of the tree need in its first line (include/linux/mm_types.h)",
}

_GROUP = "__cacheline_group_begin__"
# Empty members that are aligned to a line: ZONE_PADDING() up to 6.1, CACHELINE_PADDING() since.
_PADDINGS = frozenset(("struct cacheline_padding", "struct zone_padding", "struct memcg_padding"))
_KERNEL = "task_struct"
# What bindgen calls a part without a name ends so.
_PART = "__bindgen_"


def tuned(layout: Layout, layouts: Layouts) -> str:
    """A clause with the reason to count the record as tuned, empty where there is none.

    Markings come first: groups of members, paddings, alignments to lines that the record or a member of it asks for
    itself, arrays that fill a line. An alignment that comes from a type that is embedded is none of its own. Records of
    a kernel that are known to be tuned without a mark in their debug information follow.
    """
    marked = _marked(layout, layouts)
    if marked or layout.typedef or not layouts.variants(_KERNEL):
        return marked
    return KERNEL_TYPES.get(layout.name, "")


def _marked(layout: Layout, layouts: Layouts) -> str:
    for member in _members(layout, layouts):
        if member.name.startswith(_GROUP):
            return f"marks the group {member.name.removeprefix(_GROUP)}"
        if member.type in _PADDINGS:
            return f"has the padding {member.name}"
    pad = next((one.name for one in pads(layout)), "")
    return _aligned(layout, layouts) or (f"pads a line with {pad}" if pad else "")


def _members(layout: Layout, layouts: Layouts) -> Iterator[Member]:
    """The record's own members and those of its parts without a name; most records have no such part."""
    for member in layout.members:
        if member.name or member.record is None:
            yield member
        else:
            yield from (one.member for one in nameable(layouts.by_id(member.record), layouts))


def _aligned(layout: Layout, layouts: Layouts) -> str:
    if (layout.alignment or 0) < CACHE_LINE_BYTES and not any(member.alignment for member in layout.members):
        return ""
    asking = asked_at_least(CACHE_LINE_BYTES, layout, layouts)
    inside = next((one for one in asking if one.path), None)
    if inside is None:
        return f"is aligned to {asking[0].asked} bytes" if asking else ""
    what = f"an anonymous part, at {inside.path}," if inside.part else inside.path
    return f"aligns {what} to {inside.asked} bytes"


def is_restated(layout: Layout, layouts: Layouts) -> bool:
    """Whether a record states once more in Rust, as bindgen does, one of C, which is judged for both.

    It is inside a module, states no place, and is called like one of C that does, and as large; a part without a name
    may have any size.
    """
    module, _, own = layout.name.rpartition("::")
    if not module or layout.file:  # rustc states no places of types, compilers of C and C++ do
        return False
    name, part, _ = own.partition(_PART)
    return any(one.file and (part or one.size == layout.size) for one in layouts.variants(name))
