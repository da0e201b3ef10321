# SPDX-License-Identifier: GPL-2.0-or-later
"""Moves of atoms in the source text: what is written, and what is refused with place and reason."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patch_cases import FILE, behind, candidate, edited, ordered, text

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import Move, MoveKind, RefusalCode
from linesmith.patches.edit import edit
from linesmith.patches.pieces import Origin
from linesmith.patches.records import records_named
from linesmith.patches.spelling import Spelling

PLAIN = text("""
    struct s {
        int a;\t/* one */

        /* two */
        int b;
        int c;
    };
""")


def test_a_member_moves_with_its_comments_and_nothing_else_changes() -> None:
    assert edited(PLAIN, [behind("b", "c")], "a c b") == text("""
        struct s {
            int a;\t/* one */

            int c;
            /* two */
            int b;
        };
    """)


def test_a_block_between_empty_lines_takes_one_along_so_that_no_two_meet() -> None:
    source = text("""
        struct s {
            int a;

        #ifdef B
            int b;
        #endif

            int c;
            int d;
        };
    """)
    assert edited(source, [behind("b", "c")], "a c b d") == text("""
        struct s {
            int a;

            int c;

        #ifdef B
            int b;
        #endif
            int d;
        };
    """)


def test_no_empty_line_is_left_in_front_of_the_closing_brace() -> None:
    source = text("""
        struct s {
            int a;
            int b;

            /* three */
            int c;
        };
    """)
    assert edited(source, [behind("c", "a")], "a c b") == text("""
        struct s {
            int a;

            /* three */
            int c;
            int b;
        };
    """)


def test_a_comment_that_heads_a_block_of_members_stays_with_it() -> None:
    source = text("""
        struct s {
            int z;

            /* statistics */
            int a;
            int b;
            int c;
        };
    """)
    assert edited(source, [behind("a", "z")], "z a b c") == text("""
        struct s {
            int z;
            int a;

            /* statistics */
            int b;
            int c;
        };
    """)


def test_a_comment_that_names_its_member_goes_with_it() -> None:
    source = b"struct s {\n\tint z;\n\n\t/* a counts */\n\tint a;\n\tint b;\n\tint c;\n};\n"
    moved = b"struct s {\n\tint z;\n\t/* a counts */\n\tint a;\n\n\tint b;\n\tint c;\n};\n"
    assert edited(source, [behind("a", "z")], "z a b c") == moved


def test_a_swap_leaves_the_headings_of_blocks() -> None:
    source = b"struct s {\n\t/* one */\n\tint a;\n\tint b;\n\tint c;\n\n\t/* two */\n\tint d;\n\tint e;\n\tint f;\n};\n"
    moved = edited(source, [Move(MoveKind.SWAP, "a", partner="d")], "d b c a e f")
    assert moved.split(b"\n")[1:3] + moved.split(b"\n")[6:8] == [
        b"\t/* one */",
        b"\tint d;",
        b"\t/* two */",
        b"\tint a;",
    ]


def test_a_member_moves_to_the_front() -> None:
    assert edited(PLAIN, [behind("c", None)], "c a b").startswith(b"struct s {\n\tint c;\n\tint a;\t/* one */\n")


def test_a_swap_exchanges_two_atoms() -> None:
    source = edited(PLAIN, [Move(MoveKind.SWAP, "a", partner="c")], "c b a")
    assert source == text("""
        struct s {
            int c;

            /* two */
            int b;
            int a;\t/* one */
        };
    """)


def test_moves_are_made_in_order() -> None:
    assert edited(PLAIN, [behind("a", "c"), behind("b", "a")], "c a b") == text("""
        struct s {

            int c;
            int a;\t/* one */
            /* two */
            int b;
        };
    """)


def test_a_place_is_that_of_the_file_as_it_was() -> None:
    source = b"struct s {\n\tint z;\n\t/* two\n\t * lines */\n\tint a;\n\tint b; int c;\n};\n"
    with pytest.raises(EditRefused, match=r"one\.h:6: `b`, `c` are on one line"):
        edited(source, [behind("a", None), behind("b", None)], "b a z c")


def test_a_declaration_of_several_names_is_split() -> None:
    source = b"struct s {\n\tstruct list_head\ta, *b, c[2];\t/* lists */\n\tint d;\n};\n"
    assert edited(source, [behind("b", "d")], "a c d b") == (
        b"struct s {\n\tstruct list_head\ta, c[2];\t/* lists */\n\tint d;\n\tstruct list_head\t*b;\n};\n"
    )


def test_the_first_of_several_names_is_split_off() -> None:
    source = b"struct s {\r\n\tint a, b;\r\n\tint c;\r\n};\r\n"
    assert edited(source, [behind("a", "c")], "b c a") == b"struct s {\r\n\tint b;\r\n\tint c;\r\n\tint a;\r\n};\r\n"


def test_names_on_several_lines_are_split() -> None:
    source = b"struct s {\n\tint a,\t/* one */\n\t    b;\t/* two */\n\tint c;\n};\n"
    moved = edited(source, [behind("a", "c")], "b c a")
    assert moved == b"struct s {\n\tint b;\t/* two */\n\tint c;\n\tint a;\t/* one */\n};\n"


def test_a_declaration_of_several_names_makes_room_for_a_member() -> None:
    source = b"struct s {\n\tint a, b, c;\t/* three */\n\tlong d;\n};\n"
    assert edited(source, [behind("d", "a")], "a d b c") == (
        b"struct s {\n\tint a;\n\tlong d;\n\tint b, c;\t/* three */\n};\n"
    )
    assert edited(source, [Move(MoveKind.SWAP, "b", partner="d")], "a d c b") == (
        b"struct s {\n\tint a;\t/* three */\n\tlong d;\n\tint c;\n\tint b;\n};\n"
    )


def test_members_of_a_record_defined_beside_them_are_not_split() -> None:
    source = b"struct s {\n\tstruct {\n\t\tint x;\n\t} a, b;\n\tint c;\n};\n"
    with pytest.raises(EditRefused, match=r"one\.h:2: `a` is declared together with `b`; give it a declaration"):
        edited(source, [behind("a", "c")], "b c a")


def test_a_packed_record_is_left_alone() -> None:
    with pytest.raises(EditRefused) as refused:
        edited(b"struct s {\n\tint a;\n\tint b;\n} __packed;\n", [behind("a", "b")], "b a")
    assert refused.value.refusal.code is RefusalCode.PACKED


def test_a_member_goes_by_the_name_that_a_macro_gives_it() -> None:
    source = b"struct s {\n\tint a;\n\tstruct rcu_head rcu_head;\n\tint b;\n};\n"
    moved = edited(source, [behind("callback_head", "b")], "a b callback_head")
    assert moved == b"struct s {\n\tint a;\n\tint b;\n\tstruct rcu_head rcu_head;\n};\n"
    assert b"\tstruct rcu_head rcu_head;\n\tint a;\n" in edited(
        source, [behind("a", "callback_head")], "callback_head a b"
    )


def test_a_member_of_macro_expansion_is_refused() -> None:
    source = b"struct s {\n\tint a;\n\tFIELDS(b, c)\n};\n"
    with pytest.raises(EditRefused, match=r"one\.h:1: no declaration of `b` is written in the body: a macro"):
        edited(source, [behind("b", None)], "b a")


def test_text_that_is_no_c_keeps_its_neighbours_in_place() -> None:
    source = b"struct s {\n\tint a;\n\tint = 3 3;\n\tint b;\n\tint c;\n};\n"
    with pytest.raises(EditRefused, match=r"one\.h:\d: this text is not plain C"):
        edited(source, [behind("a", "c")], "b c a")


def test_a_member_on_the_line_of_a_brace_is_refused() -> None:
    with pytest.raises(EditRefused, match="shares its line with a brace"):
        edited(b"struct s { int a;\n\tint b;\n};\n", [behind("a", "b")], "b a")


def test_a_tree_with_another_order_is_refused() -> None:
    with pytest.raises(EditRefused, match="orders the members of struct s in another way than the ELF file"):
        edited(PLAIN, [behind("a", "b")], "c b a")


def test_members_of_a_union_have_no_order() -> None:
    source = b"union s {\n\tint a;\n\tint b;\n};\n"
    (record,) = records_named(source, "s")
    with pytest.raises(EditRefused, match="order means nothing"):
        edit(Origin(source, FILE), record, candidate(ordered("a b"), ordered("b a"), [behind("a", "b")]))


def test_an_alignment_is_written_behind_the_declarator() -> None:
    source = b"struct s {\n\tchar a[4] __nonstring;\t/* x */\n};\n"
    move = Move(MoveKind.ALIGN, "a", align=64)
    assert (
        edited(source, [move], "a", Spelling({64: "__aligned(64)"}))
        == b"struct s {\n\tchar a[4] __nonstring __aligned(64);\t/* x */\n};\n"
    )


def test_an_alignment_of_one_of_several_names_is_its_own() -> None:
    aligned = [Move(MoveKind.ALIGN, "b", align=64), Move(MoveKind.ALIGN, "c", align=128)]
    text = edited(b"struct s {\n\tint *a, b, c;\n};\n", aligned, "a b c")
    assert text == (b"struct s {\n\tint *a, b __attribute__((aligned(64))), c __attribute__((aligned(128)));\n};\n")


def test_a_member_is_moved_out_of_its_declaration_and_aligned() -> None:
    moves = [behind("b", "c"), Move(MoveKind.ALIGN, "b", align=64), Move(MoveKind.ALIGN, "d", align=64)]
    text = edited(b"struct s {\n\tint a, b;\n\tint c;\n\tint d;\n};\n", moves, "a c b d", Spelling({64: "__hot"}))
    assert text == b"struct s {\n\tint a;\n\tint c;\n\tint b __hot;\n\tint d __hot;\n};\n"


def test_an_alignment_inside_an_anonymous_record_is_refused() -> None:
    with pytest.raises(EditRefused, match="cannot be aligned by itself"):
        edited(b"struct s {\n\tunion {\n\t\tint a;\n\t};\n};\n", [Move(MoveKind.ALIGN, "a", align=64)], "")


ENDINGS = st.sampled_from((b"\n", b"\r\n"))
SINGLE = (
    b"\tint {};",
    b"\t/* above {} \xff */%\tchar *{}[3];\t// beside",
    b"#ifdef A%\tlong {};%#else%\tint {};%#endif",
    b"\tunion {{ int x_{}; }} {};\t/* both%\t\t\t * lines */",
    b"  u8 {} __aligned(8);",
)


@given(
    st.lists(st.sampled_from(SINGLE), min_size=2, max_size=9),
    st.lists(st.booleans(), min_size=9, max_size=9),
    ENDINGS,
    st.data(),
)
def test_a_move_loses_no_byte(shapes: list[bytes], blanks: list[bool], ending: bytes, data: st.DataObject) -> None:
    names = [f"m{index}" for index in range(len(shapes))]
    rows = [
        shape.replace(b"{}", name.encode()).replace(b"{{", b"{").replace(b"}}", b"}").replace(b"%", ending)
        + ending * (1 + blank)
        for shape, name, blank in zip(shapes, names, blanks, strict=False)
    ]
    source = b"int before;" + ending + b"struct s {" + ending + b"".join(rows) + b"};" + ending + b"no end of line"
    member = data.draw(st.sampled_from(names))
    after = data.draw(st.sampled_from([None, *(name for name in names if name != member)]))
    order = [name for name in names if name != member]
    order.insert(0 if after is None else order.index(after) + 1, member)
    moved = edited(source, [behind(member, after)], " ".join(order))
    assert Counter(moved.split(b"\n")) == Counter(source.split(b"\n"))
    assert len(moved) == len(source)
    back = names[names.index(member) - 1] if member != names[0] else None
    assert edited(moved, [behind(member, back)], " ".join(names)).replace(ending, b"") == source.replace(ending, b"")
