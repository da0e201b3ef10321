# SPDX-License-Identifier: GPL-2.0-or-later
"""Comments behind code keep their column when the code grows."""

from __future__ import annotations

import pytest

from linesmith.patches.columns import with_insertion


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"\tint a;\t\t\t\t/* x */\n", b"\tint a __hot;\t\t\t/* x */\n"),
        (b"\tint a;\t\t/* x */\n", b"\tint a __hot;\t/* x */\n"),
        (b"\tint a;\t/* x */\n", b"\tint a __hot;\t/* x */\n"),
        (b"    int a;          // x\n", b"    int a __hot;    // x\n"),
        (b"\tint a; /* x */\n", b"\tint a __hot; /* x */\n"),
        (b"\tint a;\t\t    /* x */\n", b"\tint a __hot;\t    /* x */\n"),
        (b"\tint a;\n", b"\tint a __hot;\n"),
    ],
)
def test_a_comment_stays_in_its_column_if_it_can(line: bytes, expected: bytes) -> None:
    assert with_insertion(line, line.index(b";"), b" __hot") == expected


def test_only_the_line_itself_changes() -> None:
    text = b"\tint a;\t\t/* x\n\t\t\t * y */\n"
    assert with_insertion(text, text.index(b";"), b" __hot") == b"\tint a __hot;\t/* x\n\t\t\t * y */\n"
