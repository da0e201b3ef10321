# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of a source tree: the digest of every source file, kept between builds for files that have not changed."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.durable import replace
from linesmith.analyzer.errors import TreeError
from linesmith.plugins.builders.sources import sources

# A file written twice within the clock's tick keeps its times: digests this fresh (ns) are not kept.
_FRESH = 2_000_000_000
_BLOCK = 1 << 20

# Size, times of change (ns) and inode: as long as these stay, so does the content.
Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Census:
    """The source files of ``tree``: path to what it is (``file``, ``program`` or ``link``) with its digest.

    ``stamps`` has what the file system said of each.
    """

    tree: Path
    files: Mapping[str, str]
    stamps: Mapping[str, Stamp]

    def digest(self) -> str:
        """One digest of all paths and contents."""
        total = hashlib.blake2b(digest_size=16)
        for path, seen in sorted(self.files.items()):
            total.update(f"{path}\0{seen}\0".encode("utf-8", "surrogateescape"))
        return total.hexdigest()


def take(tree: Path, kept: Path, ours: Collection[Path] = ()) -> Census:
    """The census of ``tree``, which is only read, without what lies below the folders ``ours``.

    ``kept`` is a file of ours for the digests. Raises ``TreeError``.
    """
    known = _known(kept)
    now = time.time_ns()
    files: dict[str, str] = {}
    stamps: dict[str, Stamp] = {}
    for path in sources(tree, ours):
        file = f"{tree}/{path}"
        try:
            found = os.lstat(file)
            stamps[path] = stamp_of(found)
            before = known.get(path)
            files[path] = before[1] if before and before[0] == stamps[path] else _state(file, found.st_mode)
        except OSError as error:
            raise TreeError(f"{file} cannot be read ({error.strerror})") from error
    settled = {path: (stamp, files[path]) for path, stamp in stamps.items() if now - max(stamp[1:3]) > _FRESH}
    if settled != known:
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace(kept, json.dumps(settled).encode())
    return Census(tree, files, stamps)


def of_bytes(kind: str, content: bytes) -> str:
    """The state of a file of that kind with that content."""
    return f"{kind} {hashlib.blake2b(content, digest_size=16).hexdigest()}"


def stamp_of(found: os.stat_result) -> Stamp:
    """What changes whenever the content does."""
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _state(path: str, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return of_bytes("link", os.fsencode(Path(path).readlink()))
    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return f"{'program' if mode & stat.S_IXUSR else 'file'} {digest.hexdigest()}"


def _as_stamp(size: int, changed: int, touched: int, inode: int) -> Stamp:
    return size, changed, touched, inode


def _known(kept: Path) -> dict[str, tuple[Stamp, str]]:
    """What an earlier census kept; nothing when the file is not there or damaged."""
    try:
        loaded = json.loads(kept.read_bytes())
        return {path: (_as_stamp(*stamp), str(seen)) for path, (stamp, seen) in loaded.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
