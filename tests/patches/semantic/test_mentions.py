# SPDX-License-Identifier: GPL-2.0-or-later
"""Places of a word: code of every configuration, nothing from comments, strings and other words."""

from __future__ import annotations

import os
from pathlib import Path

from linesmith.patches.semantic.mentions import Mention, mentions, read_source

SOURCE = b"""\
/* seat is told here */
#define SEAT(x) \\
\t(&(x)->seat)
int f(struct car *c)
{
#ifdef NEVER
\tputs("seat");
\treturn c->seat; // seat
#endif
\treturn c->seats;
}
"""


def test_every_place_in_code_with_the_macro_around_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.c").write_bytes(SOURCE)
    (tmp_path / "a.txt").write_bytes(SOURCE)
    (tmp_path / "link.c").symlink_to("sub/a.c")
    assert mentions(tmp_path, "seat", lambda _: None) == (
        Mention("sub/a.c", 3, 8, SOURCE.index(b"seat)"), "(&(x)->seat)", macro="SEAT"),
        Mention("sub/a.c", 8, 11, SOURCE.index(b"seat; //"), "return c->seat; // seat"),
    )


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    (tmp_path / "a.S").write_bytes(b"\tldr x0, [seat]")
    assert [mention.text for mention in mentions(tmp_path, "seat", lambda _: None)] == ["ldr x0, [seat]"]


def test_a_pipe_and_a_link_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.c")
    (tmp_path / "link.c").symlink_to("/etc/passwd")
    assert read_source(tmp_path / "pipe.c") == b""
    assert read_source(tmp_path / "link.c") == b""
