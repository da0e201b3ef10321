# SPDX-License-Identifier: GPL-2.0-or-later
"""The bytes of a file of a tree: never of one outside it, whatever symbolic links the tree holds."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from functools import lru_cache
from pathlib import Path

MOST_BYTES = 32 << 20
# openat2(2), linux/openat2.h; the number is the same on every machine.
_OPENAT2 = 437
_BENEATH, _NO_MAGIC_LINKS = 0x08, 0x02
# A FIFO or a device must not stop us, nor become our terminal.
_HOW = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


def source_bytes(root: Path, file: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes | None:
    """The bytes of ``file`` below ``root``; links are followed as long as they stay below it.

    ``None`` for what is no regular file, lies elsewhere, cannot be read, or has more than ``most`` bytes.
    """
    try:
        opened = _opened(root, file)
        with os.fdopen(opened, "rb", buffering=0) as found:
            status = os.fstat(opened)
            return found.readall() if stat.S_ISREG(status.st_mode) and status.st_size <= most else None
    except (OSError, ValueError):  # ValueError: a null byte in the name
        return None


def _opened(root: Path, file: str | os.PathLike[str]) -> int:
    """A descriptor of the file; raises ``OSError`` for one outside of ``root`` without opening it."""
    if _has_openat2():
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            how = struct.pack("=QQQ", _HOW, 0, _BENEATH | _NO_MAGIC_LINKS)
            opened = int(_libc.syscall(_OPENAT2, folder, os.fsencode(file), how, ctypes.c_size_t(len(how))))
            reason = ctypes.get_errno()
        finally:
            os.close(folder)
        if opened >= 0:
            return opened
        if reason != errno.EXDEV:
            raise OSError(reason, "it cannot be opened", str(file))
    # An absolute link may lead to a place below the root after all.
    place = Path(os.path.realpath(root / file))
    if not place.is_relative_to(root.resolve()):
        raise OSError(errno.EXDEV, "it lies outside of the tree", str(place))
    return os.open(place, _HOW | os.O_NOFOLLOW)


@lru_cache(maxsize=1)
def _has_openat2() -> bool:
    """Whether the kernel has openat2(2), since 5.6, and no filter around us refuses it."""
    found = int(_libc.syscall(_OPENAT2, -1, b"", None, ctypes.c_size_t(0)))
    return found < 0 and ctypes.get_errno() == errno.EINVAL
