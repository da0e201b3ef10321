# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks of files, which end with the process that holds them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
