# SPDX-License-Identifier: GPL-2.0-or-later
"""Function names of a report: which are cut, and which are no names but addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable

# SYMBOL_WIDTH of builtin-c2c.c is 30, and "[k] " takes four of them.
_CUT_WIDTH = 26
# perf -v takes 21 more of them, for the address and the symbol table.
_CUT_BEHIND_ORIGIN = 5
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+$")
_PLACE = re.compile(r"(.+)\+\d+$")


def longest_symbol(symbols: Iterable[str | None]) -> int:
    """Length of the longest name in a report, 0 without any; addresses are no names."""
    return max((len(symbol) for symbol in symbols if symbol and not _ADDRESS.match(symbol)), default=0)


def function_of(
    symbol: str | None, source: str | None, longest: int, behind_origin: bool = False
) -> tuple[str | None, bool]:
    """The function's name and whether perf cut it.

    perf cuts at 26 characters (``-v``: at 5, ``behind_origin``) unless ``--full-symbols`` was given, so a name of just
    that length in a report without longer ones may be cut. ``source`` of the form ``name+12`` repeats the symbol and
    may prove that the name is whole, or give it in full. An address or ``[unknown]`` is no name.
    """
    if symbol is None or _ADDRESS.match(symbol) or symbol == "[unknown]":
        return None, False
    width = _CUT_BEHIND_ORIGIN if behind_origin else _CUT_WIDTH
    place = _PLACE.match(source) if source else None
    whole = place.group(1) if place else ""
    if whole == symbol or (len(symbol) == width and whole.startswith(symbol)):
        return whole, False
    return symbol, len(symbol) == width == longest
