# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of the kernel whose layouts were tuned although their debug information carries no mark of it.

Sources: comments in the declarations of Linux 6.1 and 6.12 in the files named, and the commits named.
"""

from __future__ import annotations

from collections.abc import Mapping

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
