# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker's own copy of the sources, brought from one version to the next by writing only what differs.

Files are copied, not linked: the user's tree may change while a build runs, and a build may write into its sources.
``copy_file_range`` shares the blocks where the file system can (btrfs, XFS), copy_file_range(2).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from linesmith.analyzer.errors import PatchRefused, TreeError
from linesmith.plugins.builders.census import Census, of_bytes, state
from linesmith.plugins.builders.durable import replace
from linesmith.plugins.builders.patching import Plain, changes

_CHUNK = 1 << 30
# What copy_file_range says of two file systems between which it cannot copy.
_NO_RANGES = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_NO_PATHS: list[str] = []
_NO_STATES: dict[str, str] = {}
T = TypeVar("T")
Changes = Mapping[str, Plain | None]


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """The sources in ``folder``; beside it lie the list of what it holds, and of what is being written there."""

    folder: Path

    @property
    def held_file(self) -> Path:
        """Path and state of every source file in the copy."""
        return self.folder.with_name(f"{self.folder.name}.held")

    @property
    def doubtful_file(self) -> Path:
        """Paths whose content is not known for sure, because something may have been killed in between."""
        return self.folder.with_name(f"{self.folder.name}.doubtful")

    def held(self) -> Mapping[str, str]:
        """What the copy holds for sure."""
        doubtful = frozenset(_loaded(self.doubtful_file, _NO_PATHS))
        return {path: seen for path, seen in _loaded(self.held_file, _NO_STATES).items() if path not in doubtful}

    def doubt(self, paths: Iterable[str]) -> None:
        """Remember that these files of the copy may be anything. Raises ``OSError``."""
        replace(self.doubtful_file, json.dumps([*_loaded(self.doubtful_file, _NO_PATHS), *paths]).encode())


def patched(census: Census, patches: tuple[str, ...]) -> Changes:
    """What the patches make of the tree's files. Raises ``PatchRefused`` and ``TreeError``."""

    def plain(path: str) -> Plain | None:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            if census.files.get("/".join(parts[:depth]), "").startswith("link "):
                raise PatchRefused(f"the patch changes {path}, which is behind a symbolic link; patch the file itself")
        seen = census.files.get(path)
        if seen is None:
            return None
        try:
            content = (census.tree / path).read_bytes()
        except OSError as error:
            raise TreeError(f"{census.tree / path} cannot be read ({error.strerror})") from error
        kind = seen.partition(" ")[0]
        if of_bytes(kind, content) != seen:
            raise _changing(census.tree / path)
        return Plain(content, kind == "program")

    return changes(patches, plain)


def bring(copy: WorkingCopy, census: Census, changed: Changes) -> int:
    """Make the copy the tree with these changes; the number of files written or removed.

    A file that changes gets the present time, so that make builds what depends on it; those of a new copy keep
    the tree's times. Raises ``OSError``, and ``TreeError`` when the tree changes meanwhile.
    """
    held = copy.held()
    wanted = {path: seen for path, seen in census.files.items() if path not in changed}
    wanted |= {path: _state(plain) for path, plain in changed.items() if plain}
    gone = [path for path in held if path not in wanted]
    late = [path for path, seen in wanted.items() if held.get(path) != seen]
    if not gone and not late:
        return 0
    if held:
        copy.doubt((*gone, *late))
    copy.folder.mkdir(parents=True, exist_ok=True)
    for path in gone:
        _remove(copy.folder / path)
    for path in late:
        target = copy.folder / path
        _make_room(copy.folder, target)
        if plain := changed.get(path):
            _write(plain, target)
        else:
            _copy(census, path, target)
        if held and not target.is_symlink():
            os.utime(target, ns=(time.time_ns(), time.time_ns()))
    replace(copy.held_file, json.dumps(wanted).encode())
    copy.doubtful_file.unlink(missing_ok=True)
    return len(gone) + len(late)


def _state(plain: Plain) -> str:
    return of_bytes("program" if plain.executable else "file", plain.content)


def _write(plain: Plain, target: Path) -> None:
    target.write_bytes(plain.content)
    target.chmod(0o755 if plain.executable else 0o644)


def _copy(census: Census, path: str, target: Path) -> None:
    """Copy one file as it is in the census, with its time of change."""
    origin = census.tree / path
    try:
        before = origin.lstat()
        if census.files[path].startswith("link "):
            target.symlink_to(_led(census.tree, path))
            unchanged = state(origin) == census.files[path]
        else:
            _copy_content(origin, target)
            target.chmod(before.st_mode & 0o777 | 0o600)
            os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
            unchanged = state(target) == census.files[path]
    except FileNotFoundError as error:
        raise _changing(origin) from error
    if not unchanged:
        raise _changing(origin)


def _copy_content(origin: Path, target: Path) -> None:
    with origin.open("rb") as source, target.open("wb") as sink:
        try:
            while os.copy_file_range(source.fileno(), sink.fileno(), _CHUNK):
                pass
        except OSError as error:
            if error.errno not in _NO_RANGES:
                raise
            shutil.copyfileobj(source, sink)


def _led(tree: Path, path: str) -> str:
    """Where the link shall lead in the copy: to the copy's file if its own is in the tree, else to the very same."""
    link = tree / path
    target = link.readlink()
    place = Path(os.path.normpath(link.parent / target))
    top = Path(os.path.normpath(tree))
    if place.is_relative_to(top):
        return os.path.relpath(place, link.parent)
    return str(place)


def _make_room(top: Path, target: Path) -> None:
    """Nothing may be where the file is to be, and no link on the way to it."""
    for folder in reversed(target.relative_to(top).parents[:-1]):
        if (top / folder).is_symlink() or (top / folder).is_file():
            (top / folder).unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove(target)


def _remove(target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):
            target.unlink()


def _loaded(path: Path, default: T) -> T:
    """What the file holds, if it is whole and of the default's type."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return default
    return found if isinstance(found, type(default)) else default


def _changing(path: Path) -> TreeError:
    return TreeError(f"{path} changed while it was being read; leave the tree alone for a moment and build again")
