# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of a commit message in lines that a terminal and a mail show whole."""

from __future__ import annotations

import textwrap

# What checkpatch.pl takes without complaint.
WIDTH = 75


def paragraph(text: str, *, first: str = "", then: str = "") -> str:
    """``text`` in lines of at most 75 characters; the first begins with ``first``, the others with ``then``.

    Words longer than that, such as paths, stay whole.
    """
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
