# SPDX-License-Identifier: GPL-2.0-or-later
"""Declarations of several members taken apart: what belongs to each of them."""

from __future__ import annotations

import pytest
from patch_cases import FILE, text

from linesmith.analyzer.errors import EditRefused
from linesmith.patches.atoms import scope
from linesmith.patches.declarators import apart
from linesmith.patches.pieces import Origin, pieces
from linesmith.patches.records import records_named


def parts(declaration: str, *runs: str) -> list[str]:
    """The lines of each run of names, of a record with one declaration."""
    source = text(f"struct s {{\n{declaration}\n}};\n")
    (record,) = records_named(source, "s")
    origin = Origin(source, FILE)
    body = scope(source, record)[0]
    (piece,) = (one for one in pieces(origin, body) if one.names)
    return [part.text.decode() for part in apart(origin, piece, [run.split() for run in runs])]


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("    int a, b;", ["\tint a;\n", "\tint b;\n"]),
        ("    struct list_head *a, b[2];", ["\tstruct list_head *a;\n", "\tstruct list_head b[2];\n"]),
        ("    const char __user *a, *b;", ["\tconst char __user *a;\n", "\tconst char __user *b;\n"]),
        ("    u8 a __aligned(8), b;", ["\tu8 a __aligned(8);\n", "\tu8 b;\n"]),
        ("    u8 a, b __aligned(8);", ["\tu8 a;\n", "\tu8 b __aligned(8);\n"]),
        ("    void (*a)(int, int), (*b)(void);", ["\tvoid (*a)(int, int);\n", "\tvoid (*b)(void);\n"]),
        ("    u8 a, /* one */ b;", ["\tu8 a; /* one */\n", "\tu8 b;\n"]),
        ("    u8 a,\n       b;", ["\tu8 a;\n", "\tu8 b;\n"]),
        ("    u8\n    a, b;", ["\tu8\n\ta;\n", "\tu8\n\tb;\n"]),
    ],
)
def test_each_gets_a_declaration_of_its_own(declaration: str, expected: list[str]) -> None:
    assert parts(declaration, "a", "b") == expected


def test_the_longest_run_keeps_the_comments_of_one_line() -> None:
    assert parts("    /* all */\n    int a, b, c; /* three */", "a", "b c") == [
        "\tint a;\n",
        "\t/* all */\n\tint b, c; /* three */\n",
    ]


def test_names_that_stay_together_keep_what_is_between_them() -> None:
    declaration = "    int a,    /* one */\n        b,    /* two */\n        c;    /* three */"
    assert parts(declaration, "a b", "c") == [
        "\tint a,    /* one */\n\t\tb;    /* two */\n",
        "\tint c;    /* three */\n",
    ]


def test_what_is_no_comment_between_two_names_is_not_guessed() -> None:
    with pytest.raises(EditRefused, match="`a` is declared together with `b`"):
        parts("    int a, __aligned(8) b;", "a", "b")
