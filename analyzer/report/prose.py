# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences in lines of a width that can be read; tables and layouts are as wide as they are."""

from __future__ import annotations

import textwrap

WIDTH = 108


def prose(text: str, first: str = "", then: str = "", columns: int = WIDTH) -> str:
    """``text`` in lines of at most ``columns``, the first one behind ``first``, the others behind ``then``."""
    return textwrap.fill(
        text, columns, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
