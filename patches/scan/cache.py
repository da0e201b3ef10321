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
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Generic, TypeVar

import msgspec

from linesmith.analyzer.base.cache import cache_directory
from linesmith.analyzer.base.errors import CacheError
from linesmith.analyzer.layouts.store import keep
from linesmith.patches.scan.carriers import Files, digest_of
from linesmith.patches.scan.program import UnitAnswer, record_of
from linesmith.patches.scan.units import Database, Unit, selected
from linesmith.patches.source.declaration import SKIPPED, IncludePath

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
        self._written = 0
        self._load()

    def sound(self, unit: Unit, files: Files) -> AnswerLine | None:
        """The answer for ``unit``, if all that it was made of is as it was."""
        line = self._lines.get(key_of(unit))
        if line is None or digest_of(files, (self.texts[one] for one in line.includes)) != line.digest:
            return None
        return line

    def add(self, unit: Unit, found: UnitAnswer, files: Files) -> AnswerLine:
        """The answer as a line; it is written down when it says all that it was made of."""
        first = len(self.texts)
        records, dependencies, uses = (
            self._number_all(self._own(one)) for one in (found.records, found.dependencies, found.uses)
        )
        includes = self._number_all(found.includes)
        digest = digest_of(files, found.includes)
        told, named = tuple(self.texts[first:]), key_of(unit)
        made = includes, records, dependencies, uses
        line = AnswerLine(first, told, named, digest, *made, found.complaint, found.fatal)
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
            first = len(self.texts)
            parts = (line.includes, line.records, line.dependencies, line.uses)
            includes, records, dependencies, uses = (self._number_all(texts[one] for one in part) for part in parts)
            made = includes, records, dependencies, uses
            self._write(
                AnswerLine(first, tuple(self.texts[first:]), line.key, line.digest, *made, line.complaint, line.fatal)
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

    def _write(self, line: AnswerLine) -> None:
        self._lines[line.key] = line
        self._written += 1
        with suppress(OSError):
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()


@contextmanager
def kept_answers(database: Database, record: str, program: str, tell: Callable[[str], None]) -> Iterator[AnswerStore]:
    """The answers for ``record``; ``program`` identifies what gave them. Another process is waited for.

    Where there is no cache directory to be used, they are kept for this scan alone.
    """
    with _opened(database.cache_name(record, program) + SUFFIX, tell) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"waiting for another process that scans for {record}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield AnswerStore(record, file)


def _opened(name: str, tell: Callable[[str], None]) -> IO[bytes]:
    try:
        path = cache_directory() / name
    except CacheError as error:
        tell(f"the answers of this scan are not kept: {error}")
        return TemporaryFile()
    return os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "a+b")


def _line(text: bytes) -> AnswerLine | None:
    try:
        return _DECODER.decode(text) if text.endswith(b"\n") else None
    except msgspec.MsgspecError:
        return None


def key_of(unit: Unit) -> str:
    """Names a unit with its command."""
    words = (unit.command,) if isinstance(unit.command, str) else unit.command
    text = "\0".join((unit.file, str(unit.directory), *words))
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


# What the files of a tree told, kept in the cache with a stamp of each file that was seen.
#
# Later only files are read whose stamp is another: its inode, its size, or the time that the file system gives, which
# nobody can set back (st_ctime, inode(7)). That time alone would not do: it stays as it is when a folder above the
# file is renamed, or another tree comes to its place.

# A file may change again within one tick of the file system's clock, which may be a little behind.
_SLACK_NS = 2_000_000_000

_Told = TypeVar("_Told")
Stamp = tuple[int, int, int]


class Stamped(msgspec.Struct, Generic[_Told], frozen=True, array_like=True):
    """The ``stamps`` of all files (change time in ns, inode, size), and what those told that were ``found`` to tell.

    The search began at ``since_ns``; a file that changed later may have changed behind it.
    """

    since_ns: int
    stamps: dict[str, Stamp]
    found: dict[str, _Told]

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


def load(decoder: msgspec.json.Decoder[Stamped[_Told]], name: str) -> Stamped[_Told]:
    """What is kept under the name; nothing where nothing sound is."""
    with suppress(CacheError, OSError, msgspec.MsgspecError):
        return decoder.decode((cache_directory() / name).read_bytes())
    return Stamped(0, {}, {})


def save(name: str, found: Stamped[_Told]) -> None:
    """Keep it. Names that are no UTF-8 are not kept: such a tree is read each time."""
    with suppress(CacheError, OSError, UnicodeError):
        keep(cache_directory(), name, (msgspec.json.encode(found),))


# What units include, found in the text: of both arms of each ``#if``, so rather too much than too little.
#
# It stands in for a compiler's record where there is none; ``#include`` of a macro is left out.

_OPTION = re.compile(r"(-I|-isystem|-iquote|-idirafter|-include|-imacros)(?:\s*|=)(\S+)")
_FORCED = ("-include", "-imacros")
_OF_THE_SYSTEM = ("/usr/local/include", "/usr/include")


@dataclass(frozen=True, slots=True)
class _IncludeSearch:
    """Where a compiler call looks for files: ``forced`` ones come first of all."""

    path: IncludePath
    forced: tuple[str, ...]


class IncludeWalk:
    """Follows ``#include``; what a file includes is worked out once for each list of folders."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._searches: dict[tuple[str, str], _IncludeSearch] = {}
        self._is_file: dict[str, bool] = {}

    def followed(self, units: Iterable[Unit]) -> Iterator[Unit]:
        """The units with what they include, where that is not recorded."""
        for unit in units:
            yield unit if unit.includes is not None else replace(unit, includes=self._all_of(unit))

    def _all_of(self, unit: Unit) -> frozenset[str]:
        search = self._search(unit)
        seen = {unit.file}
        waiting = [unit.file, *search.forced]
        seen.update(search.forced)
        while waiting:
            fresh = set(search.path.of(waiting.pop())) - seen
            seen |= fresh
            waiting += fresh
        return frozenset(seen - {unit.file})

    def _search(self, unit: Unit) -> _IncludeSearch:
        options = " ".join(f"{name}\0{value}" for name, value in _OPTION.findall(_text(unit)))
        key = str(unit.directory), options
        found = self._searches.get(key)
        if found is None:
            found = self._searches[key] = self._searched(unit)
        return found

    def _searched(self, unit: Unit) -> _IncludeSearch:
        text = _text(unit)
        places = [(name, os.path.normpath(unit.directory / value)) for name, value in _OPTION.findall(text)]
        forced = tuple(place for name, place in places if name in _FORCED)
        folders = [place for name, place in places if name not in _FORCED]
        system = () if "-nostdinc" in text else _OF_THE_SYSTEM
        path = IncludePath((*dict.fromkeys(folders), *system), self.files.content, self._exists)
        return _IncludeSearch(path, forced)

    def _exists(self, path: str) -> bool:
        found = self._is_file.get(path)
        if found is None:
            found = self._is_file[path] = os.path.isfile(path)  # noqa: PTH113 - false for a name that no file can have
        return found


def _text(unit: Unit) -> str:
    return unit.command if isinstance(unit.command, str) else " ".join(unit.command)


# Which units count for a record, kept in the cache: it stays true as long as no file and no command changes.
#
# Nor must what chooses them change, all of which is in this package: its own text is part of the name.

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
    told = hashlib.blake2b(digest_size=12)
    for module in sorted(Path(__file__).parent.glob("*.py")):
        told.update(module.read_bytes())
    return told.hexdigest()


class Selections:
    """The selections of one build."""

    def __init__(self, database: Database, files: Files) -> None:
        self.database = database
        self.files = files
        self.keys = {key_of(unit): unit for unit in database.units}

    def units(self, record: str) -> tuple[Unit, ...]:
        """The units that count for ``record``."""
        name = self.database.cache_name(record, stamp()) + SELECTION_SUFFIX
        with suppress(CacheError, OSError, msgspec.MsgspecError):
            kept = _SELECTION_DECODER.decode((cache_directory() / name).read_bytes())
            if kept.digest == self._digest(kept.files):
                return tuple(unit for key, unit in self.keys.items() if key in kept.keys)
        chosen = selected(self._followed, record, self.files)
        self._keep(name, chosen)
        return chosen

    @cached_property
    def _followed(self) -> tuple[Unit, ...]:
        return tuple(IncludeWalk(self.files).followed(self.database.units))

    @cached_property
    def _everything(self) -> tuple[str, ...]:
        return tuple(sorted({file for unit in self._followed for file in (*(unit.includes or ()), unit.file)}))

    def _digest(self, names: Sequence[str]) -> str:
        told = (digest_of(self.files, names), *self.keys)
        return hashlib.blake2b("".join(told).encode(), digest_size=16).hexdigest()

    def _keep(self, name: str, chosen: Sequence[Unit]) -> None:
        keys = frozenset(key_of(unit) for unit in chosen)
        kept = _SelectedUnits(self._digest(self._everything), keys, self._everything)
        with suppress(CacheError, OSError):
            keep(cache_directory(), name, (msgspec.json.encode(kept),))
