# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of several rows made legible: what a reader cannot see must not change what a reader sees."""

from __future__ import annotations

import re

from linesmith.analyzer.report.visible import visible

_LAID_OUT = re.compile(r"([\n\t])")
# A character takes at most so many when it is spelled out: ``<U+10FFFF>``.
_LONGEST = 10


def legible(text: str) -> str:
    """``text`` with each character that is not seen, or that turns others around, spelled out; nothing is cut off.

    Newlines and tabs stay. A lone surrogate stands for a byte that is no UTF-8 (PEP 383) and is spelled out as well.
    """
    parts = _LAID_OUT.split(text)
    return "".join(part if part in ("\n", "\t") else visible(part, _LONGEST * len(part)) for part in parts)
