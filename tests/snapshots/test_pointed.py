# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of untyped memory by the declared pointers to it."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.pointed import TypedMemory, as_array, believed, split, votes_for


@dataclass
class Known:
    """Records by size; those in ``flexible`` end in a flexible array."""

    sizes: dict[str, int]
    flexible: frozenset[str] = frozenset()

    def size(self, record: str) -> int | None:
        return self.sizes.get(record)

    def grows(self, record: str) -> bool:
        return record in self.flexible


def memory(address: int, *words: int, **declared: str) -> TypedMemory:
    """Words from ``address`` on; ``at8="inode"`` declares the one at offset 8 as a pointer to an inode."""
    names = {address + int(offset.removeprefix("at")): (record,) for offset, record in declared.items()}
    return TypedMemory(address, struct.pack(f"<{len(words)}Q", *words), lambda place: names.get(place, ()))


def test_declared_pointers_to_an_object_vote_for_its_record() -> None:
    sources = (
        memory(0x100, 0x5000, 0x6000, at0="super_block", at8="inode"),
        memory(0x200, 0x5000, at0="super_block"),
        memory(0x300, 0x5000, at0="list_head"),
    )
    assert votes_for([0x5000], sources) == {0x5000: Counter(super_block=2, list_head=1)}


def test_word_that_is_no_pointer_to_a_record_is_no_vote() -> None:
    assert votes_for([0x5000], [memory(0x100, 0x5000)]) == {}


def test_bytes_behind_the_last_word_are_left_out() -> None:
    assert votes_for([0x5000], [TypedMemory(0, struct.pack("<Q", 0x5000) + b"abc", lambda _: ("inode",))]) == {
        0x5000: Counter(inode=1)
    }


def test_most_voted_record_that_fills_the_object_comes_first() -> None:
    known = Known({"super_block": 1408, "device": 1400, "list_head": 16, "net": 4000})
    votes = Counter(device=1, super_block=3, list_head=9, net=5)
    assert believed(votes, 2048, known) == ("super_block", "device")


def test_half_of_the_object_is_not_filled() -> None:
    assert believed(Counter(kobject=3), 128, Known({"kobject": 64})) == ()


def test_flexible_record_may_be_small() -> None:
    # The CPU mask of the group lies behind it.
    known = Known({"sched_group": 32}, frozenset({"sched_group"}))
    assert believed(Counter(sched_group=1), 64, known) == ("sched_group",)


def test_buckets_of_a_table() -> None:
    sizes = {"hlist_bl_head": 8, "dentry": 192}
    assert as_array(Counter(hlist_bl_head=1, dentry=4), sizes.get) == ("hlist_bl_head", 8)
    assert as_array(Counter(dentry=1), sizes.get) is None


def area(count: int, first: int = 0, types: tuple[str, ...] = ()) -> ObjectArea:
    return ObjectArea(ObjectKind.SLAB, "kmalloc-64", 0x1000 + first * 64, 64, 64, count, types)


def test_typed_objects_become_areas_of_their_own() -> None:
    assert split(area(8), {2: ("inode",), 7: ("file", "inode")}) == (
        area(2),
        area(1, 2, ("inode",)),
        area(4, 3),
        area(1, 7, ("file", "inode")),
    )


def test_what_the_cache_may_hold_too_stays_behind_what_pointers_say() -> None:
    assert split(area(1, types=("pid", "epitem")), {0: ("epitem",)}) == (area(1, types=("epitem", "pid")),)


def test_without_types_the_area_stays_whole() -> None:
    assert split(area(8), {}) == (area(8),)
