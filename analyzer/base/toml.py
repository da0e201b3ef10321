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
        lines = dict(statements(text))
        return TomlText(shown, tomllib.loads(text), lines)
    except _TooDeep as error:
        raise TomlError(f"{shown}:{error.line}: nested more than {MOST_LEVELS} deep; use fewer levels") from None
    except (ValueError, RecursionError) as error:
        match = _AT_LINE.search(str(error))
        line = (match[1] if match else None) or text.count("\n") + 1
        said = _AT_LINE.sub("", str(error))
        raise TomlError(f"{shown}:{line}: not valid TOML: {said}; fix that line") from None


def statements(text: str) -> Iterator[tuple[KeyPath, int]]:
    """The path that each statement sets and its line, up to the first that is no TOML; the time is linear in the text.

    Items of arrays of tables are numbered: the first ``[[type]]`` is ``("type", 0)``.
    """
    breaks = [match.start() for match in re.finditer("\n", text)]
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    at = 0
    while (at := _BLANK.match(text, at).end()) < len(text):  # type: ignore[union-attr] # it matches nothing, too
        line = bisect_left(breaks, at) + 1
        end = breaks[line - 1] + 1 if line <= len(breaks) else len(text)
        if text[at] == "#":
            at = end
            continue
        opening = 2 if text.startswith("[[", at) else int(text[at] == "[")
        parts, behind = _key(text, at + opening, line)
        if not parts:
            return
        if opening:
            table, at = _table(parts, counts, opening == 2), end
            yield table, line
        else:
            at = _behind_value(text, behind, line)
            yield (*table, *parts), line


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


def _behind_value(text: str, at: int, line: int) -> int:
    """Where the line behind the value that follows ``at`` begins: the text's end where the value never ends."""
    depth = 0
    while (mark := _MARK.search(text, at)) is not None:
        sign, at = mark.group(), mark.end()
        if sign == "\n" and depth <= 0:
            return at
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
    return len(text)
