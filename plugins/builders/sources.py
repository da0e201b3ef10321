# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of a source tree: the digest of every source file, kept between builds for files that have not changed.

Sources are all files but what version control keeps there and what a build has left. Files are copied, not linked: the
user's tree may change while a build runs, and a build may write into its sources. Of what a build that was stopped has
left, some files may not be whole: Kbuild writes a record next to a target, ``.NAME.cmd``, when the target is made
(scripts/Kbuild.include, fixdep.c). A target with a record that is not older is whole, so a long build goes on where it
was stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from linesmith.analyzer.base.child import Command, run_apart
from linesmith.analyzer.base.errors import CommandTimedOut, ToolMissing, TreeError
from linesmith.analyzer.base.files import replace_file

# A repository may name programs that git runs; listing files needs none of them.
_GIT = ("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files")
_GIT_SECONDS = 120
_VERSION_CONTROL = frozenset((".git", ".hg", ".svn", ".bzr", "_darcs", "CVS"))
_OBJECTS = (".o", ".lo", ".obj", ".ko", ".gcno", ".gcda")
# What marks a folder as made by CMake, Meson or Python, or the list of what `configure` made.
_MADE_FOLDERS = frozenset(("CMakeFiles", "__pycache__", "autom4te.cache", ".libs", ".deps"))
_MADE_FILES = frozenset(("CMakeCache.txt", "config.status", "config.log"))
# Kbuild refuses a tree with these as the source of a build elsewhere.
_KBUILD_MADE = re.compile(r"\.config(\.old)?|include/(config|generated)|arch/[^/]+/include/generated")
# A file written twice within the clock's tick keeps its times: digests this fresh (ns) are not kept.
_FRESH = 2_000_000_000
_BLOCK = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
# What was written this shortly (ns) before the end may have been in the making, and its record too.
_LAST = 2_000_000_000
# Size, times of change (ns) and inode: as long as these stay, so does the content.
Stamp = tuple[int, int, int, int]


def sources(tree: Path, ours: Collection[Path] = ()) -> tuple[str, ...]:
    """Paths of the source files, relative to ``tree`` and sorted; none below the folders ``ours``.

    In a git work tree: what is tracked, and what is neither ignored nor left by a build. Raises ``TreeError``.
    """
    if not tree.is_dir():
        raise TreeError(f"{tree} is not a folder; name the source tree")
    try:
        found = set(_walk(tree, "", is_kernel(tree), frozenset(map(str, ours))))
        tracked = set(_listed(tree))
        if tracked:
            found = tracked | found & set(_listed(tree, "--others", "--exclude-standard"))
    except OSError as error:
        raise TreeError(f"{error.filename} cannot be read ({error.strerror})") from error
    return tuple(sorted(found))


def is_kernel(tree: Path) -> bool:
    """Whether the tree is built by Kbuild, as the kernel is."""
    return (tree / "Kbuild").is_file() and (tree / "scripts/Makefile.build").is_file()


def _listed(tree: Path, *options: str) -> Iterator[str]:
    """What git lists below the folder; nothing where there is no git or no repository."""
    try:
        ended = run_apart(
            Command((*_GIT, "-z", *options), tree, _GIT_SECONDS, variables=os.environ | {"GIT_OPTIONAL_LOCKS": "0"})
        )
    except ToolMissing:
        return
    except CommandTimedOut as error:
        raise TreeError(f"git has not listed the files of {tree} within {_GIT_SECONDS} s; try again") from error
    for name in filter(None, os.fsdecode(ended.output).split("\0") if ended.status == 0 else ()):
        path = tree / name
        if path.is_dir() and not path.is_symlink():
            # A submodule, or a repository within.
            yield from (f"{name.rstrip('/')}/{inner}" for inner in sources(path))
        elif os.path.lexists(path):
            yield name


def _walk(tree: Path, folder: str, kernel: bool, ours: frozenset[str]) -> Iterator[str]:
    """Files below the folder that no build left, none of those in the folders ``ours``."""
    with os.scandir(tree / folder) as found:
        entries = {entry.name: entry for entry in found}
    if _is_build_folder(entries):
        return
    for name, entry in entries.items():
        path = f"{folder}/{name}" if folder else name
        if _is_made(name, entries) or (kernel and _KBUILD_MADE.fullmatch(path)):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.path not in ours:
                yield from _walk(tree, path, kernel, ours)
        elif entry.is_symlink() or entry.is_file():
            yield path


def _is_build_folder(entries: dict[str, os.DirEntry[str]]) -> bool:
    """Whether Meson or CMake builds there, or linesmith keeps a run there."""
    return (
        "meson-private" in entries
        or ("CMakeCache.txt" in entries and "CMakeLists.txt" not in entries)
        or ("journal.sqlite" in entries and "artifacts" in entries)
    )


def _is_made(name: str, siblings: dict[str, os.DirEntry[str]]) -> bool:
    """Whether a build has left it; Kbuild leaves a ``.NAME.cmd`` next to what it made, ``configure`` a record."""
    return (
        name in _VERSION_CONTROL
        or name in _MADE_FOLDERS
        or name in _MADE_FILES
        or name.endswith(_OBJECTS)
        or (name.startswith(".") and name.endswith(".cmd"))
        or f".{name}.cmd" in siblings
        or ("config.status" in siblings and f"{name}.in" in siblings and name != "configure")
    )


@dataclass(frozen=True, slots=True)
class Census:
    """The source files of ``tree``: path to what it is (``file``, ``program`` or ``link``) with its digest.

    ``stamps`` has what the file system reported of each.
    """

    tree: Path
    files: Mapping[str, str]
    stamps: Mapping[str, Stamp]

    def digest(self) -> str:
        """One digest of all paths and contents."""
        total = hashlib.blake2b(digest_size=16)
        for path, seen in sorted(self.files.items()):
            total.update(f"{path}\0{seen}\0".encode("utf-8", "surrogateescape"))
        return total.hexdigest()


def take(tree: Path, digests: Path, ours: Collection[Path] = ()) -> Census:
    """The census of ``tree``, which is only read, without what lies below the folders ``ours``.

    ``digests`` is a file of ours for the digests. Raises ``TreeError``.
    """
    try:
        known = msgspec.convert(json.loads(digests.read_bytes()), dict[str, tuple[Stamp, str]])
    except (OSError, ValueError, msgspec.ValidationError):
        known = {}  # the file is not there or damaged
    now = time.time_ns()
    files: dict[str, str] = {}
    stamps: dict[str, Stamp] = {}
    for path in sources(tree, ours):
        file = f"{tree}/{path}"
        try:
            found = os.lstat(file)
            stamps[path] = stamp_of(found)
            before = known.get(path)
            files[path] = before[1] if before and before[0] == stamps[path] else _state(file, found.st_mode)
        except OSError as error:
            raise TreeError(f"{file} cannot be read ({error.strerror})") from error
    settled = {path: (stamp, files[path]) for path, stamp in stamps.items() if now - max(stamp[1:3]) > _FRESH}
    if settled != known:
        digests.parent.mkdir(parents=True, exist_ok=True)
        replace_file(digests, json.dumps(settled).encode())
    return Census(tree, files, stamps)


def of_bytes(kind: str, content: bytes) -> str:
    """The state of a file of that kind with that content."""
    return f"{kind} {hashlib.blake2b(content, digest_size=16).hexdigest()}"


def stamp_of(found: os.stat_result) -> Stamp:
    """What changes whenever the content does."""
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _state(path: str, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return of_bytes("link", os.fsencode(Path(path).readlink()))
    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return f"{'program' if mode & stat.S_IXUSR else 'file'} {digest.hexdigest()}"


def copy_file(origin: str, target: str, seen: Stamp) -> None:
    """Copy the plain file ``origin`` to ``target``, which is not there.

    Raises ``TreeError`` when it is not what ``seen`` says, ``OSError``.
    """
    try:
        source = os.open(origin, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise changing(origin) from error
    with os.fdopen(source, "rb") as reader, os.fdopen(os.open(target, _NEW, 0o600), "wb") as writer:
        found = os.fstat(source)
        shutil.copyfileobj(reader, writer)
        writer.flush()
        # The owner must be able to replace it by a patched one.
        os.fchmod(writer.fileno(), found.st_mode & 0o777 | 0o600)
        os.utime(writer.fileno(), ns=(found.st_mtime_ns, found.st_mtime_ns))
        if stamp_of(os.fstat(source)) != seen:
            raise changing(origin)


def copy_link(tree: Path, path: str, target: Path) -> None:
    """Make the link anew: to the copy's own file where it led into the tree, else as it was. Raises ``OSError``."""
    link = tree / path
    place = Path(os.path.normpath(link.parent / link.readlink()))  # the target of a link may be another one
    inside = place.is_relative_to(os.path.normpath(tree))
    target.symlink_to(os.path.relpath(place, link.parent) if inside else place)


def changing(path: str) -> TreeError:
    """The error for a tree that somebody works on at the very moment."""
    return TreeError(f"{path} changed while it was being read; leave the tree alone for a moment and build again")


def unfinished(folder: Path, since: int) -> Iterator[str]:
    """The files, relative to ``folder``, that were written at or after ``since`` (ns) and may not be whole."""
    written = dict(_written(str(folder), since))
    end = max(written.values(), default=0) - _LAST
    for path, changed in written.items():
        place, _, name = path.rpartition("/")
        is_record = name.startswith(".") and name.endswith(".cmd")
        record = path if is_record else f"{place}/.{name}.cmd".lstrip("/")
        if changed > end or written.get(record, 0) < changed:
            yield path


def _written(folder: str, since: int) -> Iterator[tuple[str, int]]:
    for place, _, names in os.walk(folder):
        for name in names:
            changed = os.lstat(f"{place}/{name}").st_ctime_ns
            if changed >= since:
                yield os.path.relpath(f"{place}/{name}", folder), changed
