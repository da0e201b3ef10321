# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources that are to be changed: what is read of them, and what programs that compile them may read.

No file outside of a tree is read, whatever symbolic links it holds. A checkout holds more than the sources: keys,
``.env``, notes, what other branches left. A source can include any file by name, and the compiler quotes what it cannot
parse. So of a git checkout only tracked files are visible, and of its untracked files the headers that a build
generates, where the checkout is the build that is asked for. Git's own files are never visible: ``.git/config`` may
hold a password. A tree outside of git is visible as a whole.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from linesmith.patches.revisions.git import repository_at


@dataclass(frozen=True, slots=True)
class Tree:
    """The sources to patch. ``build`` is the directory of an ``O=`` build, ``cflags`` are options for a plain tree."""

    root: Path
    build: Path | None = None
    cflags: str = ""


MOST_BYTES = 32 << 20
# openat2(2), linux/openat2.h; the number is the same on every machine.
_OPENAT2 = 437
_BENEATH, _NO_MAGIC_LINKS, _NO_LINKS = 0x08, 0x02, 0x04
# A FIFO or a device must not stop us, nor become our terminal.
_HOW = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


def source_bytes(
    root: Path, file: str | os.PathLike[str], most: int = MOST_BYTES, *, links: bool = True
) -> bytes | None:
    """The bytes of ``file`` below ``root``; ``links`` are followed as long as they stay below it.

    ``None`` for what is no regular file, lies elsewhere, cannot be read, or has more than ``most`` bytes.
    """
    try:
        opened = _opened(root, file, links=links)
        with os.fdopen(opened, "rb", buffering=0) as found:
            status = os.fstat(opened)
            return found.readall() if stat.S_ISREG(status.st_mode) and status.st_size <= most else None
    except (OSError, ValueError):  # ValueError: a null byte in the name
        return None


def _opened(root: Path, file: str | os.PathLike[str], *, links: bool) -> int:
    """A descriptor of the file; raises ``OSError`` for one outside of ``root`` without opening it."""
    if _has_openat2():
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            how = struct.pack("=QQQ", _HOW, 0, _BENEATH | _NO_MAGIC_LINKS | (0 if links else _NO_LINKS))
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
    if not place.is_relative_to(root.resolve()) or not (links or place == root.resolve() / file):
        raise OSError(errno.EXDEV, "it is outside the tree", str(place))
    return os.open(place, _HOW | os.O_NOFOLLOW)


@lru_cache(maxsize=1)
def _has_openat2() -> bool:
    """Whether the kernel has openat2(2), since 5.6, and no filter around us refuses it."""
    found = int(_libc.syscall(_OPENAT2, -1, b"", None, ctypes.c_size_t(0)))
    return found < 0 and ctypes.get_errno() == errno.EINVAL


_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inc", ".ipp", ".def", ".tbl")
_GIT = ".git"


def visible_files(tree: Path, builds: Sequence[Path] = ()) -> tuple[Path, ...]:
    """The places of ``tree`` and of ``builds``, which are directories that the build writes into.

    They are for ``Confinement.readable``: a folder stands for all that lies below it, and only folders with untracked
    files are listed file by file. A build outside of the tree is visible as a whole, for whoever runs us named it.
    Raises ``TreeError`` where git fails to list the files.
    """
    root = tree.resolve()
    made = tuple(dict.fromkeys(build.resolve() for build in builds))
    outside = (place for build in made if not build.is_relative_to(root) for place in _entries(build))
    return tuple(dict.fromkeys((*_of_tree(root, made), *outside)))


def _of_tree(root: Path, builds: Sequence[Path]) -> Iterator[Path]:
    git = repository_at(root)
    modules = git.submodules() if git else ()
    if git is None or not (modules or git.has_tracked_files()):
        yield from _entries(root)
        return
    hidden = frozenset((*git.untracked(), *modules))
    parents = (str(parent) for name in hidden for parent in PurePosixPath(name).parents)
    yield from _visible(root, "", hidden, frozenset(parents) - {"."})
    for module in modules:
        if (root / module).is_dir() and not (root / module).is_symlink():
            yield from _of_tree(root / module, ())
    inside = [build.relative_to(root).as_posix() for build in builds if build.is_relative_to(root)]
    for name in hidden:
        yield from _headers(root, name, inside)


def _entries(folder: Path) -> Iterator[Path]:
    """What lies in the folder, but for git's files and links that lead out of it."""
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if place.name != _GIT and place.resolve().is_relative_to(folder):
            yield place


def _visible(root: Path, folder: str, hidden: frozenset[str], parents: frozenset[str]) -> Iterator[Path]:
    """The places below ``folder`` without those ``hidden``; ``parents`` are the folders that hold such."""
    with os.scandir(root / folder) as found:
        names = sorted(entry.name for entry in found)
    for name in names:
        place = f"{folder}/{name}" if folder else name
        if name == _GIT or place in hidden:
            continue
        if place in parents and not (root / place).is_symlink():
            yield from _visible(root, place, hidden, parents)
        elif (root / place).resolve().is_relative_to(root):
            yield root / place


def _headers(root: Path, name: str, builds: Sequence[str]) -> Iterator[Path]:
    """Headers at or below an untracked place, as far as they lie in one of ``builds`` (relative; ``.`` is the tree)."""
    place = root / name
    if place.is_symlink() or not builds:
        return
    files = [place] if place.is_file() else [Path(at, one) for at, _, some in os.walk(place) for one in some]
    for file in files:
        own = file.relative_to(root)
        if file.suffix in _HEADERS and not file.is_symlink() and any(own.is_relative_to(one) for one in builds):
            yield file
