# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of two builds that are worth a look: those that differ, and those that somebody asks for.

``located`` turns places of a compiler into places of a tree, so that they can be shown next to the source.

``tuned`` tells whether somebody cared for the layout of a record, as its declaration or the kernel's history shows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from posixpath import normpath

from linesmith.analyzer.base.errors import TypeNotFound
from linesmith.analyzer.layouts.collection import Layouts, select, select_both
from linesmith.analyzer.layouts.diff import changes, paired
from linesmith.analyzer.layouts.gaps import asked_at_least
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.layouts.store import IndexedLayouts
from linesmith.analyzer.lint.meetings import pads
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, LintReport, Member, Violation

Pair = tuple[Layout | None, Layout | None]

_NOTHING_IN_COMMON = (
    "the build with the change has none of the records of the base; give two builds of the same sources"
)
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


@dataclass(frozen=True, slots=True)
class RecordPairs:
    """``pairs`` to look at; ``compared`` counts layouts of the new build, ``changed`` those of them that differ."""

    pairs: tuple[Pair, ...]
    compared: int
    changed: int = 0


def of_one(new: Layouts, types: tuple[str, ...]) -> RecordPairs:
    """Every record of one build that has a name, if only by a typedef, or those of ``types``.

    What Rust states of C's records is only looked at where it is named. Raises ``TypeNotFound`` for one that is not
    there.
    """
    layouts = select(new, types) if types else tuple(one for name in new.names() for one in new.variants(name))
    pairs: Iterator[Pair] = ((None, one) for one in layouts)
    return RecordPairs(tuple(pairs) if types else _own(pairs, new, new), len(layouts))


def of_two(old: Layouts, new: Layouts, types: tuple[str, ...], asked_for: Collection[str] = ()) -> RecordPairs:
    """Pairs of records that differ between two builds, and those called ``asked_for`` even where they do not.

    With ``types`` these records alone are looked at, changed or not. A record whose name is gone has no partner.
    Records that two indices tell to be alike are never decoded. Raises ``TypeNotFound`` for a type that neither build
    has, and where the builds have no record in common.
    """
    if types:
        pairs = tuple(paired(*select_both(old, new, types)))
        return RecordPairs(pairs, len(pairs), sum(_differ(pair, old, new) for pair in pairs))
    names = new.names()
    gone = set(old.names()).difference(names)
    if gone and len(gone) == len(old.names()):
        raise TypeNotFound(_NOTHING_IN_COMMON)
    differing = set()
    for name in names:
        was, now = _digests(old, name), _digests(new, name)
        if not now or (was != now and sorted(was) != sorted(now)):  # in whatever order they come
            differing.add(name)
    looked_at = sorted(differing.union(asked_for) - gone)
    found = {name: tuple(_partners(old.variants(name), new.variants(name))) for name in looked_at}
    changed = sum(_differ(pair, old, new) for name in differing for pair in found[name])
    # Where there is an index, none need be decoded to be counted.
    by_name = new.head.names if isinstance(new, IndexedLayouts) else None
    compared = sum(len(new.variants(name) if by_name is None else by_name.get(name, ())) for name in names)
    lost = ((layout, None) for name in sorted(gone) for layout in old.variants(name))
    kept = (pair for pairs in found.values() for pair in pairs)
    return RecordPairs(_own((*kept, *lost), old, new), compared, changed)


def _own(pairs: Iterable[Pair], old: Layouts, new: Layouts) -> tuple[Pair, ...]:
    """Without the records that Rust states of C's."""
    return tuple(
        (before, after)
        for before, after in pairs
        if not (is_restated(after, new) if after else before and is_restated(before, old))
    )


def _partners(old: tuple[Layout, ...], new: tuple[Layout, ...]) -> Iterator[Pair]:
    """Pairs of the records of one name; a tag that became a typedef, or a struct that became a union, is the same."""
    pairs = tuple(paired(old, new))
    yield from (pair for pair in pairs if None not in pair)
    left = [before for before, after in pairs if before and not after]
    right = [after for before, after in pairs if after and not before]
    yield from zip_longest(left, right)


def _digests(layouts: Layouts, name: str) -> list[bytes]:
    """Of every layout of that name; none where the layouts come from no index."""
    if not isinstance(layouts, IndexedLayouts):
        return []
    return [layouts.digest(one) for one in layouts.head.names.get(name, ())]


def _differ(pair: Pair, old: Layouts, new: Layouts) -> bool:
    """Whether both builds have the record, and not alike."""
    before, after = pair
    if before is None or after is None:
        return False
    if isinstance(old, IndexedLayouts) and isinstance(new, IndexedLayouts):
        return old.digest(before.id) != new.digest(after.id)
    return bool(changes(old, new, iter([pair])))


def located(report: LintReport, tree: Path) -> LintReport:
    """The report with each file named as it is in ``tree``; what is not there keeps the name it had.

    A build may have been made elsewhere, so the longest end of the path that names a file of the tree counts.
    """
    every = (*report.violations, *(one.violation for one in report.accepted))
    names = {one.file: _inside(one.file, tree) for one in every if one.file}

    def moved(one: Violation) -> Violation:
        return replace(one, file=names[one.file]) if one.file else one

    accepted = (replace(one, violation=moved(one.violation)) for one in report.accepted)
    return replace(
        report,
        violations=tuple(sorted(map(moved, report.violations), key=lambda one: one.order)),
        accepted=tuple(sorted(accepted, key=lambda one: one.violation.order)),
    )


def _inside(file: str, tree: Path) -> str:
    parts = [part for part in normpath(file).split("/") if part not in ("", "..", ".")]
    for first in range(len(parts)):
        end = "/".join(parts[first:])
        with suppress(OSError, ValueError):  # a name that no file can have
            if (tree / end).is_file():
                return end
    return file


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
