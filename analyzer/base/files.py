# SPDX-License-Identifier: GPL-2.0-or-later
"""Replaces files as a whole: a full disk, a crash or a second writer leaves the old file or the new one.

The new content goes to a file of its own in the same folder, to the disk, and only then to its name. Links are
followed by their text and by open folders, so nobody who can write to a folder on the way can redirect what is written.
What is no regular file (a pipe, a device, ``/dev/stdout``) cannot be replaced, and is written to. What somebody else
may have put somewhere is read as a regular file or not at all.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from linesmith.analyzer.base.errors import CacheError, IntentError

Parts = Iterable[bytes | memoryview]
# Ends the names of files that are being written; a process that is killed leaves one.
UNFINISHED = ".part"
# What the system says where there is no room.
FULL = (errno.ENOSPC, errno.EDQUOT)

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPENED = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
_OPEN_FILES = re.compile(r"/proc/(\d+)(/task/\d+)?/fd")
# As many as the kernel follows, see path_resolution(7).
_MOST_LINKS = 40
# A name may have 255 bytes, a letter four.
_KEPT_LETTERS = 50
# What is stated of a folder that cannot be synced, or not be read; the content of the file is on the disk nevertheless.
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)


def replace_file(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Make ``content`` the whole of the file at ``path``, in one step.

    A link stays, and the file that it leads to is replaced. The file keeps its permissions, and its owner where we may
    give it to them; a new one gets ``mode`` less the umask. Raises ``OSError`` with the path; the old file is as it was
    then, and nothing lies next to it.
    """
    replace_by_parts(path, (content,), mode)


def replace_by_parts(path: Path, parts: Parts, mode: int = 0o666, *, lasting: bool = True) -> None:
    """Do what ``replace_file`` does, with content that need not be in memory as a whole.

    What is not ``lasting`` may be damaged or gone when the power fails soon after, as its reader must notice.
    """
    with _errors_name(path), _place_of(path) as (folder, name):
        existing = _status(folder, name)
        if existing is None or stat.S_ISREG(existing.st_mode):
            _replace(folder, name, existing, parts, mode, lasting)
            return
        # An open file of ours is gone on with where it stands.
        is_ours = _whose_open_files(folder) == str(os.getpid())
        number = os.dup(int(name)) if is_ours else os.open(name, _OPENED, dir_fd=folder)
        with os.fdopen(number, "wb") as file:
            file.writelines(parts)


def check(path: Path) -> None:
    """Raise the ``OSError`` that ``replace_file`` would raise for want of access, before there is anything to write."""
    with _errors_name(path), _place_of(path) as (folder, name):
        existing = _status(folder, name)
        if existing is None or stat.S_ISREG(existing.st_mode):
            _check_access(".", os.W_OK | os.X_OK, folder)
        if existing is not None and not _whose_open_files(folder):
            _check_access(name, os.W_OK, folder)


def sync(path: Path) -> None:
    """Have the file, or the names in the folder, on the disk. Raises ``OSError``."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def _place_of(path: Path) -> Iterator[tuple[int, str]]:
    """The open folder in which the file lies that ``path`` leads to, and its name there."""
    folder, name = os.open(path.parent, _FOLDER), path.name
    try:
        for _ in range(_MOST_LINKS):
            link = _link(folder, name)
            if link is None:
                yield folder, name
                return
            beside, folder = folder, os.open(link.parent, _FOLDER, dir_fd=folder)
            os.close(beside)
            name = link.name
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    finally:
        os.close(folder)


def _link(folder: int, name: str) -> Path | None:
    """Where the link of that name leads; ``None`` for what is no link to be followed.

    In a folder that everybody writes to, such as /tmp, links of others are refused: see protected_symlinks in proc(5).
    """
    found = _status(folder, name)
    if found is None or not stat.S_ISLNK(found.st_mode) or _whose_open_files(folder):
        return None
    place = os.fstat(folder)
    is_shared = place.st_mode & stat.S_ISVTX and place.st_mode & stat.S_IWOTH
    if is_shared and found.st_uid not in (os.geteuid(), place.st_uid):
        raise PermissionError(errno.EACCES, "a symbolic link there belongs to another user")
    return Path(os.readlink(name, dir_fd=folder))


def _status(folder: int, name: str) -> os.stat_result | None:
    """What is there under the name; ``None`` for nothing."""
    if not name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with suppress(FileNotFoundError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return None


def _whose_open_files(folder: int) -> str:
    """The process whose open files are in the folder, see /proc/pid/fd in proc(5); empty for any other folder.

    What looks like a link there leads to the open file itself, not to where its text says.
    """
    with suppress(OSError):  # not everybody has a /proc
        found = _OPEN_FILES.fullmatch(str(Path(f"/proc/self/fd/{folder}").readlink()))
        return found[1] if found else ""
    return ""


def _check_access(name: str, wanted: int, folder: int) -> None:
    if not os.access(name, wanted, dir_fd=folder, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _replace(folder: int, name: str, existing: os.stat_result | None, parts: Parts, mode: int, lasting: bool) -> None:
    part = f".{name[:_KEPT_LETTERS]}.{os.urandom(8).hex()}{UNFINISHED}"
    number = os.open(part, _NEW_FILE, 0o600 if existing else mode, dir_fd=folder)
    try:
        with os.fdopen(number, "wb") as file:
            if existing:
                with suppress(PermissionError):
                    os.fchown(number, existing.st_uid, existing.st_gid)
                os.fchmod(number, existing.st_mode & 0o777)
            file.writelines(parts)
            if lasting:
                file.flush()
                os.fsync(number)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise
    if lasting:
        _sync_folder(folder)


def _sync_folder(folder: int) -> None:
    try:
        number = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of the regular file at ``path``, ``most`` of them at most; raises ``IntentError``.

    The last part of the path may not be a symbolic link, and nothing is waited for (a FIFO).
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise IntentError(f"{path} is a symbolic link, which is not followed; replace it by the file") from None
        raise IntentError(f"cannot read {path}: {error.strerror}; name a TOML file with intents") from None
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise IntentError(f"{path} is not a regular file; name a TOML file with intents")
        content = file.read(most + 1)
    if len(content) > most:
        raise IntentError(f"{path} is larger than {most >> 20} MiB, too large for intents; keep only intents in it")
    return content


# Locks of files, which end with the process that holds them. See flock(2).


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


# The cache directory: where it is, and that nobody else can put anything into it.

_ENTRY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
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
        folder = os.open(place.parent, _FOLDER)
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
    """The open folder of that name in ``parent``, which is closed; raises ``CacheError`` and ``OSError``."""
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
        return os.open(os.readlink("", dir_fd=entry), _FOLDER, dir_fd=parent)
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
