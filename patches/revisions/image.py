# SPDX-License-Identifier: GPL-2.0-or-later
"""A revision as files in the cache: made once, later brought from one revision to the next.

Nothing of the user's is touched, and git checks nothing out: neither filters nor hooks can run. One image is kept for
each working tree; whoever uses it holds its lock.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base import files as durable
from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.base.files import cache_directory
from linesmith.patches.build.preparation import Progress, wait_for_lock
from linesmith.patches.revisions.git import Git, GitEntry
from linesmith.patches.revisions.paths import checked_out, path_inside, stays_inside
from linesmith.patches.scan.cache import name_of

_MOST_BYTES = 256 << 20
_LINK = "120000"
_EXECUTABLE = "100755"
_MODULES = ".gitmodules"


@dataclass(frozen=True, slots=True)
class RevisionImage:
    """The folder ``tree`` that holds the files of a revision."""

    root: Path

    @property
    def tree(self) -> Path:
        """Where the files are."""
        return self.root / "tree"

    @property
    def _note(self) -> Path:
        return self.root / "commit"

    def commit(self) -> str:
        """The commit whose files are there, empty where the image is incomplete."""
        with suppress(OSError):
            return self._note.read_text(encoding="ascii")
        return ""

    def bring(self, git: Git, commit: str, progress: Progress) -> None:
        """Make the files those of ``commit``; raises ``TreeError`` where git cannot read them."""
        if self.commit() != commit:
            gone, fresh = self._steps(git, commit)
            progress(f"copying {len(fresh)} files of {commit[:12]} to {self.tree}")
            self._note.unlink(missing_ok=True)
            self.tree.mkdir(parents=True, exist_ok=True)
            for entry in gone:
                self._remove(entry)
            self._write(git, fresh)
            durable.replace_file(self._note, commit.encode("ascii"))
        self._complete(git, commit)

    def _complete(self, git: Git, commit: str) -> None:
        """Add the submodules that the user has checked out, each at the commit that the revision names."""
        if not (self.tree / _MODULES).is_file():
            return
        modules = [(one, path_inside(one.path)) for one in git.entries(commit) if one.is_submodule]
        for module in (one for one, name in modules if name and not (self.tree / name).exists()):
            inner = checked_out(git, module.path)
            if inner is None:
                continue
            with suppress(TreeError):  # the commit may not be there
                files = [replace(one, path=module.path + b"/" + one.path) for one in inner.entries(module.blob)]
                self._note.unlink(missing_ok=True)
                self._write(inner, files)
                durable.replace_file(self._note, commit.encode("ascii"))

    def _steps(self, git: Git, commit: str) -> tuple[Sequence[GitEntry], Sequence[GitEntry]]:
        """What has to go and what has to come; everything where nothing sound is there."""
        if former := self.commit():
            with suppress(TreeError):  # the commit may be gone from the repository
                found = git.differences(former, commit)
                return [one.old for one in found if one.old], [one.new for one in found if one.new]
        if self.tree.exists():
            shutil.rmtree(self.tree)
        return (), git.entries(commit)

    def _remove(self, entry: GitEntry) -> None:
        name = path_inside(entry.path)
        if name is None:
            return
        place = self.tree / name
        if entry.is_submodule:
            shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError):
            place.unlink()
        for parent in place.relative_to(self.tree).parents:
            with suppress(OSError):
                (self.tree / parent).rmdir()

    def _write(self, git: Git, entries: Sequence[GitEntry]) -> None:
        """Files first, then links, so that no file is written through one."""
        files = [one for one in entries if one.is_regular or one.mode == _LINK]
        files.sort(key=lambda one: one.mode == _LINK)
        for entry, content in zip(files, git.contents((one.blob for one in files), _MOST_BYTES), strict=True):
            name = path_inside(entry.path)
            if name is None or content is None:
                continue
            place = self.tree / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if entry.mode != _LINK:
                place.write_bytes(content)
            elif stays_inside(name, content):
                place.symlink_to(content.decode("utf-8", "surrogateescape"))
            if entry.mode == _EXECUTABLE:
                place.chmod(0o755)


@contextmanager
def image(git: Git, commit: str, progress: Progress) -> Iterator[Path]:
    """The files of ``commit``, for as long as the block lasts; raises ``CacheError`` and ``TreeError``."""
    root = cache_directory("revisions").resolve() / name_of("", git.top)
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        wait_for_lock(lock, f"reads revisions of {git.top}", progress)
        found = RevisionImage(root)
        found.bring(git, commit, progress)
        yield found.tree
