# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers that are kept in the cache: a unit is parsed again only when a file that it reads, or its command, changed.

One file for each record of a build. Units share most of what they say, since they share headers: a file holds each
text once, in a table that grows from line to line, and units refer to it by number. A line is added as soon as its
unit is parsed, so that an interrupted scan goes on where it ended.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import IO

import msgspec

from linesmith.analyzer.cache import cache_directory
from linesmith.analyzer.errors import CacheError
from linesmith.patches.scan.answer import Answer, record_of
from linesmith.patches.scan.files import Files, digest_of
from linesmith.patches.scan.unit import Database, Unit

SUFFIX = ".scan"
_CLUTTER = 4


class Line(msgspec.Struct, frozen=True, array_like=True):
    """The answer of the unit called ``key``, as numbers of texts; ``texts`` are new, the first has number ``first``.

    ``digest`` is that of the files ``includes``.
    """

    first: int
    texts: tuple[str, ...]
    key: str
    digest: str
    includes: tuple[int, ...]
    records: tuple[int, ...]
    dependencies: tuple[int, ...]
    uses: tuple[int, ...]
    complaint: str
    fatal: bool


_DECODER = msgspec.json.Decoder(Line)


class Kept:
    """The answers for ``record``, in a file that stays open (and locked) for one scan."""

    def __init__(self, record: str, file: IO[bytes]) -> None:
        self.record = record
        self.texts: list[str] = []
        self._file = file
        self._numbers: dict[str, int] = {}
        self._lines: dict[str, Line] = {}
        self._written = 0
        self._load()

    def sound(self, unit: Unit, files: Files) -> Line | None:
        """The answer for ``unit``, if all that it was made of is as it was."""
        line = self._lines.get(key_of(unit))
        if line is None or digest_of(files, (self.texts[one] for one in line.includes)) != line.digest:
            return None
        return line

    def add(self, unit: Unit, found: Answer, files: Files) -> Line:
        """The answer as a line; it is written down when it says all that it was made of."""
        first = len(self.texts)
        records, dependencies, uses = (
            self._number_all(self._own(one)) for one in (found.records, found.dependencies, found.uses)
        )
        includes = self._number_all(found.includes)
        digest = digest_of(files, found.includes)
        told, named = tuple(self.texts[first:]), key_of(unit)
        made = includes, records, dependencies, uses
        line = Line(first, told, named, digest, *made, found.complaint, found.fatal)
        # What ended the parser may be a file that is not there yet.
        if found.includes and not found.fatal:
            self._write(line)
        return line

    def tidy(self, live: Sequence[Line]) -> None:
        """Write down the ``live`` answers alone, where much else is in the file."""
        if self._written <= _CLUTTER * (len(live) + 1):
            return
        texts, self.texts, self._numbers = self.texts, [], {}
        self._lines, self._written = {}, 0
        self._file.seek(0)
        self._file.truncate()
        for line in live:
            first = len(self.texts)
            parts = (line.includes, line.records, line.dependencies, line.uses)
            includes, records, dependencies, uses = (self._number_all(texts[one] for one in part) for part in parts)
            made = includes, records, dependencies, uses
            self._write(
                Line(first, tuple(self.texts[first:]), line.key, line.digest, *made, line.complaint, line.fatal)
            )

    def _own(self, parts: Iterable[msgspec.Raw]) -> Iterator[str]:
        for part in parts:
            text = bytes(part).decode()
            if text in self._numbers or record_of(text.encode()) == self.record:
                yield text

    def _number_all(self, texts: Iterable[str]) -> tuple[int, ...]:
        return tuple(self._number(text) for text in texts)

    def _number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def _load(self) -> None:
        """Read what is sound; what a killed process left behind it is cut off."""
        end = 0
        self._file.seek(0)
        for text in self._file:
            line = _line(text)
            if line is None or line.first != len(self.texts):
                break
            self._number_all(line.texts)
            self._lines[line.key] = line
            self._written += 1
            end += len(text)
        self._file.truncate(end)
        self._file.seek(end)

    def _write(self, line: Line) -> None:
        self._lines[line.key] = line
        self._written += 1
        with suppress(OSError):
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()


@contextmanager
def kept_answers(database: Database, record: str, program: str, tell: Callable[[str], None]) -> Iterator[Kept]:
    """The answers for ``record``; ``program`` identifies what gave them. Another process is waited for.

    Where there is no cache directory to be used, they are kept for this scan alone.
    """
    with _opened(database.cache_name(record, program) + SUFFIX, tell) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"waiting for another process that scans for {record}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield Kept(record, file)


def _opened(name: str, tell: Callable[[str], None]) -> IO[bytes]:
    try:
        path = cache_directory() / name
    except CacheError as error:
        tell(f"the answers of this scan are not kept: {error}")
        return TemporaryFile()
    return os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "a+b")


def _line(text: bytes) -> Line | None:
    try:
        return _DECODER.decode(text) if text.endswith(b"\n") else None
    except msgspec.MsgspecError:
        return None


def key_of(unit: Unit) -> str:
    """Names a unit with its command."""
    words = (unit.command,) if isinstance(unit.command, str) else unit.command
    text = "\0".join((unit.file, str(unit.directory), *words))
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
