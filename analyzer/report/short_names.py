# SPDX-License-Identifier: GPL-2.0-or-later
"""Names as they are put into tables and pictures: on one line, cut where they are too long, and how wide they are."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from linesmith.analyzer.base.visible import visible

MOST_CHARACTERS = 200
_ON_ONE_LINE = str.maketrans({"\n": r"\u000a", "\t": r"\u0009"})


def short(text: str, most: int = MOST_CHARACTERS) -> str:
    """``text`` with every character visible, newlines and tabs too; one that is longer than ``most`` is cut."""
    shown = visible(text[: most + 1]).translate(_ON_ONE_LINE)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def columns(text: str) -> int:
    """Columns of a terminal that the text takes: two for wide characters, none for those that combine."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)
