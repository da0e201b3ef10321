# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of a kernel tree that decide what make generates and which units it compiles, beside the configuration."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_NAMES = ("Makefile", "Kbuild", "Kconfig")
# Kbuild makes headers of these (Kbuild in the root of the tree).
_BOUNDS = "kernel/bounds.c"
_OFFSETS = "asm-offsets"


def build_stamp(tree: Path) -> str:
    """What changes when one of these files comes, goes, or is written: a digest of names, sizes and times."""
    told = hashlib.blake2b(digest_size=16)
    for name in sorted(_build_files(str(tree))):
        told.update(f"{name}\0".encode("utf-8", "surrogateescape"))
        with suppress(OSError):
            status = (tree / name).stat()
            told.update(f"{status.st_size} {status.st_mtime_ns}\0".encode())
    return told.hexdigest()


def _build_files(tree: str) -> Iterator[str]:
    """Their names relative to ``tree``."""
    for folder, folders, files in os.walk(tree):
        if ".git" in folders:
            folders.remove(".git")
        inside = f"{folder}/"[len(tree) + 1 :]
        for file in files:
            name = f"{inside}{file}"
            if file.startswith(_NAMES) or name == _BOUNDS or (file.startswith(_OFFSETS) and file.endswith(".c")):
                yield name
