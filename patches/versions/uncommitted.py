# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of a checkout that are not as the commit has them that is checked out: no revision shows them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from linesmith.patches.versions.git import Git, Noted
from linesmith.patches.versions.paths import is_of_interest, plain, read_inside
from linesmith.patches.versions.versions import MOST_BYTES


def uncommitted(git: Git) -> Iterator[str]:
    """A sentence on tracked files that can say something of layouts and differ from ``HEAD``."""
    paths = {one.path for one in git.staged()} | {one.entry.path for one in git.noted() if _is_changed(git.top, one)}
    names = sorted(plain(path) or repr(os.fsdecode(path)) for path in paths if is_of_interest(path))
    if names:
        counted = f"{len(names)} files" if len(names) > 1 else "1 file"
        more = ", …" if len(names) > 1 else ""
        yield f"changes of {counted} ({names[0]}{more}) are not committed, and not judged: HEAD is"


def _is_changed(top: Path, noted: Noted) -> bool:
    """Whether a file that looks otherwise than git saw it has another content too."""
    name = os.fsdecode(noted.entry.path)
    if not noted.entry.is_regular or not is_of_interest(noted.entry.path):
        return False
    with suppress(OSError):
        now = (top / name).lstat()
        if (now.st_mtime_ns, now.st_size) == (noted.time, noted.size):
            return False
    text = read_inside(top, name, MOST_BYTES)
    return text is None or _blob(text, noted.entry.blob) != noted.entry.blob


def _blob(text: bytes, like: str) -> str:
    """The name that git gives to a content, in the kind of hash that the repository has."""
    make = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return make(b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest()
