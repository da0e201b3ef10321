# SPDX-License-Identifier: GPL-2.0-or-later
"""``slab-growth``: which growth costs memory, whose, and how much."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import bits, flexible, held, scalar, struct, union
from rule_cases import before_and_now, broken, figure

from linesmith.analyzer.model import Layout, Member, Severity, Violation

NAMED = "named by --type"


def words(count: int, *more: Member) -> tuple[Member, ...]:
    return (*(scalar(f"word{number}") for number in range(count)), *more)


def grown(old: Layout, new: Layout, tuned: str = "") -> list[Violation]:
    return broken("slab-growth", before_and_now((old,), (new,), tuned))


def test_a_record_with_a_cache_of_its_own_is_told_what_it_costs_now() -> None:
    (one,) = grown(struct("vmap_area", *words(8)), struct("vmap_area", *words(8, scalar("flags"))))
    assert one.message == "grew from 64 to 72 bytes: a slab of vmap_area holds 56 objects instead of 64"
    assert one.advice == "what grew: flags (8 bytes)"
    assert (one.severity, one.subject) == (Severity.WARNING, "vmap_area")
    assert figure(one, "objects per slab") == (64, 56)
    assert figure(one, "pages per 1,000 objects") == (16, 18)
    assert figure(one, "memory per 100,000 objects") == (1563 * 4096, 1786 * 4096)


def test_growth_that_the_cache_had_room_for_is_free() -> None:
    """``cred`` is aligned to lines of 64 bytes, so 184 bytes take what 176 did."""
    assert grown(struct("cred", *words(22)), struct("cred", *words(23))) == []


def test_a_slab_of_more_pages_costs_more_with_as_many_objects() -> None:
    (one,) = grown(struct("pool_workqueue", *words(32)), struct("pool_workqueue", *words(64)))
    assert "a slab of pool_workqueue holds 32 objects in 4 pages instead of 32 in 2 pages" in one.message


def test_the_size_that_would_still_fit_is_named() -> None:
    (one,) = grown(struct("perf_event", *words(154)), struct("perf_event", *words(164)))
    assert one.advice.endswith("; with 1256 bytes or fewer they would cost no more than before")


def test_no_limit_is_named_where_objects_have_more_than_the_record() -> None:
    """Of an mm_struct a mask of CPUs, as many as the machine has."""
    (one,) = grown(struct("mm_struct", *words(137)), struct("mm_struct", *words(168)))
    assert one.message.endswith("a slab of mm_struct holds about 24 objects instead of 28")
    assert one.advice.endswith("; mm_cache_init() adds to the record what depends on the machine, which is not counted")


def test_what_grew_inside_of_a_record_held_by_value_is_named_by_its_path() -> None:
    inner, larger = struct("inner", *words(2)), struct("inner", *words(2), scalar("late"))
    old, new = struct("vmap_area", *words(6), held("part", inner)), struct("vmap_area", *words(6), held("part", larger))
    (one,) = broken("slab-growth", before_and_now((old, inner), (new, larger)))
    assert one.advice == "what grew: part.late (8 bytes)"


def test_an_untuned_record_without_a_cache_may_grow() -> None:
    assert grown(struct("any", *words(8)), struct("any", *words(9))) == []


def test_a_tuned_record_is_looked_at_inside_the_objects_that_hold_it() -> None:
    inner, larger = struct("inner", *words(2)), struct("inner", *words(2), scalar("late"))
    old, new = struct("vmap_area", *words(6), held("part", inner)), struct("vmap_area", *words(6), held("part", larger))
    (one,) = broken("slab-growth", before_and_now((inner, old), (larger, new), NAMED))
    assert one.message == (
        "grew from 16 to 24 bytes: a slab of vmap_area holds 56 objects instead of 64, as vmap_area.part"
    )


def test_the_worst_of_several_holders_is_named_and_all_are_in_the_figures() -> None:
    inner, larger = struct("inner", *words(1)), struct("inner", *words(1), scalar("late"))
    old = inner, struct("vmap_area", *words(7), held("part", inner)), struct("taskstats", *words(51), held("t", inner))
    new = (
        larger,
        struct("vmap_area", *words(7), held("part", larger)),
        struct("taskstats", *words(51), held("t", larger)),
    )
    (one,) = broken("slab-growth", before_and_now(old, new, NAMED))
    assert one.message.endswith("as vmap_area.part, and in 1 other cache")
    assert figure(one, "objects per slab of taskstats") == (39, 38)


def test_a_tuned_record_that_takes_one_line_more_is_noted() -> None:
    (one,) = grown(struct("any", *words(8)), struct("any", *words(9)), NAMED)
    assert one.message.startswith("grew from 64 to 72 bytes, 2 cache lines instead of 1")
    assert one.severity is Severity.NOTE


def test_the_size_class_of_kmalloc_is_named_where_no_cache_is_known() -> None:
    (one,) = grown(struct("any", *words(24)), struct("any", *words(25)), NAMED)
    assert one.message.endswith("; where kmalloc() allocates it, that takes 256 bytes instead of 192")
    assert figure(one, "allocated by kmalloc()") == (192, 256)


def test_kmalloc_is_not_assumed_of_what_others_hold() -> None:
    old, new = struct("any", *words(24)), struct("any", *words(25))
    outer = struct("outer", held("part", old)), struct("outer", held("part", new))
    (one,) = broken("slab-growth", before_and_now((old, outer[0]), (new, outer[1]), NAMED))
    assert "kmalloc()" not in one.message


def test_kmalloc_is_not_assumed_of_the_memory_map() -> None:
    (one,) = grown(struct("folio", *words(24)), struct("folio", *words(25)), NAMED)
    assert "kmalloc()" not in one.message


def test_kmalloc_is_not_assumed_of_a_table_of_functions() -> None:
    calls = [replace(scalar(f"call{number}"), declarator=f"(*call{number})(void)") for number in range(25)]
    (one,) = grown(struct("any", *calls[:24]), struct("any", *calls), NAMED)
    assert "kmalloc()" not in one.message


def test_growth_within_a_size_class_is_free() -> None:
    """Of 72 and of 80 bytes each takes two lines, and 96 bytes of kmalloc()."""
    assert grown(struct("any", *words(9)), struct("any", *words(10)), NAMED) == []


@pytest.mark.parametrize("more", [flexible("more"), scalar("more", 0, dimensions=(0,))], ids=["[]", "[0]"])
def test_an_open_array_leaves_the_size_class_open(more: Member) -> None:
    (one,) = grown(struct("any", *words(24, more)), struct("any", *words(25, more)), NAMED)
    assert "kmalloc()" not in one.message


def test_a_page_more_is_a_warning() -> None:
    (one,) = grown(struct("any", *words(512)), struct("any", *words(513)), NAMED)
    assert "2 pages instead of 1" in one.message
    assert (one.severity, one.subject) == (Severity.WARNING, "pages")


def test_a_line_more_of_very_many_is_no_news() -> None:
    assert grown(struct("any", *words(8 * 4096)), struct("any", *words(8 * 4096 + 1)), NAMED) == []


def test_a_record_that_shrinks_breaks_nothing() -> None:
    assert grown(struct("vmap_area", *words(9)), struct("vmap_area", *words(8)), NAMED) == []


def test_a_member_that_left_a_union_is_what_grew() -> None:
    """It has the size that it had, and so has what it shared its bytes with."""
    shared = union("", scalar("free"), scalar("links"), scalar("users"))
    old = struct("vmap_area", *words(7), held("", shared))
    rest = union("", scalar("free"), scalar("users"))
    new = struct("vmap_area", *words(7), scalar("links"), held("", rest))
    (one,) = broken("slab-growth", before_and_now((old, shared), (new, rest)))
    assert one.advice == "what grew: links (8 bytes, which it shared with free)"


def test_the_later_of_two_that_were_a_union_is_what_grew() -> None:
    shared = union("", scalar("free"), scalar("links"))
    old, new = struct("vmap_area", *words(7), held("", shared)), struct("vmap_area", *words(7, *shared.members))
    (one,) = broken("slab-growth", before_and_now((old, shared), (new,)))
    assert one.advice == "what grew: links (8 bytes, which it shared with free)"


def test_a_word_that_left_a_union_with_bits_is_what_grew() -> None:
    shared = union("", bits("dirty", 1, 8), scalar("links"))
    old, new = struct("vmap_area", *words(7), held("", shared)), struct("vmap_area", *words(7, *shared.members))
    (one,) = broken("slab-growth", before_and_now((old, shared), (new,)))
    assert one.advice == "what grew: links (8 bytes, which it shared with dirty)"


def test_bits_for_which_there_was_no_room_are_what_grew() -> None:
    old, new = struct("vmap_area", *words(8)), struct("vmap_area", *words(8), bits("dirty", 1, 8))
    (one,) = grown(old, new)
    assert one.advice == "what grew: dirty (1 bit); 7 bytes are holes and padding"


def test_one_byte_beside_what_grew_is_told_as_one() -> None:
    halves = [scalar(f"half{number}", 4) for number in range(16)]
    old, new = struct("vmap_area", *halves), struct("vmap_area", *halves, scalar("more", 3, align=1, dimensions=(3,)))
    (one,) = grown(old, new)
    assert one.advice == "what grew: more (3 bytes); 1 byte is holes and padding"


def test_a_member_with_another_name_is_no_growth() -> None:
    old, new = words(8, scalar("boost_mutex")), words(8, scalar("mutex"), scalar("worker"))
    (one,) = grown(struct("vmap_area", *old), struct("vmap_area", *new))
    assert one.advice == "what grew: worker (8 bytes)"


def test_of_what_replaced_another_member_the_difference_is_growth() -> None:
    old, new = words(7, scalar("list", 8)), words(7, scalar("tree", 24, dimensions=(3,)))
    (one,) = grown(struct("vmap_area", *old, scalar("end")), struct("vmap_area", *new, scalar("end")))
    assert one.advice == "what grew: tree (16 bytes more than list)"


def test_what_replaced_others_elsewhere_is_counted_whole() -> None:
    old = struct("vmap_area", scalar("gone"), *words(7))
    (one,) = grown(old, struct("vmap_area", *words(7), scalar("late", 16, dimensions=(2,))))
    assert one.advice == "what grew: late (16 bytes); other members take 8 bytes less"


def test_what_shrank_in_a_record_beside_what_grew_makes_the_numbers_add_up() -> None:
    was = struct("part", scalar("early", 16, dimensions=(2,)), scalar("late"))
    now = struct("part", scalar("early"), scalar("late", 24, dimensions=(3,)))
    before = struct("vmap_area", *words(5), held("part", was))
    (one,) = broken(
        "slab-growth", before_and_now((before, was), (struct("vmap_area", *words(5), held("part", now)), now))
    )
    assert one.message.startswith("grew from 64 to 72 bytes")
    assert one.advice == "what grew: part.late (16 bytes more); other members take 8 bytes less"


def test_the_larger_of_two_that_were_a_union_leaves_its_room_to_the_other() -> None:
    shared = union("", scalar("free"), scalar("links", 16, dimensions=(2,)))
    old, new = struct("vmap_area", *words(6), held("", shared)), struct("vmap_area", *words(6, *shared.members))
    (one,) = broken("slab-growth", before_and_now((old, shared), (new,)))
    assert one.advice == "what grew: links (16 bytes, which it shared with free); other members take 8 bytes less"


def test_what_went_into_old_holes_is_told_too() -> None:
    old = struct("vmap_area", scalar("first", 4), scalar("word"), *words(6))
    new = struct("vmap_area", scalar("first", 4), scalar("early", 4), scalar("word"), *words(6), scalar("late"))
    (one,) = grown(old, new)
    assert one.advice == "what grew: late (8 bytes) and early (4 bytes); 4 bytes lie in old holes"


def test_an_arm_of_a_union_costs_what_it_is_larger() -> None:
    shared = union("", scalar("word7"), scalar("links", 16, dimensions=(2,)))
    (one,) = broken(
        "slab-growth",
        before_and_now((struct("vmap_area", *words(8)),), (struct("vmap_area", *words(7), held("", shared)), shared)),
    )
    assert one.advice == "what grew: links (8 bytes more than what shares its bytes)"


def test_an_arm_that_is_no_larger_costs_nothing() -> None:
    shared = union("", scalar("word7"), scalar("alias"))
    new = struct("vmap_area", *words(7), held("", shared), scalar("late"))
    (one,) = broken("slab-growth", before_and_now((struct("vmap_area", *words(8)),), (new, shared)))
    assert one.advice == "what grew: late (8 bytes)"


def test_the_rest_of_a_long_list_is_added_up() -> None:
    (one,) = grown(struct("vmap_area", *words(8)), struct("vmap_area", *words(13)))
    assert one.advice.endswith("word10 (8 bytes), word11 (8 bytes), word12 (8 bytes) and 2 others (16 bytes)")


def test_a_wider_alignment_is_growth() -> None:
    old, new = struct("vmap_area", *words(9)), struct("vmap_area", *words(9), align=64)
    (one,) = grown(old, new)
    assert one.advice.startswith("no member grew; the record is aligned to 64 bytes now, to 8 before")


def test_a_wider_alignment_is_told_beside_members_that_took_old_holes() -> None:
    """Of 64 bytes that it grew, 56 are of members that it would have held without."""
    old = struct("vmap_area", scalar("first", 4), scalar("word"), *words(6))
    new = struct("vmap_area", scalar("first", 4), scalar("early", 4), *old.members[1:], *words(14)[7:], align=64)
    (one,) = grown(old, new)
    assert one.advice.endswith("; the record is aligned to 64 bytes now, to 8 before")


def test_a_program_has_no_slabs() -> None:
    """Programs have records called ``file`` and ``inode``, too."""
    subject = before_and_now((struct("vmap_area", *words(8)),), (struct("vmap_area", *words(9)),), NAMED)
    assert subject.base is not None
    program = replace(subject, head=replace(subject.head, slabs=False), base=replace(subject.base, slabs=False))
    (one,) = broken("slab-growth", program)
    assert one.message == "grew from 64 to 72 bytes, 2 cache lines instead of 1"
    assert broken("slab-growth", replace(program, tuned="")) == []


def test_a_cache_of_its_own_is_not_taken_for_kmalloc() -> None:
    (one,) = grown(struct("mm_struct", *words(216)), struct("mm_struct", *words(224)), NAMED)
    assert one.message == "grew from 1728 to 1792 bytes, 28 cache lines instead of 27"
