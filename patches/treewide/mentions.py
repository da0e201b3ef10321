# SPDX-License-Identifier: GPL-2.0-or-later
"""Every place of a tree that names an identifier in code, whatever the configuration or the machine."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.preparation import Progress
from linesmith.patches.source.macros import LineCounter, without_comments

_SUFFIXES = (".c", ".h", ".S", ".inc", ".hh", ".def", ".lds", ".cc", ".cpp")
_SKIPPED = frozenset((".git", ".svn", ".hg", "node_modules", "__pycache__"))
_MOST_BYTES = 32 << 20
# What is shown of a line.
_MOST_OF_A_LINE = 1 << 12
# Files between two reports of progress.
_REPORT_EVERY = 10_000
# Bytes in front of a word that are read to tell what it is.
_CONTEXT = 400
_ACCESS = re.compile(rb"(?:->|(?<=[\w)\]])\s*\.)\s*\Z")
_DEFINE = re.compile(rb"^[ \t]*\#[ \t]*define[ \t]+(\w+)(?:\\\r?\n|[^\n])*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place of a word; ``offset`` is its first byte in ``file``, ``line`` counts from 1, ``column`` from 0.

    ``text`` is the source line without the blanks at its ends. ``macro`` names the macro whose definition it is in.
    """

    file: str
    line: int
    column: int
    offset: int
    text: str
    macro: str = ""

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"

    def ahead(self, source: bytes) -> bytes:
        """Some of ``source``, the text of the file, right in front of the word."""
        return source[max(0, self.offset - _CONTEXT) : self.offset]

    def is_access(self, source: bytes) -> bool:
        """Whether the word follows ``->`` or a dot behind an expression."""
        return _ACCESS.search(self.ahead(source)) is not None


def mentions(tree: Path, word: str, progress: Progress) -> tuple[Mention, ...]:
    """The places of ``word`` outside of comments and strings, by file; links and build results are not entered."""
    return mentions_of(tree, (word,), progress)[word]


def mentions_of(tree: Path, words: Collection[str], progress: Progress) -> dict[str, tuple[Mention, ...]]:
    """The places of each word, as ``mentions`` gives them, from one reading of the tree."""
    places: dict[str, list[Mention]] = {word: [] for word in words}
    for count, file in enumerate(source_files(tree), 1):
        if count % _REPORT_EVERY == 0:
            progress(f"looking for {', '.join(words)}: {count} files read")
        source = read_source(tree / file)
        for word in words:
            if word.encode() in source:
                places[word] += mentions_in(file, source, word)
    return {word: tuple(group) for word, group in places.items()}


def mentions_in(file: str, source: bytes, word: str) -> Iterator[Mention]:
    """The places of ``word`` in the code of one file."""
    code = without_comments(source)
    lines = LineCounter(source)
    definitions = _DEFINE.finditer(code)
    definition = next(definitions, None)
    for match in re.finditer(rb"\b" + re.escape(word.encode()) + rb"\b", code):
        at = match.start()
        while definition is not None and definition.end() <= at:
            definition = next(definitions, None)
        macro = definition[1].decode() if definition is not None and definition.start() <= at else ""
        start = source.rfind(b"\n", 0, at) + 1
        end = source.find(b"\n", at)
        text = source[start : end if end >= 0 else len(source)][:_MOST_OF_A_LINE].decode("utf-8", "replace").strip()
        yield Mention(file, lines.number(start), at - start, at, text, macro)


def source_files(tree: Path) -> Iterator[str]:
    """C, header and assembly files below ``tree``, relative to it, in the order of their names."""
    for place, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            if name.endswith(_SUFFIXES):
                yield os.path.relpath(os.path.join(place, name), tree)  # noqa: PTH118 - a path per file of 80,000


def unread_files(tree: Path) -> Iterator[Refusal]:
    """The files below ``tree`` that are left out because of their size."""
    for file in source_files(tree):
        status = (tree / file).lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size > _MOST_BYTES:
            reason = f"this file is larger than {_MOST_BYTES >> 20} MiB and was not read"
            yield Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, "change it by hand")


def read_source(path: Path) -> bytes:
    """The bytes of a regular file; none of what is a link, cannot be read, or is no source for its size."""
    try:
        # A pipe is opened without waiting for somebody who writes into it.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
                return b""
            return file.read()
    except OSError:
        return b""
