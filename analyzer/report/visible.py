# SPDX-License-Identifier: GPL-2.0-or-later
"""Names as they stand in files, with what could mislead a reader's eye made visible, and how wide they are."""

from __future__ import annotations

from unicodedata import category, combining, east_asian_width

# Control, format (the directional ones among them), surrogates, unassigned, separators of lines and paragraphs.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"))
MOST_CHARACTERS = 200


def visible(text: str, most: int = MOST_CHARACTERS) -> str:
    """``text`` with each character that is not seen, or turns others around, as ``<U+202E>``; long ones are cut."""
    shown = text if text.isascii() and text.isprintable() else "".join(map(_seen, text[: most + 1]))
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _seen(character: str) -> str:
    return f"<U+{ord(character):04X}>" if category(character) in _UNSEEN else character


def columns(text: str) -> int:
    """Columns of a terminal that the text takes: two for wide characters, none for those that combine."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)
