# SPDX-License-Identifier: GPL-2.0-or-later
"""Two versions of a tree: the files of the first, and what differs in the second.

Changed files are laid out once for all that is compiled of them. What a checkout has that is not committed is no part
of any revision, and only mentioned.

A revision is an image of files in the cache, one for each working tree; whoever uses it holds its lock. Nothing of the
user's is touched, and git checks nothing out: neither filters nor hooks can run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from threading import Lock

from linesmith.analyzer.base import files as durable
from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.base.files import cache_directory
from linesmith.analyzer.base.text import shortened
from linesmith.analyzer.model import FileChange
from linesmith.patches.build.kbuild import TreeBuild
from linesmith.patches.build.overlay import Overlay, Quotes, lay_out
from linesmith.patches.build.preparation import Progress, wait_for_lock
from linesmith.patches.revisions.git import (
    Difference,
    Git,
    GitEntry,
    IndexEntry,
    checked_out,
    is_of_interest,
    is_of_the_build,
    path_inside,
    plain,
    stays_inside,
    submodule,
)
from linesmith.patches.scan.cache import name_of
from linesmith.patches.source.tree import source_bytes

MOST_BYTES = 8 << 20
MOST_FILES = 20_000
_MOST_BYTES = 256 << 20
_LINK = "120000"
_EXECUTABLE = "100755"
_MODULES = ".gitmodules"


@dataclass(frozen=True, slots=True)
class Versions:
    """What is to be compared; ``base`` and ``head`` are what a reader knows them by.

    ``root`` holds the files that decide how both are compiled. ``changes`` are files that can say something of
    layouts; where a file of ``root`` is neither before nor after (a patch that is applied already), ``before`` counts.
    ``remarks`` say what was left out.
    """

    base: str
    head: str
    root: Path
    changes: tuple[FileChange, ...]
    remarks: tuple[str, ...] = ()

    @property
    def before(self) -> dict[str, bytes | None]:
        """The changed files as they were."""
        return {one.file: one.before for one in self.changes}

    @property
    def after(self) -> dict[str, bytes | None]:
        """The changed files as they are."""
        return {one.file: one.after for one in self.changes}

    def now(self, file: str) -> bytes | None:
        """A file of the second version, ``None`` where there is none that can be read."""
        after = self.after
        return after[file] if file in after else source_bytes(self.root, file, MOST_BYTES, links=False)


@contextmanager
def revisions(git: Git, base: str, head: str, progress: Progress) -> Iterator[Versions]:
    """The versions that two names of revisions mean, for as long as the block lasts; raises ``TreeError``."""
    old, new = git.commit(base), git.commit(head)
    found = git.differences(old, new)
    changes, remarks = _taken(git, found)
    if old == new:
        remarks = (f"base ({base}) and head ({head}) are the same commit: there is nothing to compare", *remarks)
    titles = []
    for name, commit in ((base, old), (head, new)):
        short = commit[:12]
        titles.append(short if commit.startswith(name) or name.startswith(short) else f"{name} ({short})")
    with image(git, old, progress) as root:
        yield Versions(titles[0], titles[1], root, changes, remarks)


def _taken(git: Git, found: Sequence[Difference]) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    """The changes that are looked at, and remarks on those that are not."""
    # Of a submodule what differs within, where that is known, with the repository that has it.
    modules = {one.path: submodule(git, one) for one in found if one.is_submodule}
    differing = [(git, one) for one in found if modules.get(one.path) is None]
    differing += chain.from_iterable(filter(None, modules.values()))
    wanted = [(of, one) for of, one in differing if is_of_interest(one.path) or one.is_submodule]
    if len(wanted) > MOST_FILES:
        message = f"{len(wanted)} files of C differ, and {MOST_FILES} are compared at most; name revisions nearer by"
        raise TreeError(message)
    named = [(of, one, name) for of, one in wanted if (name := plain(one.path)) is not None]
    usable = [each for each in named if _is_regular(each[1])]
    blobs = [(of, side.blob) for of, one, _ in usable for side in (one.old, one.new) if side]
    # The blobs of one repository lie behind those of the other.
    runs = (of.contents((blob for _, blob in some), MOST_BYTES) for of, some in groupby(blobs, key=itemgetter(0)))
    contents = chain.from_iterable(runs)
    changes: dict[str, FileChange] = {}
    large = []
    for _, one, name in usable:
        before, after = (next(contents) if side else None for side in (one.old, one.new))
        unread = [content is None for side, content in ((one.old, before), (one.new, after)) if side]
        if any(unread):
            large.append(name)
        else:
            # Where a submodule became a folder, or the other way round, each has one side of a file.
            known = changes.get(name, FileChange(name, None, None))
            sides = (known.before if before is None else before), (known.after if after is None else after)
            changes[name] = FileChange(name, *sides)
    odd = [one for _, one in wanted if plain(one.path) is None]
    special = [(one, name) for _, one, name in named if not _is_regular(one)]
    return tuple(changes.values()), tuple(_remarks([one for _, one in differing], odd, special, large))


def _is_regular(one: Difference) -> bool:
    return all(side is None or side.is_regular for side in (one.old, one.new))


def _remarks(
    found: Sequence[Difference],
    odd: Sequence[Difference],
    special: Sequence[tuple[Difference, str]],
    large: Sequence[str],
) -> Iterator[str]:
    build = sorted(one.path.decode("utf-8", "replace") for one in found if is_of_the_build(one.path))
    if build:
        yield (
            f"{_counted(build, 'file')} of the build differ{'' if len(build) > 1 else 's'}: what they would do was not "
            "run, both versions are compiled as the base is built"
        )
    if odd:
        names = sorted(repr(one.path.decode("utf-8", "replace")) for one in odd)
        yield f"{_counted(names, 'file')} left out, because of characters in the name"
    links = [name for one, name in special if not one.is_submodule]
    if links:
        yield f"{_counted(links, 'symbolic link')} not followed"
    modules = [name for one, name in special if one.is_submodule]
    if modules:
        yield (
            f"{_counted(modules, 'submodule')} not followed: check out what both revisions name, and what differs "
            "there is judged"
        )
    if large:
        yield f"{_counted(large, 'file')} left out, larger than {MOST_BYTES >> 20} MiB or missing in the repository"


def _counted(names: Sequence[str], one: str) -> str:
    return f"{len(names)} {one}{'s' if len(names) > 1 else ''} ({shortened(names, 1)})"


def uncommitted(git: Git) -> Iterator[str]:
    """A sentence on tracked files that can say something of layouts and differ from ``HEAD``."""
    paths = {one.path for one in git.staged()} | {one.entry.path for one in git.noted() if _is_changed(git.top, one)}
    names = sorted(plain(path) or repr(os.fsdecode(path)) for path in paths if is_of_interest(path))
    if names:
        yield f"changes of {_counted(names, 'file')} are not committed, and not judged: HEAD is"


def _is_changed(top: Path, noted: IndexEntry) -> bool:
    """Whether a file that looks otherwise than git saw it has another content too."""
    name = os.fsdecode(noted.entry.path)
    if not noted.entry.is_regular or not is_of_interest(noted.entry.path):
        return False
    with suppress(OSError):
        now = (top / name).lstat()
        if (now.st_mtime_ns, now.st_size) == (noted.time, noted.size):
            return False
    text = source_bytes(top, name, MOST_BYTES, links=False)
    if text is None:
        return True
    # The name that git gives to a content, in the kind of hash that the repository has.
    make = hashlib.sha256 if len(noted.entry.blob) == 64 else hashlib.sha1
    return make(b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest() != noted.entry.blob


class Overlays:
    """Both versions over the trees that builds compile in; each is laid out when it is asked for."""

    def __init__(self, root: Path, versions: Versions) -> None:
        """``root`` is an empty folder, which is there for as long as this is used."""
        self._root = root
        self._contents = tuple(
            {file: text for file, text in side.items() if not file.endswith(".toml")}
            for side in (versions.before, versions.after)
        )
        self._lock = Lock()
        self._of: dict[tuple[Path, int], Overlay] = {}
        self._quotes = lru_cache(maxsize=None)(Quotes)

    def of(self, build: TreeBuild, side: int) -> Overlay:
        """The first version (``side`` 0) or the second one (1) over the tree that the build compiles in."""
        key = build.tree, side
        with self._lock:
            if key not in self._of:
                root = Path(tempfile.mkdtemp(dir=self._root))
                quotes = self._quotes(build.sources)
                self._of[key] = lay_out(root, build.tree, self._contents[side], quotes=quotes)
            return self._of[key]


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
