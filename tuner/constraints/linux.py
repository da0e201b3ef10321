# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of records of Linux whose members code handles by where they are.

The places were looked up in Linux 6.1 and 6.12. A fact whose members a kernel does not have says nothing of it.
"""

from __future__ import annotations

from typing import NamedTuple

from linesmith.analyzer.model import FactKind, Layout, SourceFact


class _Known(NamedTuple):
    """A fact of ``record``, which ``file`` of the tree declares."""

    file: str
    record: str
    kind: FactKind
    members: tuple[str, ...]
    reason: str
    place: str


_CAST = "a task's address is taken for that of its thread_info"
_CLEARED = "what is before it is cleared when an object is made, what is behind it is not"
_DYNAMIC = "the size of the FPU state in it depends on the CPU"
_EXCHANGED = "both are exchanged by one instruction of 16 bytes"
_FROM_END = "IPv6 sockets are found by counting from the end of the object"
_OTHERS = "other modules keep their state in it, behind what is cleared"
_PARTLY = "most of its members stand between randomized_struct_fields_start and randomized_struct_fields_end"
_PLUGIN = "it is declared __randomize_layout"
_QUEUE = "the head of a queue is taken for a buffer"
_RESET = "bio_reset() clears what is before it and keeps what is behind it"

_BIO = "include/linux/blk_types.h"
_FPU = "arch/x86/include/asm/fpu/types.h"
_FPU_INIT = "arch/x86/kernel/fpu/init.c, fpu__init_task_struct_size()"
_INET = "include/net/inet_sock.h"
_IPV6 = "include/linux/ipv6.h"
_MM = "include/linux/mm_types.h"
_NF = "include/net/netfilter/nf_conntrack.h"
_PROCESSOR = "arch/x86/include/asm/processor.h"
_SCHED = "include/linux/sched.h"
_SKB = "include/linux/skbuff.h"
_SLUB = "include/linux/slub_def.h"
_SOCK = "include/net/sock.h"

_NEXT = ("next", "prev")
_CONNTRACK = "net/netfilter/nf_conntrack_core.c, __nf_conntrack_alloc()"
_KNOWN = (
    _Known(_SCHED, "task_struct", FactKind.FIRST, ("thread_info",), _CAST, "include/linux/thread_info.h"),
    _Known(_SCHED, "task_struct", FactKind.LAST, ("thread",), _DYNAMIC, _FPU_INIT),
    _Known(_SCHED, "task_struct", FactKind.RANDOMIZED, (), _PARTLY, _SCHED),
    _Known(_PROCESSOR, "thread_struct", FactKind.LAST, ("fpu",), _DYNAMIC, _FPU_INIT),
    _Known(_FPU, "fpu", FactKind.LAST, ("__fpstate",), _DYNAMIC, _FPU_INIT),
    _Known(_MM, "mm_struct", FactKind.RANDOMIZED, (), _PARTLY, _MM),
    _Known(_SKB, "sk_buff", FactKind.FIRST, _NEXT, _QUEUE, "include/linux/skbuff.h, sk_buff_head"),
    _Known(_SKB, "sk_buff", FactKind.WALL, ("tail",), _CLEARED, "net/core/skbuff.c, __alloc_skb()"),
    _Known(_SKB, "sk_buff_head", FactKind.FIRST, _NEXT, _QUEUE, "include/linux/skbuff.h, sk_buff_head"),
    _Known(_SKB, "skb_shared_info", FactKind.WALL, ("dataref",), _CLEARED, "net/core/skbuff.c, __alloc_skb()"),
    _Known(_SOCK, "sock_common", FactKind.WALL, ("skc_node",), _CLEARED, "include/net/sock.h, sk_prot_clear_nulls()"),
    _Known(_BIO, "bio", FactKind.WALL, ("bi_max_vecs",), _RESET, "include/linux/blk_types.h, BIO_RESET_BYTES"),
    _Known(_NF, "nf_conn", FactKind.LAST, ("proto",), _OTHERS, _CONNTRACK),
    _Known(_IPV6, "raw6_sock", FactKind.LAST, ("inet6",), _FROM_END, "include/linux/ipv6.h, inet6_sk_generic()"),
    _Known(_IPV6, "tcp6_sock", FactKind.LAST, ("inet6",), _FROM_END, "include/linux/ipv6.h, inet6_sk_generic()"),
    _Known(_IPV6, "udp6_sock", FactKind.LAST, ("inet6",), _FROM_END, "include/linux/ipv6.h, inet6_sk_generic()"),
    _Known(_INET, "inet_sock", FactKind.OFFSET, ("pinet6",), "sockets of both families keep it there", _INET),
    _Known(_SLUB, "kmem_cache_cpu", FactKind.OFFSET, ("freelist", "tid"), _EXCHANGED, "mm/slub.c, slab_alloc_node()"),
    _Known("mm/slub.c", "kmem_cache_cpu", FactKind.OFFSET, ("freelist_tid", "freelist"), _EXCHANGED, "mm/slub.c"),
)

# Records that are declared __randomize_layout, by the file that declares them.
_SHUFFLED = {
    "arch/x86/include/asm/processor.h": "cpuinfo_x86",
    "fs/mount.h": "mnt_namespace mount",
    "fs/namei.c": "nameidata",
    "fs/proc/internal.h": "pde_opener proc_dir_entry proc_inode proc_maps_private",
    "include/linux/binfmts.h": "linux_binfmt linux_binprm",
    "include/linux/blk_types.h": "block_device",
    "include/linux/cdev.h": "cdev",
    "include/linux/cred.h": "cred group_info",
    "include/linux/dcache.h": "dentry",
    "include/linux/filelock.h": "file_lease file_lock",
    "include/linux/fs.h": "address_space file file_lock file_operations inode renamedata super_block",
    "include/linux/fs_struct.h": "fs_struct",
    "include/linux/ipc.h": "kern_ipc_perm",
    "include/linux/ipc_namespace.h": "ipc_namespace",
    "include/linux/kobject.h": "kset",
    "include/linux/mm_types.h": "vm_area_struct",
    "include/linux/module.h": "module module_kobject",
    "include/linux/mount.h": "vfsmount",
    "include/linux/path.h": "path",
    "include/linux/pid_namespace.h": "pid_namespace",
    "include/linux/sched.h": "sched_rt_entity",
    "include/linux/sched/signal.h": "signal_struct",
    "include/linux/sysctl.h": "ctl_table",
    "include/linux/time_namespace.h": "time_namespace",
    "include/linux/tty.h": "tty_struct",
    "include/linux/tty_driver.h": "tty_driver tty_operations",
    "include/linux/umh.h": "subprocess_info",
    "include/linux/user_namespace.h": "user_namespace",
    "include/linux/utsname.h": "uts_namespace",
    "include/net/neighbour.h": "neighbour",
    "include/net/net_namespace.h": "net",
    "include/net/sock.h": "proto",
    "ipc/msg.c": "msg_queue",
    "ipc/sem.c": "sem_array",
    "ipc/shm.c": "shmid_kernel",
    "kernel/futex/futex.h": "futex_pi_state futex_q",
}


def linux_facts(layout: Layout) -> tuple[SourceFact, ...]:
    """What is known of this record of Linux; none where it is declared elsewhere than the kernel's is."""
    found = [
        SourceFact(one.kind, one.members, one.reason, one.place)
        for one in _KNOWN
        if one.record == layout.name and _declared_in(layout, one.file)
    ]
    for place, names in _SHUFFLED.items():
        if layout.name in names.split() and _declared_in(layout, place):
            found.append(SourceFact(FactKind.RANDOMIZED, (), _PLUGIN, place))
    return tuple(found)


def _declared_in(layout: Layout, place: str) -> bool:
    """Whether the record is declared in this file of a kernel's tree."""
    return layout.file is not None and f"/{layout.file}".endswith(f"/{place}")
