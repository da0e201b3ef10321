# SPDX-License-Identifier: GPL-2.0-or-later
"""What the records around a record forbid, and records whose offsets others know."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import held, meeting, scalar, struct, table, union

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry.atoms import atoms
from linesmith.analyzer.model import Layout, Member, MemberCategory
from linesmith.tuner.constraints import Freedom, freedom, unmovable
from linesmith.tuner.constraints.linux import linux_facts
from linesmith.tuner.premises import NO_PREMISES
from linesmith.tuner.subject import subject

A, B, C = scalar("a"), scalar("b"), scalar("c")


def limits(layout: Layout, *around: Layout) -> Freedom:
    layouts = table(layout, *around)
    return freedom(layout, atoms(layout, layouts), layouts)


def told(found: Freedom) -> list[str]:
    return [str(one) for one in found.constraints]


def declared(layout: Layout, file: str) -> Layout:
    return replace(layout, file=file)


def typed(name: str, type_name: str, size: int) -> Member:
    return replace(scalar(name, size), type=type_name)


def test_a_record_that_others_begin_with_is_told() -> None:
    base = struct("base", A, B)
    found = limits(base, struct("first", held("base", base), C), struct("behind", C, held("base", base)))
    assert told(found) == [
        "struct base is what others begin with: in struct first the other members move when it changes size"
    ]
    assert found.refuses((1, 0), (8, 0), 16) is None


def packed_around(inner: Layout) -> Layout:
    """A packed record with a byte before ``inner``."""
    around = struct("packed", scalar("tag", 1), held("inner", inner))
    moved = replace(around.members[1], offset=1)
    return replace(around, members=(around.members[0], moved), size=1 + inner.size)


def test_a_record_inside_a_packed_one_keeps_its_size() -> None:
    inner = struct("inner", scalar("x", 4), scalar("y", 4), A)
    found = limits(inner, packed_around(inner))
    assert (found.floor, found.ceiling) == (16, 16)
    refused = found.refuses((0, 2, 1), (0, 16, 8), 24)
    assert str(refused) == (
        "struct inner is limited in size: struct packed holds it, whose members are not where C's rules put them"
    )


def test_so_does_one_that_is_deeper_inside() -> None:
    inner = struct("inner", A, B)
    middle = struct("middle", held("inner", inner))
    assert limits(inner, middle, packed_around(middle)).ceiling == 16


def test_what_records_of_one_union_have_in_common_at_the_beginning_keeps_its_turn() -> None:
    one = struct("one", scalar("kind", 4), scalar("flags", 4), A)
    other = struct("other", scalar("type", 4), scalar("length", 4), B, C)
    short = struct("short", scalar("number", 2))
    either = union("either", held("one", one), held("other", other), held("short", short))
    found = limits(other, one, short, either)
    assert [list(found.places(atom)) for atom in range(4)] == [[0], [1], [2], [3]]
    assert told(found)[0] == (
        "type keeps its turn: struct one begins with the same members in the same union, "
        "so each may be read as the other"
    )
    assert [list(limits(short, one, other, either).places(0))] == [[0]]
    assert told(limits(short, one, other, either)) == []


def test_a_head_that_rcu_frees_by_stays_within_the_first_page() -> None:
    head = struct("callback_head", scalar("next"), scalar("func"))
    layout = struct("s", scalar("large", 5000), A, held("rcu", head))
    assert limits(layout, head).below == ()
    found = limits(struct("s", A, held("rcu", head), scalar("large", 5000)), head)
    assert found.refuses((0, 1, 2), (0, 8, 24), 5024) is None
    assert str(found.refuses((0, 2, 1), (0, 5008, 8), 5024)) == (
        "rcu keeps its offset: kfree_rcu() finds it within the first 4096 bytes only"
    )


def test_what_shares_the_place_of_the_free_pointer_is_told() -> None:
    pointer = struct("freeptr_t", scalar("v"))
    holder = union("", A, held("freeptr", pointer))
    layout = struct("s", B, held("", holder))
    assert told(limits(layout, holder, pointer)) == [
        (
            "a shares its place: the allocator's free pointer lies in it once an object is free, "
            "when RCU readers may still look"
        )
    ]


def test_a_record_for_programs_is_not_rearranged() -> None:
    layout = declared(struct("s", A, B), "include/uapi/linux/stat.h")
    assert unmovable(layout, table(layout)) == (
        "include/uapi/linux/stat.h declares it, so programs rely on its offsets"
    )
    with pytest.raises(NothingToSuggest, match="struct s cannot be rearranged: include/uapi/"):
        subject(meeting(layout, "a", "b"), table(layout))


def test_a_record_of_a_system_header_is_not_rearranged() -> None:
    layout = declared(struct("s", A, B), "/usr/include/stdio.h")
    assert unmovable(layout, table(layout)) == "/usr/include/stdio.h declares it, which other programs share"


def test_a_record_of_fixed_byte_order_is_not_rearranged() -> None:
    address = struct("address", typed("word", "__be32", 4))
    layout = struct("header", typed("port", "__be16", 2), scalar("kind", 1), held("to", address))
    assert unmovable(layout, table(layout, address)) is not None
    mixed = struct("header", typed("port", "__be16", 2), scalar("count", 4))
    assert unmovable(mixed, table(mixed)) is None
    pointer = replace(scalar("next"), category=MemberCategory.POINTER)
    queued = struct("header", typed("port", "__be16", 2), pointer)
    assert unmovable(queued, table(queued)) is None


def test_bytes_alone_have_no_order() -> None:
    layout = struct("s", scalar("a", 1), scalar("b", 1))
    assert unmovable(layout, table(layout)) is None


def test_records_over_a_page_frame_are_not_rearranged() -> None:
    page, folio = struct("page", A, B), struct("folio", A, B)
    assert unmovable(page, table(page, folio)) is not None
    assert unmovable(page, table(page)) is None


def test_a_record_that_a_compiler_plugin_has_shuffled_is_not_rearranged() -> None:
    layout = struct("s", replace(A, line=9), replace(B, line=8))
    assert unmovable(layout, table(layout)) == (
        "its members are not in the order of their declarations: a compiler plugin has shuffled them"
    )


def test_what_entry_code_fills_is_not_rearranged() -> None:
    layout = declared(struct("pt_regs", A, B), "./arch/x86/include/asm/ptrace.h")
    assert unmovable(layout, table(layout)) == "entry code or the CPU knows its offsets"


def test_what_is_known_of_linux_binds_its_own_records_only() -> None:
    kernels = declared(struct("bio", A, scalar("bi_max_vecs", 2)), "include/linux/blk_types.h")
    assert [str(one.kind) for one in linux_facts(kernels)] == ["wall"]
    assert linux_facts(declared(kernels, "music/bio.h")) == ()
    assert linux_facts(replace(kernels, file=None)) == ()


def test_a_finding_of_a_record_of_linux_is_answered_within_what_is_known() -> None:
    layout = declared(struct("bio", A, scalar("bi_max_vecs", 8), B, C), "/src/linux/include/linux/blk_types.h")
    target = subject(meeting(layout, "a", "b"), table(layout), (), NO_PREMISES)
    assert [list(target.freedom.places(atom)) for atom in range(4)] == [[0], [1], [2, 3], [2, 3]]
