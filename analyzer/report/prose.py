# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences and rows of tables in lines of a given width; C code and names are as wide as they are."""

from __future__ import annotations

import re
import textwrap

# What a sentence has at most, however wide the terminal: longer lines are hard to read.
WIDTH = 100
# Columns that the last cell of a row has at least beside the others, and its indent where it stands below them.
LEAST_LAST = 24
_BELOW = " " * 8
# Cells are two blanks apart at least.
_LAST_CELL = re.compile(r"(\s*\S.*\s{2,})(\S.*)")


def prose(text: str, first: str = "", then: str = "", columns: int = WIDTH) -> str:
    """``text`` in lines of at most ``columns``, the first one behind ``first``, the others behind ``then``."""
    return _filled(text, first, then, min(columns, WIDTH))


def row(cells: str, last: str, columns: int = WIDTH) -> str:
    """A row of a table in at most ``columns``: ``last`` goes on below itself, or below ``cells``."""
    whole = f"{cells}{last}".rstrip()
    if len(whole) <= columns:
        return whole
    if columns - len(cells) >= LEAST_LAST:
        return _filled(last, cells, " " * len(cells), columns)
    return f"{cells.rstrip()}\n{_filled(last, _BELOW, _BELOW, columns)}"


def fitted(text: str, columns: int = WIDTH) -> str:
    """``text`` with each line in at most ``columns``: what is too long goes on below the last cell of its row."""
    return "".join(f"{_fitted(line, columns)}\n" for line in text.splitlines())


def _fitted(line: str, columns: int) -> str:
    if len(line) <= columns:
        return line
    indent = len(line) - len(line.lstrip())
    last = _LAST_CELL.match(line)
    if last is not None:
        return row(last[1], last[2], columns)
    return _filled(line.lstrip(), " " * indent, " " * (indent + 2), columns)


def _filled(text: str, first: str, then: str, columns: int) -> str:
    return textwrap.fill(
        text, columns, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
