# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of a source tree: the digest of every source file, kept between builds for files that have not changed."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import TreeError
from linesmith.plugins.builders.durable import replace
from linesmith.plugins.builders.sources import sources

# A file written twice within the clock's tick keeps its times: digests this fresh (ns) are not kept.
_FRESH = 2_000_000_000
_BLOCK = 1 << 20

# Size, times of change (ns) and inode: as long as these stay, so does the content.
Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Census:
    """The source files of ``tree``: path to what it is (``file``, ``program`` or ``link``) and its digest."""

    tree: Path
    files: Mapping[str, str]

    def digest(self) -> str:
        """One digest of all paths and contents."""
        total = hashlib.blake2b(digest_size=16)
        for path, state in sorted(self.files.items()):
            total.update(f"{path}\0{state}\0".encode("utf-8", "surrogateescape"))
        return total.hexdigest()


def take(tree: Path, kept: Path) -> Census:
    """The census of ``tree``, which is only read; ``kept`` is a file of ours for the digests. Raises ``TreeError``."""
    known = _known(kept)
    now = time.time_ns()
    files: dict[str, str] = {}
    stamps: dict[str, tuple[Stamp, str]] = {}
    for path in sources(tree):
        try:
            stamp = _stamp(tree / path)
            before = known.get(path)
            files[path] = before[1] if before and before[0] == stamp else state(tree / path)
        except OSError as error:
            raise TreeError(f"{tree / path} cannot be read ({error.strerror})") from error
        if now - max(stamp[1:3]) > _FRESH:
            stamps[path] = stamp, files[path]
    if stamps != known:
        replace(kept, json.dumps(stamps).encode())
    return Census(tree, files)


def state(path: Path) -> str:
    """What the file is, and the digest of its content or of its link's target. Raises ``OSError``."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return of_bytes("link", os.fsencode(path.readlink()))
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return f"{'program' if mode & stat.S_IXUSR else 'file'} {digest.hexdigest()}"


def of_bytes(kind: str, content: bytes) -> str:
    """The state of a file of that kind with that content."""
    return f"{kind} {hashlib.blake2b(content, digest_size=16).hexdigest()}"


def _stamp(path: Path) -> Stamp:
    found = path.lstat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _as_stamp(size: int, changed: int, touched: int, inode: int) -> Stamp:
    return size, changed, touched, inode


def _known(kept: Path) -> dict[str, tuple[Stamp, str]]:
    """What an earlier census kept; nothing when the file is not there or damaged."""
    try:
        loaded = json.loads(kept.read_bytes())
        return {path: (_as_stamp(*stamp), str(seen)) for path, (stamp, seen) in loaded.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
