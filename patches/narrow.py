# SPDX-License-Identifier: GPL-2.0-or-later
"""A layout's text made as narrow as a message has to be: columns move closer, nothing is cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TAB, _NARROW_TAB = 8, 4
_MARK = 2
# A longer type moves its own declarator only.
_WIDEST_TYPE = 34
# Blanks and mark, type (none where a nested record closes), declarator with its attributes, comments with the place.
_DECLARED = re.compile(
    r"(?P<lead>[> ] *)(?P<type>[^\s/}].*?(?= +\S+?(?: __attribute__|;)))? *(?P<name>\}?.*?;) *(?P<place>/\* .*)"
)
_ATTRIBUTE = " __attribute__"
_BLANKS = re.compile(r" +")


@dataclass(frozen=True, slots=True)
class _Row:
    """A member in columns; ``place`` is its comments."""

    lead: str
    type: str
    name: str
    place: str


def narrow(lines: Sequence[str], width: int) -> list[str]:
    """The lines of an excerpt, which begin with a mark of two characters and have tabs of eight, in ``width`` columns.

    Where that takes more than narrow tabs, columns are as wide as they have to be, and a place that still has no room
    stands on a line of its own, as an attribute does that makes a declaration too long.
    """
    shifted = [_shifted(line) for line in lines]
    if all(len(line) <= width for line in shifted):
        return shifted
    return list(_closer([_row(line) or line for line in shifted], width))


def _shifted(line: str) -> str:
    """The line with each tab in front of it half as wide."""
    mark, text = line[:_MARK], line[_MARK:]
    code = text.lstrip(" ")
    levels, rest = divmod(_MARK + len(text) - len(code) if code != text else 0, _TAB)
    return f"{mark}{' ' * (levels * _NARROW_TAB + rest)}{code}".rstrip()


def _row(line: str) -> _Row | None:
    found = _DECLARED.fullmatch(line)
    return found and _Row(found["lead"], found["type"] or "", found["name"], found["place"])


def _closer(rows: Sequence[_Row | str], width: int) -> Iterator[str]:
    """The rows with the columns of declarators and of places where the longest before them end."""
    known = [row for row in rows if isinstance(row, _Row)]
    widest = max((length for row in known if (length := len(row.lead + row.type)) <= _WIDEST_TYPE), default=0)
    code = {row: f"{row.lead}{row.name}" if not row.type else _declared(row, widest) for row in known}
    end = max((len(code[row]) for row in known if len(f"{code[row]} {row.place}") <= width), default=0)
    for row in rows:
        if isinstance(row, str):
            yield row
        elif len(line := f"{code[row]:<{end}} {row.place}") <= width:
            yield line
        else:
            yield from (*_broken(row, code[row], width), f"{_BLANKS.sub(' ', row.place):>{width}}")


def _broken(row: _Row, code: str, width: int) -> Iterator[str]:
    """The code of a row without columns where those leave no room, and its attribute below where that is too long."""
    code = code if len(code) <= width or not row.type else f"{row.lead}{row.type} {row.name}"
    head, attribute, rest = code.partition(_ATTRIBUTE)
    if len(code) <= width or not attribute:
        yield code
        return
    yield head
    yield f"{' ' * (len(row.lead) + _NARROW_TAB)}{attribute.strip()}{rest}"


def _declared(row: _Row, widest: int) -> str:
    return f"{row.lead + row.type:<{widest}} {row.name}"
