# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks through all sources of a tree for what text alone shows of records: other machines, drivers not built.

What was found is kept, with a stamp of each file that was seen. Later only files are read whose stamp is another: its
inode, its size, or the time that the file system gives, which nobody can set back (st_ctime, inode(7)). That time alone
would not do: it stays as it is when a folder above the file is renamed, or another tree comes to its place.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from linesmith.analyzer.store import cache_directory, keep
from linesmith.patches.scan.text_places import RecordText, TextPlaces

SUFFIX = ".places"
_SUFFIXES = (".c", ".h")
_SKIPPED = frozenset((".git", ".svn", ".hg", "node_modules", "__pycache__"))
_MOST_BYTES = 8 << 20
# A file may change again within one tick of the file system's clock, which may be a little behind.
_SLACK_NS = 2_000_000_000
_FORMAT = 3

_Stamp = tuple[int, int, int]


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """The ``stamps`` of all files (change time in ns, inode, size), and those that were ``found`` to tell something.

    The search began at ``since_ns``; a file that changed later may have changed behind it.
    """

    since_ns: int
    stamps: dict[str, _Stamp]
    found: dict[str, TextPlaces]

    def is_current(self, file: str, stamp: _Stamp) -> bool:
        """Whether the file is still as it was read."""
        return self.stamps.get(file) == stamp and stamp[0] < self.since_ns


_DECODER = msgspec.json.Decoder(_Kept)


def text_places(
    tree: Path, records: Sequence[str], tell: Callable[[str], None]
) -> Mapping[str, Mapping[str, TextPlaces]]:
    """What the files of ``tree`` show of each record, by record and by file relative to the tree."""
    began = time.time_ns() - _SLACK_NS
    kept = {record: _load(tree, record) for record in records}
    looking = {record: RecordText(record) for record in records}
    found: dict[str, dict[str, TextPlaces]] = {record: {} for record in records}
    stamps = dict(_sources(tree))
    if not all(one.stamps for one in kept.values()):
        tell(f"looking through all sources of {tree}")
    for file, stamp in stamps.items():
        stale = {record for record, one in kept.items() if not one.is_current(file, stamp)}
        content = _read(tree / file) if stale else b""
        for record, one in kept.items():
            places = looking[record].places(file, content) if record in stale else one.found.get(file)
            if places is not None and (places.places or places.declares):
                found[record][file] = places
    for record, known in found.items():
        _save(tree, record, _Kept(began, stamps, known))
    return found


def _sources(tree: Path) -> Iterator[tuple[str, _Stamp]]:
    """Every C file below ``tree``, relative to it, with its stamp."""
    prefix = len(str(tree)) + 1
    waiting = [str(tree)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED:
                        waiting.append(entry.path)
                elif entry.name.endswith(_SUFFIXES) and entry.is_file():
                    status = entry.stat()
                    yield entry.path[prefix:], (status.st_ctime_ns, status.st_ino, status.st_size)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
    except OSError:
        return b""


def _name(tree: Path, record: str) -> str:
    text = f"{_FORMAT}\0{tree}\0{record}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24] + SUFFIX


def _load(tree: Path, record: str) -> _Kept:
    with suppress(OSError, msgspec.MsgspecError):
        return _DECODER.decode((cache_directory() / _name(tree, record)).read_bytes())
    return _Kept(0, {}, {})


def _save(tree: Path, record: str, kept: _Kept) -> None:
    # Names that are no UTF-8 are not kept: such a tree is read each time.
    with suppress(OSError, UnicodeError):
        keep(cache_directory(), _name(tree, record), (msgspec.json.encode(kept),))
