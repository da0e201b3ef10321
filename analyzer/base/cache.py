# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache directory: where it is, and that nobody else can put anything into it.

What lies there is believed: an index stands for the file that it was made of, and prepared builds are run. So the
directory has to be the user's own, and others may not write to it. Its files are the user's alone, too: they hold
sources. Every check is of an open directory, so that nobody can put another into its place meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from linesmith.analyzer.base.errors import CacheError

_ENTRY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_ELSEWHERE = "set LINESMITH_CACHE_DIR to another directory"


def location() -> Path:
    """Where the cache directory is: ``$LINESMITH_CACHE_DIR``, else the user's; it need not exist, or may be refused."""
    chosen = os.environ.get("LINESMITH_CACHE_DIR")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path  # costs 10 ms, so only where it is needed

    return user_cache_path("linesmith")


def cache_directory(*below: str) -> Path:
    """The cache directory, or the folder ``below`` it; made where it is not there, for its user alone (mode 0700).

    One that others can only read is made 0700. Raises ``CacheError`` where the directory belongs to another user, where
    others can write to it, or where it cannot be made.
    """
    place = location().absolute()
    try:
        with suppress(FileExistsError):  # raised for a file, too, which cannot be opened as a directory
            place.parent.mkdir(parents=True)
        folder = os.open(place.parent, _DIRECTORY)
        shown = place.parent
        for name in (place.name, *below):
            shown /= name
            folder = _entered(folder, shown)
    except OSError as error:
        remedy = "set LINESMITH_CACHE_DIR to a directory that can be written"
        raise CacheError(f"the cache directory {place} cannot be used ({error.strerror}); {remedy}") from error
    os.close(folder)
    return place.joinpath(*below)


def _entered(parent: int, shown: Path) -> int:
    """The open folder called so in ``parent``, which is closed; raises ``CacheError`` and ``OSError``."""
    try:
        with suppress(FileExistsError):
            os.mkdir(shown.name, 0o700, dir_fd=parent)
        folder = _followed(os.open(shown.name, _ENTRY, dir_fd=parent), parent, shown)
    finally:
        os.close(parent)
    try:
        _make_private(folder, shown)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _followed(entry: int, parent: int, shown: Path) -> int:
    """The folder that ``entry`` is, or leads to as a link of our own: only we can have made it, to have the room."""
    found = os.fstat(entry)
    if stat.S_ISDIR(found.st_mode):
        return entry
    try:
        if not stat.S_ISLNK(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        _check_owner(found, f"the link {shown}")
        return os.open(os.readlink("", dir_fd=entry), _DIRECTORY, dir_fd=parent)
    finally:
        os.close(entry)


def _make_private(folder: int, shown: Path) -> None:
    found = os.fstat(folder)
    _check_owner(found, f"the cache directory {shown}")
    if found.st_mode & _OTHERS_WRITE:
        problem = f"others can write to the cache directory {shown}, so its contents cannot be trusted"
        raise CacheError(f"{problem}; remove its contents and run chmod 700 {shown}, or {_ELSEWHERE}")
    if found.st_mode & _OTHERS:
        os.chmod(".", 0o700, dir_fd=folder)


def _check_owner(found: os.stat_result, what: str) -> None:
    if found.st_uid != os.geteuid():
        raise CacheError(f"{what} belongs to another user (uid {found.st_uid}); {_ELSEWHERE}")
