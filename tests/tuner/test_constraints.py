# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout and the records around it forbid: what moves as one, what stays, and how large it may become."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import bits, flexible, held, meeting, scalar, struct, table, union

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.placement import atoms, unmovable
from linesmith.analyzer.model import FactKind, Layout, Member, MemberCategory, SlabMachine, SourceFact, SourceFacts
from linesmith.analyzer.slab.allocation import Kernel, cache_of
from linesmith.tuner.constraints.elsewhere import facts_of
from linesmith.tuner.constraints.freedom import NO_PREMISES, Freedom, Premises
from linesmith.tuner.constraints.rules import freedom
from linesmith.tuner.propose.subject import subject

A, B, C, D = scalar("a"), scalar("b"), scalar("c"), scalar("d")
FIRST, LAST, ALIGNED = "stays first", "stays last", "keeps its alignment"
BASE, ATOMIC = struct("base", A, B), struct("atomic_t", scalar("counter", 4))
OPEN, PAD, EMPTY = struct("open", A, flexible("rest")), struct("memcg_padding", align=64), struct("lockdep_map")


def marker(name: str) -> Member:
    return replace(scalar(name, 1), size=0, dimensions=(0,))


def limits(layout: Layout, *inner: Layout) -> Freedom:
    layouts = table(layout, *inner)
    return freedom(layout, atoms(layout, layouts), layouts)


def test_two_runs_of_bit_fields_do_not_come_side_by_side() -> None:
    layout = struct("s", A, bits("x", 3), B, bits("y", 4), C)
    free = limits(layout)
    forbidden = str(free.refuses((0, 2, 1, 3, 4), (0,) * 5, layout.size))
    assert forbidden.startswith("x stays apart from other bit-fields: beside other bit-fields it would share memory")
    assert free.refuses((0, 1, 2, 4, 3), (0,) * 5, layout.size) is None


@pytest.mark.parametrize(
    ("members", "places", "kinds"),
    [
        pytest.param((A, B, C), [[0, 1, 2]] * 3, [], id="every place is open, the first one of a pointer too"),
        pytest.param((held("base", BASE), A, B), [[0], [1, 2], [1, 2]], [("base", FIRST)], id="code may cast to it"),
        pytest.param((held("refs", ATOMIC), A), [[0, 1]] * 2, [], id="a counter is no base"),
        pytest.param((A, B, flexible("rest")), [[0, 1], [0, 1], [2]], [("rest", LAST)], id="a flexible array"),
        pytest.param((B, held("inside", OPEN)), [[0], [1]], [("inside", LAST)], id="a record that ends in one"),
        pytest.param(
            (A, scalar("t", 8, dimensions=(1,))), [[0], [1]], [("t", LAST)], id="an array of one may be longer"
        ),
        pytest.param((A, B, marker("mark"), C, D), [[0, 1], [0, 1], [2], [3, 4], [3, 4]], None, id="a marker"),
        pytest.param((A, held("_pad1_", PAD), B, C), [[0], [1], [2, 3], [2, 3]], None, id="a padding put there"),
        pytest.param((A, held("dep_map", EMPTY), B), [[0, 1, 2]] * 3, None, id="a lock compiled out is no marker"),
        pytest.param((A, scalar("lock", 4, align=64)), [[0, 1]] * 2, [("lock", ALIGNED)], id="a large alignment"),
    ],
)
def test_the_places_that_are_open_to_each(
    members: tuple[Member, ...], places: list[list[int]], kinds: list[tuple[str, str]] | None
) -> None:
    found = limits(struct("s", *members), BASE, ATOMIC, OPEN, PAD, EMPTY)
    assert [list(found.places(atom)) for atom in range(len(members))] == places
    assert kinds is None or [(one.member, one.kind) for one in found.constraints] == kinds


KERNEL = Kernel(SlabMachine(cpus=8, release=(6, 12)))
LARGE_PAGES = Kernel(SlabMachine(page_bytes=16384))


def record(size: int, name: str = "s") -> Layout:
    return struct(name, scalar("bytes", size))


@pytest.mark.parametrize(
    ("size", "kernel", "growth", "fact", "limits"),
    [
        pytest.param(40, None, None, None, [], id="a record of a program is not limited"),
        pytest.param(40, None, 24, None, [64], id="it may grow by what is allowed"),
        pytest.param(40, KERNEL, 0, None, [40], id="that of a kernel too"),
        pytest.param(4000, KERNEL, None, None, [4096], id="what fits into a page still must"),
        pytest.param(4104, KERNEL, None, None, [], id="what is larger than a page need not"),
        pytest.param(4000, LARGE_PAGES, 8, FactKind.PAGE, [16384, 4008], id="a page is that of the machine"),
        pytest.param(200, KERNEL, None, FactKind.SLAB, [256, 4096], id="the class of kmalloc"),
        pytest.param(40, None, None, FactKind.SLAB, [40], id="outside a kernel there are no slabs to fill"),
    ],
)
def test_how_large_a_record_may_become(
    size: int, kernel: Kernel | None, growth: int | None, fact: FactKind | None, limits: list[int]
) -> None:
    layout = record(size)
    facts = (SourceFact(fact, (), "many of them"),) if fact else ()
    premises = Premises(SourceFacts((("s", facts),)), kernel, growth)
    assert [one.bytes for one in facts_of(layout, premises, table(layout))] == limits


@pytest.mark.parametrize(("size", "name", "pointer"), [(176, "vm_area_struct", 88), (700, "ext4_inode_info", 704)])
def test_a_record_may_use_the_room_in_its_slabs(size: int, name: str, pointer: int) -> None:
    """Behind an object the free pointer takes room, too."""
    layout = record(size, name)
    many = SourceFacts(((name, (SourceFact(FactKind.SLAB, (), "many of them"),)),))
    room = facts_of(layout, Premises(many, KERNEL), table(layout))[0].bytes or 0
    now, full, over = (cache_of(record(one, name), KERNEL).geometry for one in (size, room, room + 8))
    assert now.objects == full.objects > over.objects
    assert now.free_pointer == pointer


def told(found: Freedom) -> list[str]:
    return [str(one) for one in found.constraints]


def declared(file: str, name: str = "s", *members: Member) -> Layout:
    return replace(struct(name, *(members or (A, B))), file=file)


def typed(name: str, type_name: str, size: int) -> Member:
    return replace(scalar(name, size), type=type_name)


def test_a_record_that_others_begin_with_is_told_and_may_change() -> None:
    base = struct("base", A, B)
    found = limits(base, struct("first", held("base", base), C), struct("behind", C, held("base", base)))
    sentence = "struct base is what others begin with: in struct first the other members move when it changes size"
    assert told(found) == [sentence]
    assert found.refuses((1, 0), (8, 0), 16) is None


def packed_around(inner: Layout) -> Layout:
    """A packed record with a byte before ``inner``."""
    around = struct("packed", scalar("tag", 1), held("inner", inner))
    moved = replace(around.members[1], offset=1)
    return replace(around, members=(around.members[0], moved), size=1 + inner.size)


def test_a_record_inside_a_packed_one_keeps_its_size_however_deep_inside() -> None:
    inner = struct("inner", scalar("x", 4), scalar("y", 4), A)
    found = limits(inner, packed_around(inner))
    assert (found.floor, found.ceiling) == (16, 16)
    assert str(found.refuses((0, 2, 1), (0, 16, 8), 24)) == (
        "struct inner is limited in size: struct packed holds it, whose members are not where C's rules put them"
    )
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
    assert told(limits(short, one, other, either)) == []


def test_a_head_that_rcu_frees_by_stays_within_the_first_page() -> None:
    head = struct("callback_head", scalar("next"), scalar("func"))
    beyond = struct("s", scalar("large", 5000), A, held("rcu", head))
    assert limits(beyond, head).below == ()
    found = limits(struct("s", A, held("rcu", head), scalar("large", 5000)), head)
    assert found.refuses((0, 1, 2), (0, 8, 24), 5024) is None
    said = "rcu keeps its offset: kfree_rcu() finds it within the first 4096 bytes only"
    assert str(found.refuses((0, 2, 1), (0, 5008, 8), 5024)) == said


def test_what_shares_the_place_of_the_free_pointer_is_told() -> None:
    pointer = struct("freeptr_t", scalar("v"))
    holder = union("", A, held("freeptr", pointer))
    (only,) = told(limits(struct("s", B, held("", holder)), holder, pointer))
    assert only == (
        "a shares its place: the allocator's free pointer lies in it once an object is free, "
        "when RCU readers may still look"
    )


ADDRESS = struct("address", typed("word", "__be32", 4))
POINTER = replace(scalar("next"), category=MemberCategory.POINTER)
PORT = typed("port", "__be16", 2)
UAPI = "include/uapi/linux/stat.h declares it, so programs rely on its offsets"


SHUFFLED = struct("s", replace(A, line=9), replace(B, line=8))
HEADER = struct("header", PORT, scalar("kind", 1), held("to", ADDRESS))


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        pytest.param(declared("include/uapi/linux/stat.h"), UAPI, id="programs"),
        pytest.param(declared("/usr/include/stdio.h"), "/usr/include/stdio.h declares it, which other programs share"),
        pytest.param(declared("./arch/x86/include/asm/ptrace.h", "pt_regs"), "entry code or the CPU knows its offsets"),
        pytest.param(SHUFFLED, "its members are not in the order of their declarations: a compiler plugin"),
        pytest.param(HEADER, "byte order", id="network"),
        pytest.param(struct("header", PORT, scalar("count", 4)), None, id="mixed"),
        pytest.param(struct("header", PORT, POINTER), None, id="queued"),
        pytest.param(struct("s", scalar("a", 1), scalar("b", 1)), None, id="bytes"),
        pytest.param(struct("page", A, B), None, id="no kernel's page"),
    ],
)
def test_a_record_whose_offsets_others_know_is_not_rearranged(layout: Layout, reason: str | None) -> None:
    found = unmovable(layout, table(layout, ADDRESS))
    assert found is None if reason is None else reason in (found or "")


def test_records_over_a_page_frame_are_not_rearranged() -> None:
    page, folio = struct("page", A, B), struct("folio", A, B)
    assert unmovable(page, table(page, folio)) is not None
    layout = declared("include/uapi/linux/stat.h")
    with pytest.raises(NothingToSuggest, match="struct s cannot be rearranged: include/uapi/"):
        subject(meeting(layout, "a", "b"), table(layout))


def test_what_is_known_of_linux_binds_its_own_records_only() -> None:
    bio = declared("/src/linux/include/linux/blk_types.h", "bio", A, scalar("bi_max_vecs", 8), B, C)
    for file, last in ((bio.file, [2, 3]), ("music/bio.h", [0, 1, 2, 3]), (None, [0, 1, 2, 3])):
        elsewhere = replace(bio, file=file)
        target = subject(meeting(elsewhere, "a", "b"), table(elsewhere), (), NO_PREMISES)
        assert list(target.freedom.places(3)) == last
