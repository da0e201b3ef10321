# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are there whole or not at all, also after a crash, and locks that end with their holder."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linesmith.analyzer.errors import DiskFull, OutputError

_FULL = (errno.ENOSPC, errno.EDQUOT)


def replace(path: Path, content: bytes) -> None:
    """Write the file under another name and rename it when it is on the disk. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Have the file, or the names in the folder, on the disk. Raises ``OSError``."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Hold the lock of that file, waiting for it; the value is its descriptor.

    A child that gets the descriptor holds the lock too, should we be killed; at our orderly end it is given up for
    all. See flock(2).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield number
    finally:
        fcntl.flock(number, fcntl.LOCK_UN)
        os.close(number)


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock of that file if nobody else does; the value says so."""
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(number)


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Turn what the system says about our files into ``DiskFull`` or ``OutputError``."""
    try:
        yield
    except OSError as error:
        place = error.filename or what
        if error.errno in _FULL:
            raise DiskFull(f"no space is left for {place}; free some and resume") from error
        raise OutputError(f"{place} cannot be written ({error.strerror}); choose another folder") from error
