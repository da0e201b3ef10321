# SPDX-License-Identifier: GPL-2.0-or-later
"""The index and the access map of the real kernel, made once for each version of the product."""

from __future__ import annotations

from pathlib import Path

from keeping import Keeper, product_digest
from linesmith_command import linesmith

# A report of a line that no type explains: the command makes the index and the map before it says so.
_REPORT = (
    "  0  1  2  3  0  0x1000\n  100.00%  100.00%  100.00%  0.00%  0x8  0  1  0x40  1  1  1  1  1  [k] f  v  f+1  0\n"
)


def index_of(vmlinux: Path, kept: Keeper) -> Path:
    """A cache directory for commands that read this vmlinux and no other file."""

    def make(folder: Path) -> None:
        report = folder.with_name(f"{folder.name}.txt")
        report.write_text(_REPORT)
        try:
            done = linesmith("hot", vmlinux, report, cache=folder)
        finally:
            report.unlink()
        assert done.returncode == 0, done.stderr

    status = vmlinux.stat()
    key = f"{product_digest()} {vmlinux} {status.st_size} {status.st_mtime_ns}"
    return kept("access-kernel", key, make)
