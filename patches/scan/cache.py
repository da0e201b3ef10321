# SPDX-License-Identifier: GPL-2.0-or-later
"""What the cache keeps of a scan, so that only what changed is read again.

Answers: a unit is parsed again only when a file that it reads, or its command, changed. A file for each record of a
build holds each text once, in a table that grows from line to line. A line is added as soon as its unit is parsed, so
that an interrupted scan goes on where it ended.

What the files of a tree show, with a stamp of each: inode, size and the time that the file system gives, which nobody
can set back (st_ctime, inode(7)). That time alone stays as it is when a folder above the file is renamed.

Which units count for a record, as long as no file, no command and nothing in this package changes. What units include,
where no compiler recorded it, is found in the text, of both arms of each ``#if``.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Generic, TypeVar

import msgspec

from linesmith.analyzer.base.errors import CacheError
from linesmith.analyzer.base.files import cache_directory
from linesmith.analyzer.layouts.store import keep
from linesmith.patches.build.preparation import wait_for_lock
from linesmith.patches.scan.carriers import Files, digest_of
from linesmith.patches.scan.program import UnitAnswer, record_of
from linesmith.patches.scan.units import Database, Unit, selected
from linesmith.patches.source.declaration import SKIPPED, include_path, reached

SUFFIX = ".scan"
_CLUTTER = 4


class AnswerLine(msgspec.Struct, frozen=True, array_like=True):
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


_DECODER = msgspec.json.Decoder(AnswerLine)


class AnswerStore:
    """The answers for ``record``, in a file that stays open (and locked) for one scan."""

    def __init__(self, record: str, file: IO[bytes]) -> None:
        self.record = record
        self.texts: list[str] = []
        self._file = file
        self._numbers: dict[str, int] = {}
        self._lines: dict[str, AnswerLine] = {}
        self._written = end = 0
        # What is sound is read; what a killed process left behind it is cut off.
        self._file.seek(0)
        for text in self._file:
            try:
                line = _DECODER.decode(text)
            except msgspec.MsgspecError:
                break
            if line.first != len(self.texts) or not text.endswith(b"\n"):
                break
            for one in line.texts:
                self._number(one)
            self._lines[line.key] = line
            self._written += 1
            end += len(text)
        self._file.truncate(end)
        self._file.seek(end)

    def sound(self, unit: Unit, files: Files) -> AnswerLine | None:
        """The answer for ``unit``, if all that it was made of is as it was."""
        line = self._lines.get(key_of(unit))
        if line is None or digest_of(files, (self.texts[one] for one in line.includes)) != line.digest:
            return None
        return line

    def add(self, unit: Unit, found: UnitAnswer, files: Files) -> AnswerLine:
        """The answer as a line; it is written down when it says all that it was made of."""
        parts: list[Sequence[str]] = [found.includes]
        for some in (found.records, found.dependencies, found.uses):
            texts = (bytes(part).decode() for part in some)
            known = self._numbers
            parts.append([one for one in texts if one in known or record_of(one.encode()) == self.record])
        line = self._numbered(key_of(unit), digest_of(files, found.includes), parts, found.complaint, found.fatal)
        # What ended the parser may be a file that is not there yet.
        if found.includes and not found.fatal:
            self._write(line)
        return line

    def tidy(self, live: Sequence[AnswerLine]) -> None:
        """Write down the ``live`` answers alone, where much else is in the file."""
        if self._written <= _CLUTTER * (len(live) + 1):
            return
        texts, self.texts, self._numbers = self.texts, [], {}
        self._lines, self._written = {}, 0
        self._file.seek(0)
        self._file.truncate()
        for line in live:
            numbers = (line.includes, line.records, line.dependencies, line.uses)
            parts = ([texts[one] for one in some] for some in numbers)
            self._write(self._numbered(line.key, line.digest, parts, line.complaint, line.fatal))

    def _numbered(
        self, key: str, digest: str, parts: Iterable[Iterable[str]], complaint: str, fatal: bool
    ) -> AnswerLine:
        """A line for the texts of each of the four ``parts``."""
        first = len(self.texts)
        includes, records, dependencies, uses = (tuple(map(self._number, part)) for part in parts)
        fresh = tuple(self.texts[first:])
        return AnswerLine(first, fresh, key, digest, includes, records, dependencies, uses, complaint, fatal)

    def _number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def _write(self, line: AnswerLine) -> None:
        self._lines[line.key] = line
        self._written += 1
        with suppress(OSError):
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()


@contextmanager
def answer_store(database: Database, record: str, program: str, tell: Callable[[str], None]) -> Iterator[AnswerStore]:
    """The answers for ``record``; ``program`` identifies what gave them. Another process is waited for.

    Where there is no cache directory to be used, they are kept for this scan alone.
    """
    with _opened(name_of(SUFFIX, database.tree, database.build, record, program), tell) as file:
        wait_for_lock(file, f"scans for {record}", tell)
        yield AnswerStore(record, file)


def _opened(name: str, tell: Callable[[str], None]) -> IO[bytes]:
    try:
        path = cache_directory() / name
    except CacheError as error:
        tell(f"the answers of this scan are not kept: {error}")
        return TemporaryFile()
    return os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "a+b")


def key_of(unit: Unit) -> str:
    """Names a unit with its command."""
    words = (unit.command,) if isinstance(unit.command, str) else unit.command
    text = "\0".join((unit.file, str(unit.directory), *words))
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


# A file may change again within one tick of the file system's clock, which may be a little behind.
_SLACK_NS = 2_000_000_000

_Shown = TypeVar("_Shown")
Stamp = tuple[int, int, int]


class Stamped(msgspec.Struct, Generic[_Shown], frozen=True, array_like=True):
    """The ``stamps`` of all files (change time in ns, inode, size), and what was ``found`` in some of them.

    The search began at ``since_ns``; a file that changed later may have changed behind it.
    """

    since_ns: int
    stamps: dict[str, Stamp]
    found: dict[str, _Shown]

    def is_current(self, file: str, stamp: Stamp) -> bool:
        """Whether the file is still as it was read."""
        return self.stamps.get(file) == stamp and stamp[0] < self.since_ns


def begun() -> int:
    """From when on, in ns, a file that changes may change behind a search that begins now."""
    return time.time_ns() - _SLACK_NS


def stamps(tree: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[str, Stamp]]:
    """Every file below ``tree`` that ends so, relative to it, with its stamp."""
    prefix = len(str(tree)) + 1
    waiting = [str(tree)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED:
                        waiting.append(entry.path)
                elif entry.name.endswith(suffixes) and entry.is_file():
                    status = entry.stat()
                    yield entry.path[prefix:], (status.st_ctime_ns, status.st_ino, status.st_size)


def name_of(suffix: str, *parts: object) -> str:
    """The name in the cache of what was found for the ``parts``."""
    text = "\0".join(map(str, parts))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24] + suffix


def load(decoder: msgspec.json.Decoder[Stamped[_Shown]], name: str) -> Stamped[_Shown]:
    """What is kept under the name; nothing where nothing sound is."""
    with suppress(CacheError, OSError, msgspec.MsgspecError):
        return decoder.decode((cache_directory() / name).read_bytes())
    return Stamped(0, {}, {})


def save(name: str, found: Stamped[_Shown]) -> None:
    """Keep it. Names that are no UTF-8 are not kept: such a tree is read each time."""
    with suppress(CacheError, OSError, UnicodeError):
        keep(cache_directory(), name, (msgspec.json.encode(found),))


_OPTION = re.compile(r"(-I|-isystem|-iquote|-idirafter|-include|-imacros)(?:\s*|=)(\S+)")
_FORCED = ("-include", "-imacros")
_OF_THE_SYSTEM = ("/usr/local/include", "/usr/include")


def followed(units: Iterable[Unit], files: Files) -> Iterator[Unit]:
    """The units with what they include, where that is not recorded; a file is read once for each list of folders."""
    is_file = lru_cache(maxsize=None)(os.path.isfile)

    @cache
    def search(
        directory: Path, options: Sequence[tuple[str, str]], bare: bool
    ) -> tuple[Callable[[str], tuple[str, ...]], tuple[str, ...]]:
        """Where a compiler call looks for files, and those that it is forced to read first of all."""
        places = [(name, os.path.normpath(directory / value)) for name, value in options]
        forced = tuple(place for name, place in places if name in _FORCED)
        folders = dict.fromkeys(place for name, place in places if name not in _FORCED)
        return include_path((*folders, *(() if bare else _OF_THE_SYSTEM)), files.content, is_file), forced

    for unit in units:
        if unit.includes is not None:
            yield unit
            continue
        text = unit.command if isinstance(unit.command, str) else " ".join(unit.command)
        included_by, forced = search(unit.directory, tuple(_OPTION.findall(text)), "-nostdinc" in text)
        yield replace(unit, includes=frozenset(reached((unit.file, *forced), included_by) - {unit.file}))


SELECTION_SUFFIX = ".units"


class _SelectedUnits(msgspec.Struct, frozen=True, array_like=True):
    """The keys of the units that count; ``digest`` is that of all units and of the ``files`` that decided so."""

    digest: str
    keys: frozenset[str]
    files: tuple[str, ...]


_SELECTION_DECODER = msgspec.json.Decoder(_SelectedUnits)


@cache
def stamp() -> str:
    """What changes when the way of choosing does, or the format of what is kept."""
    digest = hashlib.blake2b(digest_size=12)
    for module in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()


class Selections:
    """The selections of one build."""

    def __init__(self, database: Database, files: Files) -> None:
        self.database = database
        self.files = files
        self.keys = {key_of(unit): unit for unit in database.units}

    def units(self, record: str) -> tuple[Unit, ...]:
        """The units that count for ``record``."""
        name = name_of(SELECTION_SUFFIX, self.database.tree, self.database.build, record, stamp())
        with suppress(CacheError, OSError, msgspec.MsgspecError):
            kept = _SELECTION_DECODER.decode((cache_directory() / name).read_bytes())
            if kept.digest == self._digest(kept.files):
                return tuple(unit for key, unit in self.keys.items() if key in kept.keys)
        units = selected(self._followed, record, self.files)
        files = tuple(sorted({file for unit in self._followed for file in (*(unit.includes or ()), unit.file)}))
        found = _SelectedUnits(self._digest(files), frozenset(map(key_of, units)), files)
        with suppress(CacheError, OSError):
            keep(cache_directory(), name, (msgspec.json.encode(found),))
        return units

    @cached_property
    def _followed(self) -> tuple[Unit, ...]:
        return tuple(followed(self.database.units, self.files))

    def _digest(self, names: Sequence[str]) -> str:
        text = "".join((digest_of(self.files, names), *self.keys))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
