# SPDX-License-Identifier: GPL-2.0-or-later
"""The comment beside a moved member that says why it is there: its words, its place, its shape."""

from __future__ import annotations

from dataclasses import replace

import pytest
from patch_cases import behind, candidate, edited, finding, ordered, text

from linesmith.analyzer.model import Finding, LineMember, LineObject, Move, MoveKind, Outcome, Residual
from linesmith.patches.why import why

SHORT = {"a": "Kept away from c."}
LONG = {"a": "Kept off the cache line of c, d and e: readers of this would wait for writers there."}


def of_a(source: bytes, remarks: dict[str, str], order: str = "b a") -> str:
    """The file with ``a`` behind ``b`` and a remark on it."""
    return edited(source, [behind("a", "b")], order, remarks=remarks).decode()


def test_it_stands_right_above_the_declaration_as_far_to_the_right() -> None:
    source = b"struct s {\n\t/* counts */\n\tint a;\t/* twice */\n\tint b;\n};\n"
    assert of_a(source, SHORT) == (
        "struct s {\n\tint b;\n\t/* counts */\n\t/* Kept away from c. */\n\tint a;\t/* twice */\n};\n"
    )


def test_it_goes_on_what_the_lines_above_say() -> None:
    source = b"struct s {\n\t/*\n\t * Counts.\n\t */\n\tint a;\n\tint b;\n};\n"
    assert (
        of_a(source, SHORT)
        == text("""
        struct s {
            int b;
            /*
             * Counts.
             *
             * Kept away from c.
             */
            int a;
        };
    """).decode()
    )


def test_what_kernel_doc_collects_is_left_alone() -> None:
    source = b"struct s {\n\t/**\n\t * @a: counts\n\t */\n\tint a;\n\tint b;\n};\n"
    assert "\t * @a: counts\n\t */\n\t/* Kept away from c. */\n\tint a;\n" in of_a(source, SHORT)


def test_what_does_not_fit_into_80_columns_takes_several_lines() -> None:
    assert (
        of_a(b"struct s {\n\tint a;\n\tint b;\n};\n", LONG)
        == text("""
        struct s {
            int b;
            /*
             * Kept off the cache line of c, d and e: readers of this would wait for
             * writers there.
             */
            int a;
        };
    """).decode()
    )


def test_several_lines_begin_as_in_the_rest_of_the_file() -> None:
    source = b"/* words\n * more words\n */\nstruct s {\n\tint a;\n\tint b;\n};\n"
    assert "\t/* Kept off the cache line of c, d and e: readers of this would wait for\n\t * w" in of_a(source, LONG)


def test_in_networking_code_the_text_begins_on_the_first_line() -> None:
    source = b"/*\n * words\n */\nstruct s {\n\tint a;\n\tint b;\n};\n"
    moved = edited(source, [behind("a", "b")], "b a", remarks=LONG, file="drivers/net/one.h")
    assert b"\t/* Kept off the cache line of c, d and e: readers of this would wait for\n\t * w" in moved


def test_a_file_of_line_comments_gets_one_of_these() -> None:
    source = b"struct s {\n    int a; // one\n    int b; // two\n};\n"
    assert "    // Kept away from c.\n    int a; // one\n" in of_a(source, SHORT)


def test_line_ends_are_those_of_the_declaration() -> None:
    assert "\t/* Kept away from c. */\r\n\tint a;\r\n" in of_a(b"struct s {\r\n\tint a;\r\n\tint b;\r\n};\r\n", SHORT)


def test_in_an_if_block_it_stands_beside_the_member() -> None:
    source = b"struct s {\n#ifdef A\n\tint a;\n#endif\n\tint b;\n};\n"
    assert "#ifdef A\n\t/* Kept away from c. */\n\tint a;\n#endif\n" in of_a(source, SHORT)


def test_above_a_member_with_two_declarations_it_stands_above_the_block() -> None:
    source = b"struct s {\n#ifdef A\n\tlong a;\n#else\n\tint a;\n#endif\n\tint b;\n};\n"
    assert "\tint b;\n\t/* Kept away from c. */\n#ifdef A\n" in of_a(source, SHORT)


def test_a_member_that_a_macro_renames_gets_it_too() -> None:
    source = b"struct s {\n\tstruct rcu_head rcu_head;\n\tint b;\n};\n"
    moved = edited(source, [behind("callback_head", "b")], "b callback_head", remarks={"callback_head": "Why."})
    assert moved == b"struct s {\n\tint b;\n\t/* Why. */\n\tstruct rcu_head rcu_head;\n};\n"


def line_of(**written: bool) -> Finding:
    """A hot line of members that are read, some of them ``written``."""
    members = tuple(LineMember(name, 0, 0, 8, 5, 3 * stores, ()) for name, stores in written.items())
    return replace(finding(), members=members)


def parting(*pairs: tuple[str, str], after: float = 0.0) -> list[Residual]:
    return [Residual(first, second, 64, 1.0, after) for first, second in pairs]


@pytest.mark.parametrize(
    ("written", "after", "sentence"),
    [
        ({"a": True, "c": False}, 0.0, "Kept off the cache line of c: readers there would wait for writers of this."),
        ({"a": False, "c": True}, 0.0, "Kept off the cache line of c: readers of this would wait for writers there."),
        ({"a": False, "c": True}, 0.5, "Kept away from c: readers of this would wait for writers there."),
        ({"a": False}, 0.0, "Kept off the cache line of c."),
    ],
)
def test_it_says_who_would_wait_for_whom(written: dict[str, bool], after: float, sentence: str) -> None:
    proposal = candidate(ordered("a b c"), ordered("b c a"), [behind("a", "c")], parting(("a", "c"), after=after))
    assert why(proposal, line_of(**written)) == {"a": sentence}


def test_of_a_record_in_doubt_it_says_only_where_the_member_stands() -> None:
    """Who reads and who writes is then perhaps said of other members."""
    proposal = candidate(ordered("a b c"), ordered("b c a"), [behind("a", "c")], parting(("a", "c")))
    seen = LineObject("s", 1, 0, 0, 1.0, Outcome.RESOLVED, doubt="what is touched at 0x8 hardly fits it")
    doubted = replace(line_of(a=True, c=False), objects=(seen,))
    assert why(proposal, doubted) == {"a": "Kept off the cache line of c."}


def test_of_a_member_in_doubt_it_says_nothing() -> None:
    proposal = candidate(ordered("a b c"), ordered("b c a"), [behind("a", "c")], parting(("a", "c")))
    written, read = line_of(a=True, c=False).members
    perhaps = written, replace(read, offset=8, doubted=True)
    assert why(proposal, replace(finding(), members=perhaps)) == {}


def test_one_of_a_pair_says_it() -> None:
    moves = [Move(MoveKind.SWAP, "a", partner="c")]
    proposal = candidate(ordered("a b c"), ordered("c b a"), moves, parting(("a", "c"), ("c", "b")))
    assert why(proposal, line_of(a=True)) == {
        "a": "Kept off the cache line of c.",
        "c": "Kept off the cache line of b.",
    }


def test_members_of_members_go_by_the_outermost() -> None:
    proposal = candidate(ordered("a c"), ordered("c a"), [behind("a", "c")], parting(("a.x", "c[0]"), ("a.y", "c.z")))
    assert list(why(proposal, finding()).values()) == ["Kept off the cache line of c."]


def test_a_member_that_stands_between_two_others_says_so() -> None:
    proposal = candidate(ordered("a b c"), ordered("b a c"), [behind("a", "b")], parting(("b", "c")))
    assert why(proposal, finding()) == {"a": "Keeps b and c apart."}


def test_an_alignment_says_what_it_parts() -> None:
    moves = [Move(MoveKind.ALIGN, "a", align=64)]
    pairs = parting(("a", "b"), ("c", "a"), ("a", "d"), ("a", "e"))
    proposal = candidate(ordered("a b"), ordered("a b"), moves, pairs)
    assert why(proposal, line_of(b=True)) == {
        "a": "Begins a cache line, away from b, c, d and 1 more: readers of this would wait for writers there."
    }


def test_a_change_that_parts_nobody_is_not_explained() -> None:
    assert why(candidate(ordered("a b"), ordered("b a"), [behind("a", "b")]), finding()) == {}
