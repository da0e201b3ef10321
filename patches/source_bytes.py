# SPDX-License-Identifier: GPL-2.0-or-later
"""The bytes of a source file, where a path leads to one."""

from __future__ import annotations

from pathlib import Path

_MOST_BYTES = 32 << 20


def source_bytes(path: Path, most: int = _MOST_BYTES) -> bytes | None:
    """The file's bytes; ``None`` for what is no regular file, cannot be read, or has more than ``most`` bytes."""
    try:
        if not path.is_file() or path.stat().st_size > most:
            return None
        return path.read_bytes()
    except OSError:
        return None
