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


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (declared("include/uapi/linux/stat.h"), UAPI),
        (declared("/usr/include/stdio.h"), "/usr/include/stdio.h declares it, which other programs share"),
        (declared("./arch/x86/include/asm/ptrace.h", "pt_regs"), "entry code or the CPU knows its offsets"),
        (
            struct("s", replace(A, line=9), replace(B, line=8)),
            "its members are not in the order of their declarations: a compiler plugin has shuffled them",
        ),
        (struct("header", PORT, scalar("kind", 1), held("to", ADDRESS)), "byte order"),
        (struct("header", PORT, scalar("count", 4)), None),
        (struct("header", PORT, POINTER), None),
        (struct("s", scalar("a", 1), scalar("b", 1)), None),
        (struct("page", A, B), None),
    ],
    ids=(
        "programs",
        "system header",
        "entry code",
        "shuffled",
        "network",
        "mixed",
        "queued",
        "bytes",
        "no kernel's page",
    ),
)
def test_a_record_whose_offsets_others_know_is_not_rearranged(layout: Layout, reason: str | None) -> None:
    found = unmovable(layout, table(layout, ADDRESS))
    assert found is None if reason is None else reason in (found or "")


def test_records_over_a_page_frame_are_not_rearranged() -> None:
    page, folio = struct("page", A, B), struct("folio", A, B)
    assert unmovable(page, table(page, folio)) is not None


def test_a_finding_of_such_a_record_is_refused() -> None:
    layout = declared("include/uapi/linux/stat.h")
    with pytest.raises(NothingToSuggest, match="struct s cannot be rearranged: include/uapi/"):
        subject(meeting(layout, "a", "b"), table(layout))


def test_what_is_known_of_linux_binds_its_own_records_only() -> None:
    bio = declared("/src/linux/include/linux/blk_types.h", "bio", A, scalar("bi_max_vecs", 8), B, C)
    assert [str(one.kind) for one in linux_facts(bio)] == ["wall"]
    assert [linux_facts(replace(bio, file=file)) for file in ("music/bio.h", None)] == [(), ()]
    target = subject(meeting(bio, "a", "b"), table(bio), (), NO_PREMISES)
    assert [list(target.freedom.places(atom)) for atom in range(4)] == [[0], [1], [2, 3], [2, 3]]
