# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks through all sources of a tree for what text alone shows of records: other machines, drivers not built.

What was found is kept with the time of the search. Later only files are read that have changed since, by the time that
the file system gives, which nobody can set back (st_ctime, inode(7)).
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
# The clock of a file system may be a little behind.
_SLACK_NS = 2_000_000_000
_FORMAT = 2


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """The files with something to tell, as they were when the search began at ``since_ns``."""

    since_ns: int
    found: dict[str, TextPlaces]


_DECODER = msgspec.json.Decoder(_Kept)


def text_places(
    tree: Path, records: Sequence[str], tell: Callable[[str], None]
) -> Mapping[str, Mapping[str, TextPlaces]]:
    """What the files of ``tree`` show of each record, by record and by file relative to the tree."""
    began = time.time_ns() - _SLACK_NS
    kept = {record: _load(tree, record) for record in records}
    looking = {record: RecordText(record) for record in records}
    found: dict[str, dict[str, TextPlaces]] = {record: {} for record in records}
    oldest = min((one.since_ns for one in kept.values()), default=0)
    if not oldest:
        tell(f"looking through all sources of {tree}")
    for file, changed in _sources(tree):
        content = _read(tree / file) if changed >= oldest else b""
        for record, one in kept.items():
            places = looking[record].places(file, content) if changed >= one.since_ns else one.found.get(file)
            if places is not None and (places.places or places.declares):
                found[record][file] = places
    for record, known in found.items():
        _save(tree, record, _Kept(began, known))
    return found


def _sources(tree: Path) -> Iterator[tuple[str, int]]:
    """Every C file below ``tree``, relative to it, with the time in nanoseconds at which it last changed."""
    prefix = len(str(tree)) + 1
    waiting = [str(tree)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED:
                        waiting.append(entry.path)
                elif entry.name.endswith(_SUFFIXES) and entry.is_file():
                    yield entry.path[prefix:], entry.stat().st_ctime_ns


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
    return _Kept(0, {})


def _save(tree: Path, record: str, kept: _Kept) -> None:
    with suppress(OSError):
        keep(cache_directory(), _name(tree, record), (msgspec.json.encode(kept),))
