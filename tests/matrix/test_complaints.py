# SPDX-License-Identifier: GPL-2.0-or-later
"""Warnings are new by file and text; the line moves with the change."""

from __future__ import annotations

from pathlib import Path

from linesmith.patches.matrix.complaints import complaints, first_error, new
from linesmith.patches.overlay import Overlay

BEFORE = """\
/over/fs/a.c: In function 'f':
/over/fs/a.c:7:9: warning: unused variable 'x' [-Wunused-variable]
    7 |         int x;
In file included from /tree/fs/b.h:3:
/tree/include/s.h:12: warning: 'y' is old
"""


def overlay() -> Overlay:
    return Overlay(Path("/over"), Path("/tree"), frozenset(("include/s.h",)))


def test_complaints_name_files_of_the_tree() -> None:
    assert [str(one) for one in complaints(BEFORE, overlay())] == [
        "fs/a.c:7: unused variable 'x' [-Wunused-variable]",
        "include/s.h:12: 'y' is old",
    ]


def test_a_warning_that_only_moved_is_not_new() -> None:
    moved = BEFORE.replace("a.c:7:9", "a.c:9:9").replace("/tree/include/s.h:12", "/over/include/s.h:15")
    assert new(complaints(BEFORE, overlay()), complaints(moved, overlay())) == ()


def test_the_same_text_once_more_is_new() -> None:
    more = BEFORE + "/over/fs/a.c:20:1: warning: unused variable 'x' [-Wunused-variable]\n"
    found = new(complaints(BEFORE, overlay()), complaints(more, overlay()))
    assert [str(one) for one in found] == ["fs/a.c:20: unused variable 'x' [-Wunused-variable]"]


def test_an_error_is_no_warning_and_the_first_is_told() -> None:
    output = BEFORE + "/over/fs/a.c:3:1: fatal error: /tree/fs/z.h: No such file\n/over/fs/a.c:4:1: error: other\n"
    found = complaints(output, overlay())
    assert new(complaints(BEFORE, overlay()), found) == ()
    assert first_error(found, output) == "fs/a.c:3: fs/z.h: No such file"


def test_an_error_without_a_line_is_told() -> None:
    output = "cc1: fatal error: a.c: No such file or directory\ncompilation terminated.\n"
    assert first_error((), output) == "cc1: fatal error: a.c: No such file or directory"


def test_a_compiler_that_dies_without_a_complaint_leaves_its_last_line() -> None:
    assert first_error((), "one\ngcc: internal compiler error: Killed\n") == "gcc: internal compiler error: Killed"
