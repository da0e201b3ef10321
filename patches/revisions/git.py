# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads revisions out of a repository with git's plumbing, in a way that no file of a revision can steer.

Only the commands rev-parse, for-each-ref, diff-tree, diff-index, ls-files, ls-tree and cat-file run. As they are asked,
none of them looks at attributes, filters, hooks or textconv, a pager and the network are out of reach, and nothing is
checked out or written.

Also which paths of a revision are taken, and what differs in repositories that are checked out within another one,
where that names other commits of them.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from linesmith.analyzer.base.child import Command, Streams, Written, environment, missing, run_apart, started
from linesmith.analyzer.base.errors import CommandTimedOut, ToolMissing, TreeError

_SECONDS = 300
_COMPLAINT_BYTES = 300
_SETTINGS = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=false", "core.attributesFile=/dev/null",
    "core.sshCommand=false", "core.alternateRefsCommand=false", "protocol.allow=never", "gpg.program=false",
    "diff.external=", "submodule.recurse=false", "core.quotePath=true", "diff.ignoreSubmodules=none",
)  # fmt: skip
# See git(1). An empty list of protocols allows none, so that a partial clone fetches nothing either.
_VARIABLES = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_PAGER": "cat",
}
_RAW = ("-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-abbrev")
_PIECE = 1 << 20
_NOTED = re.compile(
    rb"(\d{6}) ([0-9a-f]+) \d\t([^\0]+)\0  ctime: [\d:]+\n  mtime: (\d+):(\d+)\n"
    rb"  dev:.*\n  uid:.*\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)
# The user asked git not to look at the file, or it is left out of a sparse checkout.
_NOT_LOOKED_AT = 0x8000 | 0x40000000
_SUBMODULE = "160000"
_REGULAR = ("100644", "100755", "100664")


@dataclass(frozen=True, slots=True)
class GitEntry:
    """One file of a revision: ``mode`` as git writes it (``100644``), the name of its ``blob``, and its ``path``."""

    mode: str
    blob: str
    path: bytes

    @property
    def is_regular(self) -> bool:
        """Whether it is a file, no symbolic link and no submodule."""
        return self.mode in _REGULAR

    @property
    def is_submodule(self) -> bool:
        """Whether it names a commit of another repository."""
        return self.mode == _SUBMODULE


@dataclass(frozen=True, slots=True)
class Difference:
    """A path whose entry differs between two revisions; ``None`` where one of them has none."""

    old: GitEntry | None
    new: GitEntry | None

    @property
    def path(self) -> bytes:
        """The path, relative to the root of the repository."""
        return (self.new or self.old or GitEntry("", "", b"")).path

    @property
    def is_submodule(self) -> bool:
        """Whether either side is one."""
        return any(side.is_submodule for side in (self.old, self.new) if side)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A file of the index, with the time of its last change (ns since 1970) and its bytes when git last looked."""

    entry: GitEntry
    time: int
    size: int


@dataclass(frozen=True, slots=True)
class Git:
    """The repository that holds the folder ``top``; paths are relative to it, and what is outside of it is not seen."""

    top: Path

    def check(self) -> None:
        """Raise ``TreeError`` where git reads no repository here."""
        ended = self._ended(("rev-parse", "--git-dir"))
        if ended.status:
            said = ended.errors.strip()[:_COMPLAINT_BYTES]
            raise TreeError(f"{self.top} is not in a git repository ({said}); --tree needs a git checkout")

    def commit(self, name: str) -> str:
        """The commit that a user calls ``name``; raises ``TreeError`` where there is none."""
        if name.startswith("-") or not name:
            raise TreeError(f"{name!r} is not a revision of {self.top}; give a branch, a tag or a commit")
        ended = self._ended(("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"))
        found = [] if ended.status else ended.output.splitlines()
        if not found:
            raise TreeError(f"{self.top} has no revision {name!r}; fetch it, with its history, or name another")
        return found[0].decode()

    def differences(self, old: str, new: str) -> tuple[Difference, ...]:
        """What differs below the folder between two commits, renames as one path that goes and one that comes."""
        return _differences(self._fields("diff-tree", "-r", *_RAW, "--relative", old, new))

    def staged(self) -> tuple[Difference, ...]:
        """What differs below the folder between ``HEAD`` and the index; nothing where there is none."""
        ended = self._ended(("diff-index", "--cached", *_RAW, "--ignore-submodules=all", "--relative", "HEAD"))
        return () if ended.status else _differences(ended.output.split(b"\0")[:-1])

    def noted(self) -> tuple[IndexEntry, ...]:
        """The files below the folder that are in the index; git is not let look at them, for it would run filters."""
        ended = self._ended(("ls-files", "-z", "--stage", "--debug"))
        found = () if ended.status else _NOTED.findall(ended.output)
        return tuple(
            IndexEntry(GitEntry(mode.decode(), blob.decode(), path), int(seconds) * 10**9 + int(part), int(size))
            for mode, blob, path, seconds, part, size, flags in found
            if not int(flags, 16) & _NOT_LOOKED_AT
        )

    def has_tracked_files(self) -> bool:
        """Whether a file below the folder is in the index."""
        return bool(self._fields("ls-files", "-z", "--cached", "--", "."))

    def untracked(self) -> tuple[str, ...]:
        """What lies below the folder and is not in the index, ignored or not; a folder without such a file is one."""
        names = self._fields("ls-files", "-z", "--others", "--directory", "--", ".")
        return tuple(os.fsdecode(name).rstrip("/") for name in names)

    def submodules(self) -> tuple[str, ...]:
        """The folders of submodules that are in the index."""
        lines = self._fields("ls-files", "-z", "--stage", "--", ".")
        return tuple(os.fsdecode(one.partition(b"\t")[2]) for one in lines if one.startswith(_SUBMODULE.encode()))

    def entries(self, commit: str) -> tuple[GitEntry, ...]:
        """Every file below the folder in a commit."""
        lines = (line.partition(b"\t") for line in self._fields("ls-tree", "-r", "-z", commit))
        parts = ((meta.decode().split(" "), path) for meta, _, path in lines)
        return tuple(GitEntry(mode, blob, path) for (mode, _, blob), path in parts)

    def contents(self, blobs: Iterable[str], most: int) -> Iterator[bytes | None]:
        """The bytes of each blob in turn; ``None`` for one that is missing or has more than ``most``."""
        pipes = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        with started(self._command(("cat-file", "--batch")), pipes) as process:
            if process.stdin is None or process.stdout is None:
                raise TreeError("git could not be started with pipes; check the limits on open files")
            for blob in blobs:
                process.stdin.write(f"{blob}\n".encode())
                process.stdin.flush()
                yield _answer(process.stdout, most)

    def _fields(self, *arguments: str) -> list[bytes]:
        """What git prints, cut at null bytes; raises ``TreeError`` where it fails."""
        ended = self._ended(arguments)
        if ended.status:
            said = ended.errors.strip()[:_COMPLAINT_BYTES]
            raise TreeError(f"git {arguments[0]} fails in {self.top}: {said}; fetch what is missing of its history")
        return [one for one in ended.output.split(b"\0") if one]

    def _ended(self, arguments: Sequence[str]) -> Written:
        try:
            return run_apart(self._command(arguments))
        except CommandTimedOut:
            message = f"git {arguments[0]} did not end within {_SECONDS} s in {self.top}; repack the repository"
            raise TreeError(message) from None

    def _command(self, arguments: Sequence[str]) -> Command:
        # The user named the folder, so it may belong to somebody else, as it does in containers.
        settings = (part for one in (f"safe.directory={self.top}", *_SETTINGS) for part in ("-c", one))
        words = ("git", *settings, "--no-pager", "--no-optional-locks", "--literal-pathspecs", *arguments)
        return Command(words, self.top, _SECONDS, variables={**environment(), **_VARIABLES})


def repository_at(folder: Path) -> Git | None:
    """The repository that holds the folder; ``None`` where git reads none, or is not installed."""
    try:
        return repository_of(folder)
    except (TreeError, ToolMissing):
        return None


def repository_of(tree: Path) -> Git:
    """The repository that holds ``tree``; raises ``TreeError`` where there is none, ``ToolMissing`` without git."""
    if shutil.which("git") is None:
        raise missing("git")
    found = Git(tree.resolve())
    found.check()
    return found


def _differences(fields: Sequence[bytes]) -> tuple[Difference, ...]:
    found = []
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = meta.lstrip(b":").decode().split(" ")
        sides = ((old_mode, old), (new_mode, new))
        found.append(Difference(*(GitEntry(mode, blob, path) if mode.strip("0") else None for mode, blob in sides)))
    return tuple(found)


def _answer(stream: IO[bytes], most: int) -> bytes | None:
    """One answer of ``cat-file --batch``: a line with name, type and size, the bytes, and a line end."""
    head = stream.readline().split()
    if len(head) != 3 or not head[2].isdigit():
        return None
    size = int(head[2])
    if size > most or head[1] != b"blob":
        for start in range(0, size, _PIECE):
            stream.read(min(_PIECE, size - start))
        stream.read(1)
        return None
    content = stream.read(size)
    stream.read(1)
    return content


# Which paths of a revision are taken: anybody can name a file in a repository, and git passes on what it is given.

# What changes layouts, and what says which are wanted.
_OF_INTEREST = re.compile(r"(?:.*\.(?:h|c|inc|def|hh|S|tbl)|linesmith\.toml)", re.DOTALL)
_PLAIN = re.compile(r"[\w.+,@%=~-]+(?:/[\w.+,@%=~-]+)*", re.ASCII)
_BUILD = re.compile(
    r"(?:.*/)?(?:Makefile|Kbuild|Kconfig|GNUmakefile|CMakeLists\.txt|meson\.build|configure)(?:[._-][^/]*)?"
    r"|.*\.(?:mk|cmake|sh|py|pl)|(?:.*/)?\.config|(?:.*/)?compile_commands\.json",
    re.DOTALL,
)
# Longer ones cannot be opened (PATH_MAX and NAME_MAX in linux/limits.h).
_MOST_OF_A_PATH = 4000
_MOST_OF_A_NAME = 255
_NEVER = frozenset(("", ".", "..", ".git"))


def path_inside(path: bytes) -> str | None:
    """The path as text; ``None`` for one too long to be opened, out of its tree or in git's own files."""
    name = os.fsdecode(path)
    parts = name.split("/")
    if len(path) > _MOST_OF_A_PATH or any(len(os.fsencode(part)) > _MOST_OF_A_NAME for part in parts):
        return None
    return None if any(part.lower().rstrip(". ") in _NEVER or part in _NEVER for part in parts) else name


def plain(path: bytes) -> str | None:
    """The path as text if a compiler and a report can name it without quoting, else ``None``."""
    name = path_inside(path)
    return name if name is not None and _PLAIN.fullmatch(name) else None


def is_of_interest(path: bytes) -> bool:
    """Whether the file can say something of layouts."""
    return _OF_INTEREST.fullmatch(os.fsdecode(path)) is not None


def is_of_the_build(path: bytes) -> bool:
    """Whether a build runs the file or takes commands or options from it."""
    return _BUILD.fullmatch(os.fsdecode(path)) is not None


def stays_inside(link: str, target: bytes) -> bool:
    """Whether a symbolic link of a tree, ``link`` from its root, leads to a place in the tree; names count only.

    A way up behind a way down may lead through another link, so it is refused.
    """
    if b".." in target.lstrip(b"./").split(b"/"):
        return False
    place = posixpath.normpath(posixpath.join(posixpath.dirname(link), os.fsdecode(target)))
    return not (place.startswith(("/", "../")) or place == ".." or b"\0" in target or not target)


def checked_out(git: Git, path: bytes) -> Git | None:
    """The repository that lies there within the checkout of another one; none that a link leads to."""
    name = path_inside(path)
    place = git.top / name if name else None
    if place is None or place.resolve() != place or not (place / ".git").exists():
        return None
    return Git(place)


def submodule(git: Git, changed: Difference) -> tuple[tuple[Git, Difference], ...] | None:
    """What another commit of a submodule changes, with the repository of the submodule, and paths as in the outer one.

    ``None`` where none is at hand, or a file took its place.
    """
    if not all(side is None or side.is_submodule for side in (changed.old, changed.new)):
        return None
    inner = checked_out(git, changed.path)
    if inner is None:
        return None
    found = []
    with suppress(TreeError):  # one of the commits may be missing there
        for one in _of_submodule(inner, changed.old, changed.new):
            sides = (side and replace(side, path=changed.path + b"/" + side.path) for side in (one.old, one.new))
            found.append((inner, Difference(*sides)))
        return tuple(found)
    return None


def _of_submodule(inner: Git, old: GitEntry | None, new: GitEntry | None) -> Iterator[Difference]:
    if old and new:
        yield from inner.differences(old.blob, new.blob)
    elif new:
        yield from (Difference(None, one) for one in inner.entries(new.blob))
    elif old:
        yield from (Difference(one, None) for one in inner.entries(old.blob))
