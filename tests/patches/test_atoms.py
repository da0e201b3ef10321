# SPDX-License-Identifier: GPL-2.0-or-later
"""How the lines of a record are cut into atoms: one oddity per test."""

from __future__ import annotations

import pytest
from patch_cases import atoms_of, text

from linesmith.patches.atoms import AtomKind


def lines(source: bytes) -> list[str]:
    """The text of each atom."""
    return [source[atom.start : atom.end].decode() for atom in atoms_of(source)]


def names(source: bytes) -> list[tuple[str, ...]]:
    return [atom.names for atom in atoms_of(source)]


def test_a_declaration_with_its_comment_is_one_atom() -> None:
    source = text("""
        struct s {
            int a;\t/* the first */
            int b;\t// the second
        };
    """)
    assert lines(source) == ["\tint a;\t/* the first */\n", "\tint b;\t// the second\n"]


def test_a_comment_right_above_belongs_to_the_declaration() -> None:
    source = text("""
        struct s {
            /* counts
             * things */
            // one by one
            int a;
            int b;
        };
    """)
    assert lines(source) == ["\t/* counts\n\t * things */\n\t// one by one\n\tint a;\n", "\tint b;\n"]


def test_a_comment_with_a_blank_line_behind_it_belongs_to_no_member() -> None:
    source = text("""
        struct s {
            /* read mostly */

            int a;
        };
    """)
    assert [atom.kind for atom in atoms_of(source)] == [AtomKind.LOOSE, AtomKind.DECLARATION]
    assert lines(source)[1] == "\tint a;\n"


@pytest.mark.parametrize(
    "comment",
    [
        "/* read-mostly fields */",
        "/* -- hardware -- */",
        "/* The following two are written by the interrupt */",
        "/* These are copied to each child. */",
        "/* Members protected by the lock: */",
        "/*\n\t * Fields below are for internal use.\n\t */",
    ],
)
def test_a_comment_about_several_members_belongs_to_none(comment: str) -> None:
    source = f"struct s {{\n\t{comment}\n\tint a;\n\tint b;\n}};\n".encode()
    assert lines(source)[1:] == ["\tint a;\n", "\tint b;\n"]


@pytest.mark.parametrize(
    "comment",
    [
        "/* Number of 32-bit fields filled in */",
        "/** @a: these are ours */",
        "/* protects the members of the list */",
        "/* The signal sent when the parent dies: */",
    ],
)
def test_a_comment_that_only_speaks_of_others_belongs_to_the_member_below(comment: str) -> None:
    source = f"struct s {{\n\t{comment}\n\tint a;\n\tint b;\n}};\n".encode()
    assert lines(source) == [f"\t{comment}\n\tint a;\n", "\tint b;\n"]


def test_a_trailing_comment_goes_on_below_as_far_to_the_right() -> None:
    source = text("""
        struct s {
            int a;\t\t/* begins here */
                    /* and ends here */
            int b;
        };
    """)
    assert names(source) == [("a",), ("b",)]
    assert lines(source)[0].endswith("/* and ends here */\n")


def test_a_comment_that_begins_below_a_declaration_belongs_to_it_by_its_column() -> None:
    source = b"struct s {\n\tDECLARE_HASHTABLE(busy, 6);\n\t\t\t\t\t/* busy workers */\n\tint b;\n};\n"
    assert lines(source) == ["\tDECLARE_HASHTABLE(busy, 6);\n\t\t\t\t\t/* busy workers */\n", "\tint b;\n"]


def test_a_trailing_block_comment_of_several_lines_stays_whole() -> None:
    source = text("""
        struct s {
            int a;\t/* begins here
                 * and ends here */
            int b;
        };
    """)
    assert lines(source) == ["\tint a;\t/* begins here\n\t\t * and ends here */\n", "\tint b;\n"]


def test_an_if_block_is_one_atom_with_the_names_of_all_arms() -> None:
    source = text("""
        struct s {
        #ifdef CONFIG_A
            int a;
        #elif defined(CONFIG_B)
            long a;
        #else
            int b[2];
        #endif
            int c;
        };
    """)
    first, second = atoms_of(source)
    assert (first.kind, first.names) == (AtomKind.CONDITIONAL, ("a", "b"))
    assert second.names == ("c",)


def test_nested_if_blocks_are_one_atom() -> None:
    source = text("""
        struct s {
        #if IS_ENABLED(CONFIG_A) && \\
            !defined(CONFIG_B)
            int a;
        #ifdef CONFIG_C
            int b;
        #endif
        #endif
            int c;
        };
    """)
    assert names(source) == [("a", "b"), ("c",)]


def test_bit_fields_in_a_row_are_one_atom() -> None:
    source = text("""
        struct s {
            unsigned int a:1;
            unsigned int b:2, c:3;
            unsigned int :0;
            unsigned int d:4;
            int e;
        };
    """)
    first, second = atoms_of(source)
    assert (first.kind, first.names) == (AtomKind.BIT_FIELDS, ("a", "b", "c", "d"))
    assert second.names == ("e",)


def test_two_declarations_on_one_line_are_one_atom() -> None:
    assert names(b"struct s {\n\tint a; int b;\n\tint c;\n};\n") == [("a", "b"), ("c",)]


def test_one_declaration_on_several_lines_is_one_atom() -> None:
    source = text("""
        struct s {
            int (*call)(struct s *self,
                    int (*inner)(void));
            int a,
                *b[2];
        };
    """)
    assert names(source) == [("call",), ("a", "b")]


def test_an_anonymous_union_is_one_atom_that_tells_what_is_inside() -> None:
    source = text("""
        struct s {
            union {
                int a;
                struct {
                    int b;
                };
            };
            struct { int hidden; } c;
        };
    """)
    first, second = atoms_of(source)
    assert (first.names, first.inner) == ((), ("a", "b"))
    assert (second.names, second.inner) == (("c",), ())


def test_kernel_attributes_do_not_hide_a_member() -> None:
    source = text("""
        struct s {
            struct list_head __rcu *a __guarded_by(&lock);
            int b ____cacheline_aligned_in_smp;
            char c[] __counted_by(b);
            _Atomic(int) d;
            u8 e __attribute__((aligned(8), packed));
            struct part f __part_alignment;
            struct part __g;
        } __randomize_layout;
    """)
    assert names(source) == [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("__g",)]


def test_macros_that_declare_a_member_are_known_by_its_name() -> None:
    source = text("""
        struct s {
            DECLARE_BITMAP(map, NBITS(3));
            CACHELINE_PADDING(_pad1_);
            ZONE_PADDING(_pad2_)
            DECLARE_FLEX_ARRAY(struct list_head, tail);
        };
    """)
    assert names(source) == [("map",), ("_pad1_",), ("_pad2_",), ("tail",)]


def test_an_unknown_macro_declares_the_only_argument_that_can_be_a_name() -> None:
    source = text("""
        struct s {
            int a;
            KABI_RESERVE(1)
            VENDOR_FIELD(int, b);
            RAW_FIELDS
            int c;
        };
    """)
    assert names(source) == [("a",), (), ("b",), (), ("c",)]


def test_struct_group_is_one_atom() -> None:
    source = text("""
        struct s {
            struct_group(both,
                int a;
                int b;
            );
            int c;
        };
    """)
    first, second = atoms_of(source)
    assert (first.names, first.inner, second.names) == ((), ("a", "b"), ("c",))


def test_a_cacheline_group_is_one_atom_with_its_markers() -> None:
    source = text("""
        struct s {
            int a;
            __cacheline_group_begin(hot);
            int b;

            int c;
            __cacheline_group_end(hot);
            int d;
        };
    """)
    group = atoms_of(source)[1]
    assert group.kind is AtomKind.GROUP
    assert group.names == ("__cacheline_group_begin__hot", "b", "c", "__cacheline_group_end__hot")


def test_private_and_public_markers_part_the_body() -> None:
    source = text("""
        struct s {
            int a;
            /* private: internal use */
            int b;
            /* public: */
            int c;
        };
    """)
    members = [atom for atom in atoms_of(source) if atom.names]
    a, b, c = (atom.region for atom in members)
    assert a == c != b


def test_a_randomized_range_parts_the_body() -> None:
    source = text("""
        struct s {
            int a;
            /* what may be shuffled */
            randomized_struct_fields_start
            int b;
            randomized_struct_fields_end
            int c;
        };
    """)
    regions = [atom.region for atom in atoms_of(source) if atom.names]
    assert len(set(regions)) == 3


def test_carriage_returns_stay_in_the_atom() -> None:
    source = b"struct s {\r\n\tint a;\r\n\tint b;\t/* x */\r\n};\r\n"
    assert lines(source) == ["\tint a;\r\n", "\tint b;\t/* x */\r\n"]


def test_text_that_is_no_c_is_told_apart() -> None:
    source = text("""
        struct s {
            int a;
            int = 3 3;
            int b;
        };
    """)
    assert AtomKind.BROKEN in [atom.kind for atom in atoms_of(source)]


def test_a_comment_far_to_the_right_is_no_heading() -> None:
    source = text("""
        struct s {
            int a;
                    /* it begins below the declaration */

                    /* used by trees */
            /* the root */
            int b;
        };
    """)
    declared = [atom for atom in atoms_of(source) if atom.names]
    assert [source[atom.start : atom.end].decode() for atom in declared] == [
        "\tint a;\n\t\t\t/* it begins below the declaration */\n",
        "\t/* the root */\n\tint b;\n",
    ]


def test_a_comment_on_the_line_of_the_brace_belongs_to_no_member() -> None:
    source = text("""
        struct s { /* see the
                    * standard */
            int a;
            int b;
        };
    """)
    assert lines(source) == ["\tint a;\n", "\tint b;\n"]


def test_an_aligned_end_of_a_group_declares_its_padding_too() -> None:
    source = text("""
        struct s {
            __cacheline_group_begin_aligned(fast);
            int a;
            __cacheline_group_end_aligned(fast);
            int b;
        };
    """)
    group, other = (atom for atom in atoms_of(source) if atom.names)
    assert group.names == (
        "__cacheline_group_begin__fast",
        "a",
        "__cacheline_group_end__fast",
        "__cacheline_group_pad__fast",
    )
    assert other.names == ("b",)
