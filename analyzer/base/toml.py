# SPDX-License-Identifier: GPL-2.0-or-later
"""The one reader of TOML: a file within a limit, and what it says where: each table and key with its line.

``tomllib`` tells no lines. tomlkit tells none either, and is slower than linear: docs/intent.md has the figures.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Nothing that people write is deeper; what is read recursively or part by part stays small.
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
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")


class TomlError(ValueError):
    """A file cannot be read as TOML; the message names it, the line, and what to do."""


class _TooDeep(ValueError):
    """Tables, arrays or the parts of a key are nested deeper than ``MOST_LEVELS``; ``line`` is where."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


@dataclass(frozen=True, slots=True)
class Statement:
    """A header, or a key with its value: the ``path`` that it sets, its line from 1, and its characters in the text.

    Items of arrays of tables are numbered: the first ``[[type]]`` is ``("type", 0)``. ``end`` is behind the line break.
    ``value`` is where the value begins and ends, without blanks and comments around it; ``None`` for a header.
    """

    path: KeyPath
    line: int
    start: int
    end: int
    value: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class TomlText:
    """What the file that errors call ``shown`` says, and the line of each table and key in it."""

    shown: str
    values: dict[str, Any]
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """The line of ``path`` (of an array of tables that of the first), or of what it is part of."""
        for length in range(len(path), 0, -1):
            for known in (path[:length], (*path[:length], 0)):
                if known in self.lines:
                    return self.lines[known]
        return 1


def read_toml(path: Path, most: int, what: str) -> TomlText:
    """The file at ``path``, of ``most`` bytes at most; ``what`` is in it. Raises ``TomlError`` and ``OSError``."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise TomlError(f"{path} is larger than {most >> 20} MiB, too large for {what}; name a TOML file")
    return toml_of(decoded(content, str(path)), str(path))


def decoded(content: bytes, shown: str) -> str:
    """The text of a file; raises ``TomlError`` for one that is no UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TomlError(f"{shown}:{line}: not valid UTF-8; save the file as UTF-8") from None


def toml_of(text: str, shown: str) -> TomlText:
    """What a text says; ``shown`` is what errors call its file. Raises ``TomlError``."""
    import tomllib  # costs 3 ms, and most trees and users have no such file

    try:
        # First, for it refuses keys of many parts, which tomllib takes long for.
        lines = {one.path: one.line for one in statements(text)}
        return TomlText(shown, tomllib.loads(text), lines)
    except _TooDeep as error:
        raise TomlError(f"{shown}:{error.line}: nested more than {MOST_LEVELS} deep; use fewer levels") from None
    except (ValueError, RecursionError) as error:
        match = _AT_LINE.search(str(error))
        line = (match[1] if match else None) or text.count("\n") + 1
        said = _AT_LINE.sub("", str(error))
        raise TomlError(f"{shown}:{line}: not valid TOML: {said}; fix that line") from None


def statements(text: str) -> Iterator[Statement]:
    """Every statement in turn, up to the first that is no TOML; the time is linear in the text."""
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
            table, at = _table(parts, counts, opening == 2), end
            yield Statement(table, line, start, at, None)
        else:
            value, at = _value(text, behind, line)
            yield Statement((*table, *parts), line, start, at, value)


def _key(text: str, at: int, line: int) -> tuple[tuple[str, ...], int]:
    """The parts of a dotted key and where it ends; no parts where there is no key."""
    parts: list[str] = []
    while (match := _PART.match(text, at)) is not None:
        parts.append(next(group for group in match.groups() if group is not None))
        at = match.end()
        if len(parts) > MOST_LEVELS:
            raise _TooDeep(line)
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


def _value(text: str, at: int, line: int) -> tuple[tuple[int, int], int]:
    """Where the value that follows ``at`` begins and ends, and where the line behind it begins.

    That is the text's end where the value never does.
    """
    begin = min(at + 1, len(text))  # behind the "="
    begin = _BLANK.match(text, begin).end()  # type: ignore[union-attr] # it matches nothing, too
    depth, end = 0, -1
    while (mark := _MARK.search(text, at)) is not None:
        sign, at = mark.group(), mark.end()
        if sign in "#\n" and depth <= 0 and end < 0:
            end = mark.start()
        if sign == "\n" and depth <= 0:
            break
        if sign in "[{":
            depth += 1
            if depth > MOST_LEVELS:
                raise _TooDeep(line)
        elif sign in "]}":
            depth -= 1
        elif sign == "#":
            found = text.find("\n", at)
            at = found if found >= 0 else len(text)
        elif sign != "\n":
            whole = _STRINGS[sign].match(text, at)
            at = whole.end() if whole else len(text)
    else:
        at = len(text)
    end = len(text) if end < 0 else end
    return (begin, begin + len(text[begin:end].rstrip())), at
