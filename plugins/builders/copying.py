# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies one file of a tree, as it was when it was last looked at, with its time of change.

Files are copied, not linked: the user's tree may change while a build runs, and a build may write into its sources.
copy_file_range(2) shares the blocks where the file system can (btrfs, XFS).
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from linesmith.analyzer.errors import TreeError
from linesmith.plugins.builders.census import Stamp, stamp_of

# What copy_file_range says of two file systems between which it cannot copy.
_NO_RANGES = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def copy_file(origin: str, target: str, seen: Stamp) -> None:
    """Copy the plain file ``origin`` to ``target``, which is not there.

    Raises ``TreeError`` when it is not what ``seen`` says, ``OSError``.
    """
    try:
        source = os.open(origin, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise changing(origin) from error
    try:
        found = os.fstat(source)
        sink = os.open(target, _NEW, 0o600)
        try:
            _copy_content(source, sink, found.st_size)
            # The owner must be able to replace it by a patched one.
            os.fchmod(sink, found.st_mode & 0o777 | 0o600)
            os.utime(sink, ns=(found.st_mtime_ns, found.st_mtime_ns))
        finally:
            os.close(sink)
        if stamp_of(os.fstat(source)) != seen:
            raise changing(origin)
    finally:
        os.close(source)


def copy_link(tree: Path, path: str, target: Path) -> None:
    """Make the link anew: to the copy's own file where it led into the tree, else as it was. Raises ``OSError``."""
    link = tree / path
    place = Path(os.path.normpath(link.parent / link.readlink()))  # the target of a link may be another one
    inside = place.is_relative_to(os.path.normpath(tree))
    target.symlink_to(os.path.relpath(place, link.parent) if inside else place)


def changing(path: str) -> TreeError:
    """The error for a tree that somebody works on at the very moment."""
    return TreeError(f"{path} changed while it was being read; leave the tree alone for a moment and build again")


def _copy_content(source: int, sink: int, size: int) -> None:
    try:
        while size > 0 and (copied := os.copy_file_range(source, sink, size)):
            size -= copied
    except OSError as error:
        if error.errno not in _NO_RANGES:
            raise
        with os.fdopen(source, "rb", closefd=False) as reader, os.fdopen(sink, "wb", closefd=False) as writer:
            shutil.copyfileobj(reader, writer)
