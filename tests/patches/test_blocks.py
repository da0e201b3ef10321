# SPDX-License-Identifier: GPL-2.0-or-later
"""Moves of members in blocks that move as one: what happens inside, and what is refused."""

from __future__ import annotations

import pytest
from patch_cases import atoms_of, behind, edited, text

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import Move, MoveKind, RefusalCode


def test_the_front_is_before_an_anonymous_union_and_its_comment() -> None:
    source = b"struct s {\n\t/* one of */\n\tunion {\n\t\tint a;\n\t};\n\tint b;\n};\n"
    assert edited(source, [behind("b", None)], "b").startswith(b"struct s {\n\tint b;\n\t/* one of */\n\tunion {\n")


def test_an_if_block_moves_whole() -> None:
    source = text("""
        struct s {
        #ifdef CONFIG_A
            int a;\t/* only sometimes */
        #endif
            int b;
        };
    """)
    assert edited(source, [behind("a", "b")], "b a") == text("""
        struct s {
            int b;
        #ifdef CONFIG_A
            int a;\t/* only sometimes */
        #endif
        };
    """)


def test_a_member_goes_behind_the_whole_if_block_that_holds_its_neighbour() -> None:
    source = b"struct s {\n\tint a;\n#ifdef A\n\tint b;\n#endif\n\tint c;\n};\n"
    assert (
        edited(source, [behind("a", "b")], "b a c")
        == b"struct s {\n#ifdef A\n\tint b;\n#endif\n\tint a;\n\tint c;\n};\n"
    )


def test_members_of_an_if_block_do_not_part() -> None:
    source = b"struct s {\n#ifdef A\n\tint a;\n\tint b;\n#endif\n\tint c;\n};\n"
    with pytest.raises(EditRefused, match=r"one\.h:2: `a` is in an #if block with `b`"):
        edited(source, [behind("a", "c")], "b c a")


def test_members_of_one_arm_change_places_in_it() -> None:
    source = text("""
        struct s {
        #ifdef A
            int a;\t/* one */
            int b;
        #else
            int x;
            int y;
        #endif
            int c;
        };
    """)
    assert edited(source, [behind("a", "b")], "b a c") == text("""
        struct s {
        #ifdef A
            int b;
            int a;\t/* one */
        #else
            int x;
            int y;
        #endif
            int c;
        };
    """)
    assert b"\tint y;\n\tint x;\n" in edited(source, [behind("x", "y")], "y x c")


def test_members_that_two_arms_declare_do_not_change_places_in_one_of_them() -> None:
    source = b"struct s {\n#ifdef A\n\tint a;\n\tint b;\n#else\n\tint b;\n\tint a;\n#endif\n\tint c;\n};\n"
    with pytest.raises(EditRefused, match=r"one\.h:2: `a` and `b` are in an #if block and move as one"):
        edited(source, [behind("a", "b")], "b a c")


def test_members_of_two_arms_do_not_change_places() -> None:
    source = b"struct s {\n#ifdef A\n\tint a;\n#else\n\tint b;\n#endif\n\tint c;\n};\n"
    with pytest.raises(EditRefused, match=r"one\.h:2: `a` and `b` are in an #if block and move as one"):
        edited(source, [behind("a", "b")], "b a c")


def test_a_member_comes_to_the_front_of_its_arm_when_that_is_the_place_wanted() -> None:
    source = b"struct s {\n\tint z;\n#ifdef A\n\tint a;\n\tint b;\n#endif\n\tint c;\n};\n"
    moved = b"struct s {\n\tint z;\n#ifdef A\n\tint b;\n\tint a;\n#endif\n\tint c;\n};\n"
    assert edited(source, [behind("b", "z")], "z b a c") == moved


def test_a_member_comes_to_the_front_of_the_record_within_its_arm() -> None:
    source = b"struct s {\n#ifdef A\n\tint a;\n\tint b;\n#endif\n\tint c;\n};\n"
    moved = b"struct s {\n#ifdef A\n\tint b;\n\tint a;\n#endif\n\tint c;\n};\n"
    assert edited(source, [behind("b", None)], "b a c") == moved


def test_a_member_goes_into_no_if_block() -> None:
    source = b"struct s {\n\tint z;\n#ifdef A\n\tint a;\n\tint b;\n#endif\n};\n"
    with pytest.raises(EditRefused) as refused:
        edited(source, [behind("z", "a")], "a z b")
    assert (refused.value.refusal.code, refused.value.refusal.place) == (
        RefusalCode.CONDITIONAL,
        "include/linux/one.h:3",
    )


def test_a_member_that_the_configuration_leaves_out_may_come_along() -> None:
    source = b"struct s {\n#ifdef A\n\tint a;\n\tint unused;\n#endif\n\tint c;\n};\n"
    assert (
        edited(source, [behind("a", "c")], "c a")
        == b"struct s {\n\tint c;\n#ifdef A\n\tint a;\n\tint unused;\n#endif\n};\n"
    )


def test_bit_fields_move_as_one() -> None:
    source = b"struct s {\n\tint a:1;\n\tint b:2;\n\tint c;\n};\n"
    whole = Move(MoveKind.MOVE, "a", after="c", members=("a", "b"))
    assert edited(source, [whole], "c a b") == b"struct s {\n\tint c;\n\tint a:1;\n\tint b:2;\n};\n"
    with pytest.raises(EditRefused, match="`a` is in a run of bit-fields with `b`"):
        edited(source, [behind("a", "c")], "b c a")


def test_bit_fields_with_an_if_block_between_them_move_one_after_the_other() -> None:
    source = b"struct s {\n\tint a:1;\n#ifdef A\n\tint x:1;\n#endif\n\tint b:2;\n\tint c;\n};\n"
    whole = Move(MoveKind.MOVE, "a", after="c", members=("a", "b"))
    moved = edited(source, [whole], "c a b")
    assert moved == b"struct s {\n#ifdef A\n\tint x:1;\n#endif\n\tint c;\n\tint a:1;\n\tint b:2;\n};\n"


def test_runs_of_bit_fields_do_not_come_next_to_each_other() -> None:
    source = b"struct s {\n\tint a:1;\n\tint b;\n\tint c:1;\n\tint d;\n};\n"
    for move, order in ((behind("b", "d"), "a c d b"), (behind("a", "b"), "b a c d"), (behind("c", "a"), "a c b d")):
        with pytest.raises(EditRefused, match=r"the bit-fields `a` and `c` would come next to each other") as refused:
            edited(source, [move], order)
        assert refused.value.refusal.place.endswith(":4")


def test_runs_that_are_next_to_each_other_may_stay_so() -> None:
    source = b"struct s {\n\tint a:1;\n\n\t/* others */\n\n\tint b:1;\n\tint c;\n\tint d;\n};\n"
    assert b"\tint b:1;\n\tint d;\n\tint c;\n" in edited(source, [behind("c", "d")], "a b d c")


def test_an_anonymous_union_moves_by_a_name_inside() -> None:
    source = b"struct s {\n\tunion {\n\t\tint a;\n\t\tint b;\n\t};\n\tint c;\n};\n"
    assert (
        edited(source, [behind("a", "c")], "c")
        == b"struct s {\n\tint c;\n\tunion {\n\t\tint a;\n\t\tint b;\n\t};\n};\n"
    )


def test_members_of_an_anonymous_struct_move_inside_it() -> None:
    source = b"struct s {\n\tstruct {\n\t\tint a;\n\t\tint b;\n\t};\n\tint c;\n};\n"
    assert (
        edited(source, [behind("a", "b")], "b a")
        == b"struct s {\n\tstruct {\n\t\tint b;\n\t\tint a;\n\t};\n\tint c;\n};\n"
    )


TAGGED = """
    struct head {
        int a;
        union {
            int b;
        };
    };
    struct s {
        struct head;
        int c;
    };
"""


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_part_with_a_tag_moves_by_a_name_inside(name: str) -> None:
    source = text(TAGGED)
    assert edited(source, [behind(name, "c")], "c").endswith(b"struct s {\n\tint c;\n\tstruct head;\n};\n")


def test_members_of_a_part_with_a_tag_stay_with_their_record() -> None:
    with pytest.raises(EditRefused, match="`a` and `b` are in a declaration and move as one"):
        edited(text(TAGGED), [behind("a", "b")], "b a")


def test_the_members_of_a_part_that_another_file_declares_are_not_known() -> None:
    with pytest.raises(EditRefused, match="no declaration of `a` is written in the body"):
        edited(b"struct s {\n\tstruct head;\n\tint c;\n};\n", [behind("a", "c")], "c")


def test_a_part_that_holds_itself_ends() -> None:
    source = b"struct s {\n" + 40 * b"\tstruct s;\n" + b"\tint c;\n};\n"
    assert {one.inner for one in atoms_of(source)} == {("c",), ()}


def test_a_cacheline_group_moves_as_one() -> None:
    source = text("""
        struct s {
            __cacheline_group_begin(g);
            int a;
            __cacheline_group_end(g);
            int b;
        };
    """)
    assert edited(source, [behind("__cacheline_group_begin__g", "b")], "b a").startswith(
        b"struct s {\n\tint b;\n\t__cache"
    )
    with pytest.raises(EditRefused, match="`a` is in a cacheline group with"):
        edited(source, [behind("a", "b")], "__cacheline_group_begin__g __cacheline_group_end__g b a")


def test_members_of_a_cacheline_group_change_places_between_its_markers() -> None:
    source = text("""
        struct s {
            /* sent */
            __cacheline_group_begin(g);
            int a;
            int b;
            __cacheline_group_end(g);
        };
    """)
    order = "__cacheline_group_begin__g b a __cacheline_group_end__g"
    swapped = source.replace(b"\tint a;\n\tint b;\n", b"\tint b;\n\tint a;\n")
    assert edited(source, [behind("a", "b")], order) == swapped
    assert edited(source, [behind("b", "__cacheline_group_begin__g")], order) == swapped


@pytest.mark.parametrize("fence", ["/* private: mine */", "randomized_struct_fields_start"])
def test_no_member_passes_a_fence(fence: str) -> None:
    source = f"struct s {{\n\tint a;\n\t{fence}\n\tint b;\n}};\n".encode()
    with pytest.raises(EditRefused, match="`a` would pass a marker that members must not pass"):
        edited(source, [behind("a", "b")], "b a")
