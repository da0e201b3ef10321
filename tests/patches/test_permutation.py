# SPDX-License-Identifier: GPL-2.0-or-later
"""Members brought into an order that is wanted, and back: one oddity per test."""

from __future__ import annotations

import pytest
from patch_cases import FILE, text

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import RefusalCode
from linesmith.patches.permutation import Permuted, blocks, permuted
from linesmith.patches.pieces import Origin
from linesmith.patches.records import records_named


def ordered(source: bytes, order: str) -> Permuted:
    (record,) = records_named(source, "s")
    return permuted(Origin(source, FILE), record, order.split())


def there_and_back(source: bytes, order: str, before: str) -> bytes:
    """The file in the new order, once it is known that the old order gives the old bytes."""
    there = ordered(source, order)
    (record,) = records_named(there.source, "s")
    assert permuted(Origin(there.source, FILE), record, before.split(), there.undo).source == source
    return there.source


def refusal(source: bytes, order: str) -> RefusalCode:
    with pytest.raises(EditRefused) as refused:
        ordered(source, order)
    return refused.value.refusal.code


def test_members_change_places_while_blank_lines_and_sections_stay() -> None:
    source = text("""
        struct s {
            int a;\t/* the first */

            /* --- statistics --- */

            /* counts */
            long b;
            char c;
        };
    """)
    assert there_and_back(source, "c a b", "a b c") == text("""
        struct s {
            char c;

            /* --- statistics --- */

            int a;\t/* the first */
            /* counts */
            long b;
        };
    """)


def test_a_block_that_is_not_compiled_stays() -> None:
    source = text("""
        struct s {
            int a;
        #ifdef CONFIG_X
            int x;
        #endif
            int b;
            int c;
        };
    """)
    assert there_and_back(source, "c a b", "a b c") == text("""
        struct s {
            int c;
        #ifdef CONFIG_X
            int x;
        #endif
            int a;
            int b;
        };
    """)


def test_a_block_moves_whole_and_its_members_change_places_in_it() -> None:
    source = text("""
        struct s {
            int a;
        #ifdef CONFIG_X
            int x;
            int y;
        #endif
            int b;
        };
    """)
    assert there_and_back(source, "b y x a", "a x y b") == text("""
        struct s {
            int b;
        #ifdef CONFIG_X
            int y;
            int x;
        #endif
            int a;
        };
    """)
    assert refusal(source, "x a y b") is RefusalCode.CONDITIONAL


def test_a_block_whose_arms_declare_the_same_members_moves_as_it_is() -> None:
    source = text("""
        struct s {
            int a;
        #ifdef BIG
            char x;
            char y;
        #else
            char y;
            char x;
        #endif
            int b;
        };
    """)
    assert there_and_back(source, "b y x a", "a y x b") == source.replace(b"a;", b"-;").replace(b"b;", b"a;").replace(
        b"-;", b"b;"
    )


def test_members_that_a_macro_renames_are_found() -> None:
    source = text("""
        struct s {
            int a;
            struct rcu_head rcu_head;
            union {
                DECLARE_FLEX_ARRAY(char, value);
            };
        };
    """)
    order = there_and_back(source, "callback_head a __empty_value", "a callback_head __empty_value")
    assert order.startswith(b"struct s {\n\tstruct rcu_head rcu_head;\n\tint a;\n\tunion {\n")


def test_a_group_moves_whole_and_its_members_change_places_in_it() -> None:
    source = text("""
        struct s {
            int a;
            __cacheline_group_begin(fast);
            int x;
            union {
                int y;
                long z;
            };
            __cacheline_group_end(fast);
            int b;
        };
    """)
    begin, end = "__cacheline_group_begin__fast", "__cacheline_group_end__fast"
    there = there_and_back(source, f"b {begin} y x {end} a", f"a {begin} x y {end} b")
    assert there.startswith(b"struct s {\n\tint b;\n\t__cacheline_group_begin(fast);\n\tunion {\n")
    assert refusal(source, f"a {begin} x y b {end}") is RefusalCode.GROUP


def test_bit_fields_that_a_block_divides_stay_around_it() -> None:
    source = text("""
        struct s {
            int a;
            int b : 1;
        #ifdef CONFIG_X
            int x : 1;
        #endif
            int c : 1;
        };
    """)
    assert there_and_back(source, "b c a", "a b c") == text("""
        struct s {
            int b : 1;
        #ifdef CONFIG_X
            int x : 1;
        #endif
            int c : 1;
            int a;
        };
    """)


def test_a_declaration_of_several_members_is_taken_apart_where_it_must_be() -> None:
    source = text("""
        struct s {
            int a, *b, c[3]; /* all */
            long d;
        };
    """)
    assert there_and_back(source, "d a b c", "a b c d") == text("""
        struct s {
            long d;
            int a, *b, c[3]; /* all */
        };
    """)
    assert there_and_back(source, "c d a b", "a b c d") == text("""
        struct s {
            int c[3];
            long d;
            int a, *b; /* all */
        };
    """)


def test_each_line_of_a_declaration_keeps_its_comment() -> None:
    source = text("""
        struct s {
            unsigned int a,\t/* one */
                    /* about two */
                    b __aligned(8),\t/* two */
                    c;\t/* three */
        };
    """)
    assert there_and_back(source, "c b a", "a b c") == text("""
        struct s {
            unsigned int c;\t/* three */
            /* about two */
            unsigned int b __aligned(8);\t/* two */
            unsigned int a;\t/* one */
        };
    """)


def test_what_a_declaration_defines_is_not_defined_twice() -> None:
    source = text("""
        struct s {
            struct { int x; } a, b;
            int c;
        };
    """)
    assert there_and_back(source, "c a b", "a b c").startswith(b"struct s {\n\tint c;\n")
    assert refusal(source, "a c b") is RefusalCode.JOINT


def test_entries_of_the_comment_above_follow() -> None:
    source = text("""
        /**
         * struct s - a thing
         * @a: the first
         * @b: the second,
         *     which is long
         */
        struct s {
            int a;
            int b;
        };
    """)
    assert there_and_back(source, "b a", "a b") == text("""
        /**
         * struct s - a thing
         * @b: the second,
         *     which is long
         * @a: the first
         */
        struct s {
            int b;
            int a;
        };
    """)


def test_an_anonymous_struct_goes_by_a_member_and_its_own_members_have_an_order() -> None:
    source = text("""
        struct s {
            struct {
                int a;
                int b;
            };
            int c;
        };
    """)
    assert there_and_back(source, "b a", "a b").index(b"b") < source.index(b"b")
    assert there_and_back(source, "c a", "a c").startswith(b"struct s {\n\tint c;\n\tstruct {\n\t\tint a;\n")


def test_a_comment_that_begins_below_its_member_moves_with_it() -> None:
    source = text("""
        struct s {
            DECLARE_HASHTABLE(a, 6);
                            /* all of them */
            int b;\t/* one */
        };
    """)
    assert there_and_back(source, "b a", "a b") == text("""
        struct s {
            int b;\t/* one */
            DECLARE_HASHTABLE(a, 6);
                            /* all of them */
        };
    """)


def test_no_member_passes_a_mark() -> None:
    source = text("""
        struct s {
            int a;
            int b;
            /* private: */
            int c;
            int d;
        };
    """)
    assert b"\tint b;\n\tint a;\n\t/* private: */\n\tint d;\n\tint c;\n" in there_and_back(source, "b a d c", "a b c d")
    assert refusal(source, "c a b d") is RefusalCode.MARKER


def test_what_a_macro_declares_is_not_found() -> None:
    assert (
        refusal(text("struct s {\n    int a;\n    SOME_MEMBERS\n    int c;\n};\n"), "b c a") is RefusalCode.NOT_WRITTEN
    )


def test_members_that_only_move_together_are_told() -> None:
    source = text("""
        struct s {
            int a, b;
        #ifdef CONFIG_X
            int c;
            union {
                int d;
                long x;
            };
        #endif
            int e : 1;
            int f : 2;
        };
    """)
    (record,) = records_named(source, "s")
    assert blocks(source, record) == (("c", "d", "x"), ("e", "f"))
