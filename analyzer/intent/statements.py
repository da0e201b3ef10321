# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a TOML text says what: each table and key with its line, which ``tomllib`` does not tell."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

# Nothing in an intent file is deeper; what is read recursively or part by part stays small.
MOST_LEVELS = 8

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t\r\n]*+")
_PART = re.compile(r"""[ \t]*+(?:"((?:[^"\\\n]|\\.)*+)"|'([^'\n]*+)'|([A-Za-z0-9_-]++))[ \t]*+""")
_MARK = re.compile(r"\"\"\"|'''|[\"'#\n\[\]{}]")
_STRINGS = {
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*+"{3,5}', re.DOTALL),
    "'''": re.compile(r"(?:[^']|'(?!''))*+'{3,5}"),
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+"'),
    "'": re.compile(r"[^'\n]*+'"),
}


class TooDeep(ValueError):
    """Tables, arrays or the parts of a key are nested deeper than ``MOST_LEVELS``; ``line`` is where."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


@dataclass(frozen=True, slots=True)
class Statement:
    """A header or a key with its value: the ``path`` that it sets, its line from 1, and its characters in the text.

    Items of arrays of tables are numbered: the first ``[[type]]`` is ``("type", 0)``. ``end`` is behind the line break.
    """

    path: KeyPath
    line: int
    start: int
    end: int
    header: bool


def statements(text: str) -> Iterator[Statement]:
    """Every statement in turn, up to the first that is no TOML; the time is linear in the text. Raises ``TooDeep``."""
    breaks = [match.start() for match in re.finditer("\n", text)]
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    at = 0
    while (at := _BLANK.match(text, at).end()) < len(text):  # type: ignore[union-attr] # it matches nothing, too
        line = bisect_left(breaks, at) + 1
        start, end = at, breaks[line - 1] + 1 if line <= len(breaks) else len(text)
        if text[start] == "#":
            at = end
            continue
        opening = 2 if text.startswith("[[", start) else int(text[start] == "[")
        parts, behind = _key(text, start + opening, line)
        if not parts:
            return
        if opening:
            table = _table(parts, counts, opening == 2)
            at = end
        else:
            at = _behind_value(text, behind, line)
        yield Statement(table if opening else (*table, *parts), line, start, at, bool(opening))


def value_span(text: str, statement: Statement) -> tuple[int, int]:
    """Where the value of a key begins and ends, without blanks and comments around it."""
    _, behind = _key(text, statement.start, statement.line)
    begin = _BLANK.match(text, text.index("=", behind) + 1).end()  # type: ignore[union-attr] # it matches nothing, too
    at, depth, end = begin, 0, statement.end
    while (mark := _MARK.search(text, at, statement.end)) is not None:
        sign, at = mark.group(), mark.end()
        depth += (sign in "[{") - (sign in "]}")
        if sign in _STRINGS:
            at = _STRINGS[sign].match(text, at).end()  # type: ignore[union-attr] # statements() has read it
        elif sign == "#" and depth > 0:
            at = _end_of_line(text, at)
        elif sign in "#\n" and depth <= 0:
            end = mark.start()
            break
    return begin, begin + len(text[begin:end].rstrip())


def _key(text: str, at: int, line: int) -> tuple[tuple[str, ...], int]:
    """The parts of a dotted key and where it ends; no parts where there is no key."""
    parts: list[str] = []
    while (match := _PART.match(text, at)) is not None:
        parts.append(next(group for group in match.groups() if group is not None))
        at = match.end()
        if len(parts) > MOST_LEVELS:
            raise TooDeep(line)
        if not text.startswith(".", at):
            return tuple(parts), at
        at += 1
    return (), at


def _table(parts: tuple[str, ...], counts: dict[KeyPath, int], item: bool) -> KeyPath:
    """The path of a header: outer arrays of tables stand for their last item, ``item`` begins another one."""
    path: KeyPath = ()
    for part in parts[:-1]:
        path = (*path, part)
        if path in counts:
            path = (*path, counts[path] - 1)
    path = (*path, parts[-1])
    if not item:
        return path
    counts[path] = counts.get(path, 0) + 1
    return (*path, counts[path] - 1)


def _behind_value(text: str, at: int, line: int) -> int:
    """Behind the line on which the value that begins after ``at`` ends; the text's end where it never does."""
    depth = 0
    while (mark := _MARK.search(text, at)) is not None:
        sign, at = mark.group(), mark.end()
        if sign == "\n" and depth <= 0:
            return at
        if sign in "[{":
            depth += 1
            if depth > MOST_LEVELS:
                raise TooDeep(line)
        elif sign in "]}":
            depth -= 1
        elif sign == "#":
            at = _end_of_line(text, at)
        elif sign != "\n":
            whole = _STRINGS[sign].match(text, at)
            if whole is None:
                return len(text)
            at = whole.end()
    return len(text)


def _end_of_line(text: str, at: int) -> int:
    found = text.find("\n", at)
    return found if found >= 0 else len(text)
