# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms that reports share: sentences, lists and tables in lines of a given width, and JSON.

C code and names are as wide as they are. A table has columns as wide as their widest cell (``widest``,
``in_columns``); a last cell that is too long goes on below itself (``table_rows``), or any one that is flexible
(``flexible_table``). Imports nothing that takes time, for every command prints.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias
from unicodedata import combining, east_asian_width

from linesmith.analyzer.base.text import paragraph, visible, with_cxx_names

# What a sentence has at most, however wide the terminal: longer lines are hard to read.
WIDTH = 100
# Columns that the last cell of a row has at least next to the others, and its indent where it stands below them.
LEAST_LAST = 24
_BELOW = " " * 8
# Cells are two blanks apart at least.
_LAST_CELL = re.compile(r"(\s*\S.*\s{2,})(\S.*)")
# Parts at which a long word may be broken, and the sign of that while lines are made; characters of a template's
# arguments that are shown.
_PART, _BROKEN, _ANGLE, MOST_ARGUMENTS = re.compile(r"[^_.:]*(?:_+|\.|:+|$)"), "\0 ", re.compile("([<>])"), 12
# A name in a table or a picture is cut behind so many characters.
MOST_CHARACTERS = 200
_ON_ONE_LINE = str.maketrans({"\n": r"\u000a", "\t": r"\u0009"})
# An object of JSON.
Json: TypeAlias = dict[str, object]


def prose(text: str, first: str = "", then: str = "", columns: int = WIDTH) -> str:
    """``text`` in lines of at most ``columns``, the first one behind ``first``, the others behind ``then``.

    Names of C++ are as people write them.
    """
    return paragraph(with_cxx_names(text), first=first, then=then, columns=min(columns, WIDTH))


def row(cells: str, last: str, columns: int = WIDTH) -> str:
    """A row of a table in at most ``columns``: ``last`` goes on below itself, or below ``cells``."""
    last = with_cxx_names(last)
    whole = f"{cells}{last}".rstrip()
    if len(whole) <= columns:
        return whole
    if columns - len(cells) >= LEAST_LAST:
        return paragraph(last, first=cells, then=" " * len(cells), columns=columns)
    return f"{cells.rstrip()}\n{paragraph(last, first=_BELOW, then=_BELOW, columns=columns)}"


def fitted(text: str, columns: int = WIDTH) -> str:
    """``text`` with each line in at most ``columns``: what is too long goes on below the last cell of its row."""
    return "".join(f"{_fitted(line, columns)}\n" for line in text.splitlines())


def _fitted(line: str, columns: int) -> str:
    if len(line) <= columns:
        return line
    if last := _LAST_CELL.match(line):
        return row(last[1], last[2], columns)
    indent = len(line) - len(line.lstrip())
    return paragraph(line.lstrip(), first=" " * indent, then=" " * (indent + 2), columns=columns)


def widest(table: Iterable[Sequence[str]]) -> list[int]:
    """The width of the widest cell of each column that all rows have."""
    return [max(map(len, column)) for column in zip(*table, strict=False)]


def in_columns(cells: Sequence[str], widths: Sequence[int], sides: str = "", gap: str = "  ") -> str:
    """The cells, ``gap`` apart, each filled up to its width; of ``sides`` those with ``>`` stand at the right."""
    placed = zip(cells, widths, sides or "<" * len(cells), strict=False)
    return gap.join(f"{cell:{side}{width}}" for cell, width, side in placed)


def labelled(label: str, rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The rows, the first with the label."""
    for place, one in enumerate(rows):
        yield "" if place else label, one


def label_rows(rows: Iterable[tuple[str, str]], width: int, columns: int = WIDTH) -> list[str]:
    """Rows behind their labels, which take ``width`` columns behind an indent of two."""
    return [prose(text, f"  {label:<{width}}", " " * (width + 2), columns) for label, text in rows]


def shell_rows(label: str, words: Iterable[str], columns: int = WIDTH) -> list[str]:
    """A command behind its label, in lines that a shell joins; an option stays with its value."""
    parts: list[str] = []
    for word in map(shlex.quote, words):
        if parts and parts[-1].startswith("-") and not word.startswith("-"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    rows = [label]
    for word in parts:
        if len(rows[-1]) + len(word) + 3 > columns:
            rows[-1] += " \\"
            rows.append(" " * (len(label) + 1))
        rows[-1] += f" {word}"
    return rows


def table_rows(table: Sequence[Sequence[str]], sides: str, columns: int = WIDTH) -> list[str]:
    """An indented table: of each row the last cell goes on below itself, the others stand at their ``sides``."""
    *widths, _ = widest(table)
    return [row(f"  {in_columns(cells[:-1], widths, sides)}  ", cells[-1], columns) for cells in table]


def flexible_table(table: Sequence[Sequence[str]], at: int, sides: str, columns: int = WIDTH) -> list[str]:
    """A table whose column ``at`` takes what the others leave: its cells go on below themselves.

    Columns without a cell below the head are left out, and the last ones for want of room. Where nothing stands behind
    a cell it may be as wide as the table.
    """
    filled = [one for one in range(len(table[0])) if one <= at or any(row[one] for row in table[1:])]
    while len(filled) > at + 1 and _room(table, filled, at, columns) < LEAST_LAST:
        del filled[-1]
    rows = [[row[one] for one in filled] for row in table]
    widths, sides = widest(rows), "".join(sides[one] for one in filled)
    long = max(len(row[at]) for row in [rows[0], *(row for row in rows if any(row[at + 1 :]))])
    widths[at] = max(min(long, _room(table, filled, at, columns)), 1)
    lines = []
    for cells in rows:
        before = "".join(f"{one}  " for one in [in_columns(cells[:at], widths, sides)] if at)
        width = widths[at] if any(cells[at + 1 :]) else columns - len(before)
        first, *more = wrapped(cells[at], width) or [""]
        lines.append(f"{before}{in_columns((first, *cells[at + 1 :]), widths[at:], sides[at:])}".rstrip())
        lines += [f"{'':{len(before)}}{one}" for one in more]
    return lines


def _room(table: Sequence[Sequence[str]], filled: Sequence[int], at: int, columns: int) -> int:
    """What the other columns leave."""
    others = [max(len(row[one]) for row in table) for one in filled if one != at]
    return columns - sum(others) - 2 * len(others)


def counted(count: int, thing: str) -> str:
    """``1 line``, ``2,000 lines``, ``2 accesses``."""
    return f"{count:,} {thing}" + ("" if count == 1 else "es" if thing.endswith("s") else "s")


def first_of(rows: Sequence[str], most: int) -> list[str]:
    """The first rows, and how many more there are."""
    return [*rows[:most], *([f"and {len(rows) - most:,} more"] if len(rows) > most else [])]


def runs(numbers: Sequence[int]) -> str:
    """Rising numbers as a short list: ``0-3 and 8``, ``0, 2-4 and 9``."""
    found: list[list[int]] = []
    for one in numbers:
        if found and found[-1][1] == one - 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    spans = [f"{first}-{last}" if last > first else f"{first}" for first, last in found]
    return " and ".join(filter(None, (", ".join(spans[:-1]), *spans[-1:])))


def wrapped(text: str, width: int, most: int | None = None) -> list[str]:
    """``text`` in lines of ``width``, at most so many; longer words are broken behind ``_``, ``.`` or ``::``."""
    words = []
    for word in elided(text).split():
        parts = [""]
        for part in _PART.findall(word) if len(word) > width else [word]:
            if parts[-1] and len(parts[-1]) + len(part) >= width:
                parts.append("")
            parts[-1] += part
        words.append(_BROKEN.join(parts))
    lines = textwrap.wrap(" ".join(words), width, max_lines=most, placeholder=" …", break_on_hyphens=False)
    return [line.replace(_BROKEN, "").rstrip("\0") for line in lines]


def elided(text: str) -> str:
    """``text`` without long arguments of templates: ``std::map<…>::find``."""
    parts = [""]
    for part in _ANGLE.split(text):
        if part == "<" and parts[-1][-1:].isalnum():
            parts.append("")
        elif part == ">" and len(parts) > 1:
            inner = parts.pop()
            parts[-1] += f"<{inner if len(inner) <= MOST_ARGUMENTS else '…'}>"
        else:
            parts[-1] += part
    return "<".join(parts)


def short_title(name: str, most: int) -> str:
    """The name of a record in a table: without arguments of templates, then without its outer namespaces."""
    name = elided(name)
    while len(name) > most and "::" in name.removeprefix("…::"):
        name = f"…::{name.removeprefix('…::').partition('::')[2]}"
    return cut(name, most)


def cut(text: str, most: int) -> str:
    """``text`` in no more than ``most`` characters; one that is longer ends in an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def short(text: str) -> str:
    """A name on one line, every character of it visible, of bounded length."""
    return cut(visible(text[: MOST_CHARACTERS + 1]).translate(_ON_ONE_LINE), MOST_CHARACTERS)


def columns(text: str) -> int:
    """Columns of a terminal that the text takes: two for wide characters, none for those that combine."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


# JSON: values of the model as they are, or some of their fields. What the fields mean, and which there are, the
# schemas in docs/ tell; fields are added, never renamed.


def json_text(document: object) -> str:
    """``document`` as indented JSON that ends in a newline; it may hold values of the model."""
    import msgspec  # takes 30 ms, and most answers are text

    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def fields_of(one: object, *names: str) -> Json:
    """These attributes of ``one``, in this order."""
    return {name: getattr(one, name) for name in names}


def known(fields: Json) -> Json:
    """Without the fields that say nothing: ``None``, false, an empty text or list; a zero does."""
    return {name: value for name, value in fields.items() if value not in (None, "", ()) and value is not False}


def hexadecimal(address: int | None) -> str | None:
    """An address as text: numbers of 64 bits are not safe in JSON."""
    return None if address is None else f"{address:#x}"
