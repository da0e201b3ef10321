# SPDX-License-Identifier: GPL-2.0-or-later
"""What describes members above a record follows their order, and goes back to the same bytes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patch_cases import behind, edited, text

from linesmith.analyzer.model import Move, MoveKind
from linesmith.patches.kernel_doc import followed
from linesmith.patches.records import records_named

DOCUMENTED = text("""
    /**
     * struct s - an example
     * @a: the first one,
     *     on two lines
     * @b: the second

     * @c: the third
     *
     * They are counted.
     */
    struct s {
        int a;
        int b;
        int c;
    };
""").replace(b"second\n\n", b"second\n *\n")


def doc(source: bytes) -> str:
    """The comment above the record."""
    return source.partition(b"struct s {")[0].decode()


def reordered(source: bytes, before: Sequence[str], after: Sequence[str]) -> bytes:
    (record,) = records_named(source, "s")
    return followed(source, record, before, after)


def test_the_entry_of_a_moved_member_moves_with_all_its_lines() -> None:
    moved = edited(DOCUMENTED, [behind("a", "b")], "b a c")
    assert doc(moved) == doc(
        text("""
            /**
             * struct s - an example
             * @b: the second
             * @a: the first one,
             *     on two lines
             *
             * @c: the third
             *
             * They are counted.
             */
            struct s {
        """)
    )
    assert edited(moved, [behind("a", None)], "a b c") == DOCUMENTED


def test_a_swap_swaps_the_entries() -> None:
    moved = doc(edited(DOCUMENTED, [Move(MoveKind.SWAP, "a", partner="c")], "c b a"))
    assert moved.index("@c") < moved.index("@b") < moved.index("@a") < moved.index("They are")


def test_entries_in_an_order_of_their_own_stay() -> None:
    source = b"/**\n * struct s - x\n * @b: two\n * @a: one\n */\nstruct s {\n\tint a;\n\tint b;\n\tint c;\n};\n"
    assert doc(edited(source, [behind("a", "c")], "b c a")) == doc(source)


def test_members_without_an_entry_pass_by() -> None:
    source = b"/**\n * struct s - x\n * @a: one\n * @c: three\n */\nstruct s {\n\tint a;\n\tint b;\n\tint c;\n};\n"
    assert doc(edited(source, [behind("a", "b")], "b a c")) == doc(source)
    assert "@c: three\n * @a: one\n */" in doc(edited(source, [behind("a", "c")], "b c a"))


def test_members_of_a_member_stay_with_it() -> None:
    source = (
        b"/**\n * struct s - x\n * @a: one\n * @a.x: in it\n * @b: two\n */\nstruct s {\n\tstruct x a;\n\tint b;\n};\n"
    )
    assert "@b: two\n * @a: one\n * @a.x: in it\n */" in doc(edited(source, [behind("a", "b")], "b a"))


def test_members_of_an_anonymous_union_have_entries_of_their_own() -> None:
    source = b"/** struct s\n * @a: one\n * @b: two\n * @c: three\n */\n"
    source += b"struct s {\n\tunion {\n\t\tint a;\n\t\tint b;\n\t};\n\tint c;\n};\n"
    assert "@c: three\n * @a: one\n * @b: two\n" in doc(edited(source, [behind("a", "c")], "c"))


def test_an_entry_beside_the_end_of_the_comment_keeps_all_in_place() -> None:
    source = b"/**\n * struct s - x\n * @a: one\n * @b: two */\nstruct s {\n\tint a;\n\tint b;\n};\n"
    assert doc(edited(source, [behind("a", "b")], "b a")) == doc(source)


@pytest.mark.parametrize("heading", [" * Context: any", " * Return: nothing", " *\n * More words."])
def test_what_follows_the_last_entry_stays_last(heading: str) -> None:
    source = f"/**\n * struct s - x\n * @a: one\n * @b: two\n{heading}\n */\nstruct s {{\n\tint a;\n\tint b;\n}};\n"
    assert doc(edited(source.encode(), [behind("a", "b")], "b a")).endswith(f"@a: one\n{heading}\n */\n")


def test_the_comment_may_stand_above_a_directive_or_a_typedef() -> None:
    source = b"/**\n * struct s - x\n * @a: one\n * @b: two\n */\n#define X 1\n"
    source += b"typedef struct s {\n\tint a;\n\tint b;\n} s_t;\n"
    assert "@b: two\n * @a: one\n" in edited(source, [behind("a", "b")], "b a").decode()


def test_a_comment_of_something_else_stays() -> None:
    source = b"/**\n * f - x\n * @a: one\n * @b: two\n */\nvoid f(int a, int b);\nstruct s {\n\tint a;\n\tint b;\n};\n"
    assert edited(source, [behind("a", "b")], "b a").startswith(source[:60])


NAMES = "abcdefg"


@given(st.permutations(NAMES), st.sampled_from((b"\n", b"\r\n")))
def test_following_back_gives_the_same_bytes(second: Sequence[str], ending: bytes) -> None:
    entries = [f" * @{name}: about {name}\n *\n".encode() * (name != "d") for name in NAMES]
    source = b"/**\n * struct s - x\n" + b"".join(entries) + b" * words\n */\nstruct s {\n\tint a;\n};\n"
    source = source.replace(b"\n", ending)
    there = reordered(source, NAMES, second)
    described = [line[4:5] for line in there.split(b"\n") if line.startswith(b" * @")]
    assert described == [name.encode() for name in second if name != "d"]
    assert reordered(there, second, NAMES) == source
