# SPDX-License-Identifier: GPL-2.0-or-later
"""A member that moves among others has its name in their column, and in its own again when it moves back."""

from __future__ import annotations

import pytest
from patch_cases import behind, edited

from linesmith.analyzer.model import Move, MoveKind

ALIGNED = "\tint\t\t\ta;\n\tstruct list_head\tb;\n\tlong\t\t\tc;\n"
SPACED = "\tint x;\n\tlong y;\n\tchar z;\n"


def record(*blocks: str) -> bytes:
    return ("struct s {\n" + "\n".join(blocks) + "};\n").encode()


def test_from_a_column_to_one_space_and_back() -> None:
    source = record(ALIGNED, SPACED)
    moved = edited(source, [behind("b", "x")], "a c x b y z")
    assert b"\tint x;\n\tstruct list_head b;\n\tlong y;\n" in moved
    assert edited(moved, [behind("b", "a")], "a b c x y z") == source


def test_from_one_space_to_a_column_and_back() -> None:
    source = record(ALIGNED, SPACED)
    moved = edited(source, [behind("y", "a")], "a y b c x z")
    assert b"\tint\t\t\ta;\n\tlong\t\t\ty;\n\tstruct" in moved
    assert edited(moved, [behind("y", "x")], "a b c x y z") == source


def test_a_swap_takes_the_columns_of_both_places() -> None:
    moved = edited(record(ALIGNED, SPACED), [Move(MoveKind.SWAP, "b", partner="y")], "a y c x b z")
    assert b"\ta;\n\tlong\t\t\ty;\n" in moved
    assert b"\tint x;\n\tstruct list_head b;\n" in moved


def test_a_comment_behind_the_member_keeps_its_column() -> None:
    source = record(ALIGNED.replace("b;\n", "b;\t\t/* list */\n"), SPACED)
    moved = edited(source, [behind("b", "x")], "a c x b y z")
    assert b"\tstruct list_head b;\t\t\t/* list */\n" in moved
    assert edited(moved, [behind("b", "a")], "a b c x y z") == source


@pytest.mark.parametrize(
    "line",
    [
        "\tstruct list_head *b;\n",  # not where its neighbours have their names
        "\tstruct list_head\tb\n\t\t\t\t__maybe_unused;\n",  # not one line
        "\tvery_long_name_of_a_type_t_\tb;\n",
    ],
)
def test_what_stands_out_where_it_is_stays_as_it_is(line: str) -> None:
    source = record(ALIGNED.replace("\tstruct list_head\tb;\n", line), SPACED)
    assert line.encode() in edited(source, [behind("b", "x")], "a c x b y z")


@pytest.mark.parametrize("line", ["\tvery_long_name_of_a_type_t y;\n", "\tlong y;\t/* close */\n"])
def test_what_does_not_fit_into_the_columns_stays_as_it_is(line: str) -> None:
    source = record(ALIGNED, SPACED.replace("\tlong y;\n", line))
    assert line.encode() in edited(source, [behind("y", "a")], "a y b c x z")


def test_among_neighbours_that_do_not_agree_nothing_changes() -> None:
    source = record(ALIGNED, SPACED.replace("long y", "long\ty"))
    assert b"\tstruct list_head\tb;\n\tlong\ty;\n" in edited(source, [behind("b", "x")], "a c x b y z")
