# SPDX-License-Identifier: GPL-2.0-or-later
"""What the files of a tree told, kept in the cache with a stamp of each file that was seen.

Later only files are read whose stamp is another: its inode, its size, or the time that the file system gives, which
nobody can set back (st_ctime, inode(7)). That time alone would not do: it stays as it is when a folder above the file
is renamed, or another tree comes to its place.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from linesmith.analyzer.cache import cache_directory
from linesmith.analyzer.errors import CacheError
from linesmith.analyzer.store import keep

_SKIPPED = frozenset((".git", ".svn", ".hg", "node_modules", "__pycache__"))
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
                    if entry.name not in _SKIPPED:
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
