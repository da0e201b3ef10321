# SPDX-License-Identifier: GPL-2.0-or-later
"""The index and the access map of the kernel, made once for each version of their readers and kept between runs.

What commands keep beside them is of the product that made it: another one begins with these two alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keeping import Keeper, product_digest

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts.dwarf import read_layouts

_READERS = ("analyzer/layouts", "analyzer/access", "analyzer/base", "analyzer/model")


def index_of(vmlinux: Path, kept: Keeper) -> Path:
    """A cache directory for commands that read this vmlinux and no other file."""
    status = vmlinux.stat()
    file = f"{vmlinux} {status.st_size} {status.st_mtime_ns}"

    def begin(made: Path) -> None:
        for one in kept(
            "kernel-layouts", f"{product_digest(*_READERS)} {file}", lambda new: _read(vmlinux, new)
        ).iterdir():
            (made / one.name).hardlink_to(one)

    return kept("kernel-index", f"{product_digest()} {file}", begin)


@contextmanager
def cached_kernel(vmlinux: Path, kept: Keeper) -> Iterator[None]:
    """What this process reads of ``vmlinux`` comes from what is kept; no test of the reading itself may use it."""
    with _cache_directory(index_of(vmlinux, kept)):
        yield


def _read(vmlinux: Path, folder: Path) -> None:
    with _cache_directory(folder):
        read_layouts(vmlinux)
        read_accesses(vmlinux)


@contextmanager
def _cache_directory(folder: Path) -> Iterator[None]:
    before = os.environ.get("LINESMITH_CACHE_DIR")
    os.environ["LINESMITH_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        del os.environ["LINESMITH_CACHE_DIR"]
        if before is not None:
            os.environ["LINESMITH_CACHE_DIR"] = before
