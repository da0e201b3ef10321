# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences and rows of tables in lines of a given width; C code and names are as wide as they are."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from unicodedata import combining, east_asian_width

from linesmith.analyzer.base.text import visible

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


# Counts and lists of numbers in words; imports nothing, for every command says such things.


def counted(count: int, thing: str) -> str:
    """``1 line``, ``2,000 lines``."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def amount(count: int, things: str) -> str:
    """The same with the word for several: ``1 access``, ``2,000 accesses``, ``1 load``."""
    thing = things.removesuffix("es" if things.endswith("sses") else "s")
    return f"{count:,} {things if count != 1 else thing}"


def runs(numbers: Sequence[int]) -> str:
    """Rising numbers as a short list: ``0-3 and 8``, ``0, 2-4 and 9``."""
    found: list[list[int]] = []
    for one in numbers:
        if found and found[-1][1] == one - 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    told = [f"{first}-{last}" if last > first else f"{first}" for first, last in found]
    return " and ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))


# Names as they are put into tables and pictures: on one line, cut where they are too long, and how wide they are.

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
