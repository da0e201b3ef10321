# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from files that anyone may have written, shown so that it steers no terminal and no reader's eye.

Control characters move a terminal's cursor, marks of direction (Unicode Annex 9) turn text around, and others show
nothing at all, so that two names look alike. All of them are shown by their numbers.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from unicodedata import category

# Characters in a line of a commit message: what checkpatch.pl takes without complaint.
WIDTH = 75
# Control, format (the marks of direction among them), surrogates, unassigned, private, separators.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"))
# Letters and marks without a shape of their own: fillers, a joiner, selectors of variants.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# What may have to be escaped: all but printable ASCII, tab, newline, and the dashes, quotes and blocks that we write.
_DOUBTFUL = re.compile("[^\t\n\x20-\x7e\u2010-\u2027\u2500-\u25ff]")


def visible(text: str) -> str:
    r"""``text`` with each character that is not seen, or steers others, as ``\u202e``; newlines and tabs stay.

    Characters beyond U+FFFF are two such escapes (UTF-16), as in JSON: within a string of JSON the result stands for
    the same text.
    """

    def shown(found: re.Match[str]) -> str:
        if not is_unseen(found[0]):
            return found[0]
        units = found[0].encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    return _DOUBTFUL.sub(shown, text)


def is_unseen(character: str) -> bool:
    """Whether ``visible`` would escape it; newlines and tabs are unseen, too."""
    return category(character) in _UNSEEN or _BLANK.match(character) is not None


def shortened(names: Sequence[str], most: int) -> str:
    """The first names, with an ellipsis where there are more."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def listed(names: Iterable[str], most: int) -> str:
    """``a, b and 3 more``: names beyond ``most`` are counted."""
    every = list(names)
    return ", ".join(every[:most]) + and_more(len(every) - most)


def and_more(count: int) -> str:
    """`` and 3 more``; nothing where no more are left."""
    return f" and {count} more" if count > 0 else ""


def paragraph(text: str, *, first: str = "", then: str = "") -> str:
    """``text`` in lines of at most 75 characters; the first begins with ``first``, the others with ``then``.

    Words longer than that, such as paths, stay whole.
    """
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )


def per_cent(share: float, like: float | None = None) -> str:
    """Two or three digits of a share in per cent, or as many decimals as those of ``like`` have."""
    size = abs(share if like is None else like)
    text = f"{100 * share:.{0 if size >= 0.1 else 1 if size >= 0.01 else 2}f}"
    return text if text.strip("-0.") else "0"
