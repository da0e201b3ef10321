# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules from how code handles a record: known records of Linux, facts of the source, freeing, and who holds it.

The places were looked up in Linux 6.1 and 6.12. A fact whose members a kernel does not have says nothing of it. Freeing
asks for the head that RCU queues an object by and for the allocator's free pointer. Records that hold this one by value
limit its size and its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import with_inferred_alignment
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.layouts.placement import BYTE, refusal
from linesmith.analyzer.layouts.store import MemberOutline, outlines_of
from linesmith.analyzer.model import FactKind, Layout, Member, RecordKind, SourceFact
from linesmith.tuner.constraints.freedom import (
    Below,
    Constraint,
    ConstraintKind,
    Fixed,
    Limit,
    Pin,
    RuledRecord,
    RuleRemark,
    source_of,
)


class _LinuxFact(NamedTuple):
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
    _LinuxFact(_SCHED, "task_struct", FactKind.FIRST, ("thread_info",), _CAST, "include/linux/thread_info.h"),
    _LinuxFact(_SCHED, "task_struct", FactKind.LAST, ("thread",), _DYNAMIC, _FPU_INIT),
    _LinuxFact(_SCHED, "task_struct", FactKind.RANDOMIZED, (), _PARTLY, _SCHED),
    _LinuxFact(_PROCESSOR, "thread_struct", FactKind.LAST, ("fpu",), _DYNAMIC, _FPU_INIT),
    _LinuxFact(_FPU, "fpu", FactKind.LAST, ("__fpstate",), _DYNAMIC, _FPU_INIT),
    _LinuxFact(_MM, "mm_struct", FactKind.RANDOMIZED, (), _PARTLY, _MM),
    _LinuxFact(_SKB, "sk_buff", FactKind.FIRST, _NEXT, _QUEUE, "include/linux/skbuff.h, sk_buff_head"),
    _LinuxFact(_SKB, "sk_buff", FactKind.WALL, ("tail",), _CLEARED, "net/core/skbuff.c, __alloc_skb()"),
    _LinuxFact(_SKB, "sk_buff_head", FactKind.FIRST, _NEXT, _QUEUE, "include/linux/skbuff.h, sk_buff_head"),
    _LinuxFact(_SKB, "skb_shared_info", FactKind.WALL, ("dataref",), _CLEARED, "net/core/skbuff.c, __alloc_skb()"),
    _LinuxFact(
        _SOCK, "sock_common", FactKind.WALL, ("skc_node",), _CLEARED, "include/net/sock.h, sk_prot_clear_nulls()"
    ),
    _LinuxFact(_BIO, "bio", FactKind.WALL, ("bi_max_vecs",), _RESET, "include/linux/blk_types.h, BIO_RESET_BYTES"),
    _LinuxFact(_NF, "nf_conn", FactKind.LAST, ("proto",), _OTHERS, _CONNTRACK),
    _LinuxFact(_IPV6, "raw6_sock", FactKind.LAST, ("inet6",), _FROM_END, "include/linux/ipv6.h, inet6_sk_generic()"),
    _LinuxFact(_IPV6, "tcp6_sock", FactKind.LAST, ("inet6",), _FROM_END, "include/linux/ipv6.h, inet6_sk_generic()"),
    _LinuxFact(_IPV6, "udp6_sock", FactKind.LAST, ("inet6",), _FROM_END, "include/linux/ipv6.h, inet6_sk_generic()"),
    _LinuxFact(_INET, "inet_sock", FactKind.OFFSET, ("pinet6",), "sockets of both families keep it there", _INET),
    _LinuxFact(
        _SLUB, "kmem_cache_cpu", FactKind.OFFSET, ("freelist", "tid"), _EXCHANGED, "mm/slub.c, slab_alloc_node()"
    ),
    _LinuxFact("mm/slub.c", "kmem_cache_cpu", FactKind.OFFSET, ("freelist_tid", "freelist"), _EXCHANGED, "mm/slub.c"),
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


# kfree_rcu() hands the head's offset on in place of a function: include/linux/rcupdate.h.
_RCU_OFFSETS = 4096
_HEAD = "callback_head"
_FREE_POINTER = "freeptr_t"
# Holders that a reason names.
_MOST_NAMED = 3


def heads_for_rcu(record: RuledRecord) -> Iterator[Below]:
    """The head of an object that RCU frees stays within its first 4096 bytes, if it is there now."""
    if record.base + record.layout.size <= _RCU_OFFSETS:
        return
    for position, member in enumerate(record.layout.members):
        start = next((start for name, start in _entered(record, member) if name == _HEAD), None)
        if start is not None and record.base + member.offset + start < _RCU_OFFSETS:
            reason = f"kfree_rcu() finds it within the first {_RCU_OFFSETS} bytes only"
            name = record.parts[record.owners[position]].name
            why = Constraint(ConstraintKind.OFFSET, name, reason, "include/linux/rcupdate.h, kvfree_rcu_arg_2()")
            yield Below(position, start, _RCU_OFFSETS, why)


def free_pointers(record: RuledRecord) -> Iterator[RuleRemark]:
    """What shares its place with the allocator's free pointer is lost while RCU readers may still look at it."""
    for position, member in enumerate(record.layout.members):
        if any(name == _FREE_POINTER for name, _ in _entered(record, member)):
            reason = "the allocator's free pointer lies in it once an object is free, when RCU readers may still look"
            name = record.parts[record.owners[position]].name
            yield RuleRemark(Constraint(ConstraintKind.FREE_POINTER, name, reason, "SLAB_TYPESAFE_BY_RCU"))


def _entered(record: RuledRecord, member: Member) -> Iterator[tuple[str, int]]:
    """The record that the member is, and those in anonymous records of it: name, and byte in the member."""
    if member.record is None:
        return
    inner = record.layouts.by_id(member.record)
    yield inner.name, 0
    for part in flatten(inner, record.layouts) if not inner.name else ():
        yield from part.chain


def relied_offsets(record: RuledRecord) -> Iterator[Pin]:
    """Members keep their offsets where code casts the record to them, and where offsets are asserted or exported."""
    kinds = {FactKind.FIRST: ConstraintKind.FIRST, FactKind.OFFSET: ConstraintKind.OFFSET}
    for kind, rule in kinds.items():
        for fact in record.of(kind):
            for atom in record.atoms_of(fact):
                position = record.owners.index(atom)
                why = Constraint(rule, record.parts[atom].name, fact.reason, source_of(fact))
                yield Pin(atom, position, record.layout.members[position].first_bit // BYTE, why)


def relied_walls(record: RuledRecord) -> Iterator[Fixed]:
    """Members that end the record, and those at which code splits it."""
    kinds = {FactKind.LAST: ConstraintKind.LAST, FactKind.WALL: ConstraintKind.MARKER}
    for fact in record.of(*kinds):
        for atom in record.atoms_of(fact):
            name = record.parts[atom].name
            yield Fixed(atom, Constraint(kinds[fact.kind], name, fact.reason, source_of(fact), everywhere=True))


def relied_order(record: RuledRecord) -> Iterator[Fixed]:
    """All members up to the last that an initialiser gives by position keep their turn."""
    for fact in record.of(FactKind.POSITIONAL):
        for atom in range(max(record.atoms_of(fact), default=-1) + 1):
            name = record.parts[atom].name or "an anonymous member"
            why = Constraint(ConstraintKind.POSITION, name, fact.reason, source_of(fact))
            yield Fixed(atom, why)


@dataclass(frozen=True, slots=True)
class HoldingMember:
    """Member ``number`` of ``holder``, which is the record or an array of it."""

    holder: Layout
    number: int

    @property
    def member(self) -> Member:
        """The member itself."""
        return self.holder.members[self.number]


def rigid_holders(record: RuledRecord) -> Iterator[Limit]:
    """A record inside one whose members are not where C's rules put them keeps its size."""
    rigid = _rigid(record.outer, record.layouts)
    if rigid is not None:
        size, title = record.layout.size, record.outer.title
        reason = f"{rigid.title} holds it, whose members are not where C's rules put them"
        yield Limit(size, size, Constraint(ConstraintKind.SIZE, title, reason, "offsets of its holder"))


def bases(record: RuledRecord) -> Iterator[RuleRemark]:
    """A record that others begin with is what code casts them to: whatever it becomes, it stays in front of them."""
    named = dict.fromkeys(
        one.holder.title
        for one in holding_members(record.layout.id, record.layouts)
        if not one.member.offset and one.holder.name and one.holder.kind is RecordKind.STRUCT
    )
    if named:
        reason = f"in {listed(list(named), _MOST_NAMED)} the other members move when it changes size"
        yield RuleRemark(Constraint(ConstraintKind.BASE, record.layout.title, reason, "C11 6.7.2.1p15"))


def common_beginnings(record: RuledRecord) -> Iterator[Fixed]:
    """Records of one union may be read through each other as far as they begin alike."""
    count, other = _common_beginning(record)
    for atom in range(max((owner + 1 for owner in record.owners[:count]), default=0)):
        name = record.parts[atom].name or "an anonymous member"
        reason = f"{other} begins with the same members in the same union, so each may be read as the other"
        yield Fixed(atom, Constraint(ConstraintKind.POSITION, name, reason, "C11 6.5.2.3p6"))


def _common_beginning(record: RuledRecord) -> tuple[int, str]:
    """How many members the record has in common with another one of a union, and the other's title."""
    best = 0, ""
    for place in holding_members(record.layout.id, record.layouts):
        if place.holder.kind is RecordKind.UNION and not place.member.dimensions:
            for member in place.holder.members:
                if member.record not in (None, record.layout.id):
                    other = record.layouts.by_id(member.record)
                    best = max(best, (_alike(record.layout, other), other.title if other.name else "another struct"))
    return best


def _alike(one: Layout, other: Layout) -> int:
    """Members from the first on whose types and places are the same."""
    if other.kind is not RecordKind.STRUCT:
        return 0
    pairs = zip(one.members, other.members, strict=False)
    return next((at for at, pair in enumerate(pairs) if _looks(pair[0]) != _looks(pair[1])), len(one.members))


def _looks(member: Member) -> tuple[object, ...]:
    return member.type, member.offset, member.size, member.bit_offset, member.bit_size, member.dimensions


def _rigid(layout: Layout, layouts: Layouts) -> Layout | None:
    """A record that holds ``layout`` at any depth and cannot be laid out around another size of it."""
    seen, waiting = {layout.id}, [layout.id]
    while waiting:
        for place in holding_members(waiting.pop(), layouts):
            if place.holder.id in seen:
                continue
            if place.holder.kind is not RecordKind.UNION and refusal(with_inferred_alignment(place.holder)):
                return place.holder
            seen.add(place.holder.id)
            waiting.append(place.holder.id)
    return None


def holding_members(layout_id: int, layouts: Layouts) -> Iterator[HoldingMember]:
    """Who has a member of the record."""
    for number, at in _holders(layouts).get(layout_id, ()):
        yield HoldingMember(layouts.by_id(number), at)


@lru_cache(maxsize=1)
def _holders(layouts: Layouts) -> Mapping[int, list[tuple[int, int]]]:
    """The ids of those who have a member of each record, by the record's id, each with the number of the member."""
    found: dict[int, list[tuple[int, int]]] = {}
    for layout in outlines_of(layouts):
        members: Sequence[Member | MemberOutline] = layout.members
        for at, member in enumerate(members):
            if member.record is not None:
                found.setdefault(member.record, []).append((layout.id, at))
    return found
