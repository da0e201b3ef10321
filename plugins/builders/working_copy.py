# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker's own copy of the sources, brought from one version to the next by writing only what differs.

``git apply`` applies patches to copies of the files that they name, in a scratch folder. Every line of a hunk must be
there as it says, though lines may have moved. Patches come from anywhere: git refuses a path that leaves the folder,
and we refuse what is behind a link or would be no plain file. ``check_fit`` looks only at the files that they name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from linesmith.analyzer.base.child import Command, run_apart
from linesmith.analyzer.base.errors import PatchRefused, TreeError
from linesmith.analyzer.base.files import replace_file
from linesmith.plugins.builders.sources import Census, changing, copy_file, copy_link, of_bytes, sources

_GIT = ("git", "apply", "--whitespace=nowarn")
_SECONDS = 120
# Where the content of a file comes from, which `git apply --numstat` does not tell.
_ORIGIN = re.compile(r"^(?:rename|copy) from ([^\"\n].*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Plain:
    """A plain file: its content, and whether it may be run."""

    content: bytes
    executable: bool = False


Changes = Mapping[str, Plain | None]
Reader = Callable[[str], Plain | None]


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """The sources in ``folder``; next to it lies the list of what it holds."""

    folder: Path

    def held(self) -> dict[str, str]:
        """Path and state of the source files that the copy holds for sure."""
        try:
            found = json.loads(self._held_file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def hold(self, states: Mapping[str, str]) -> None:
        """Remember that the copy holds just this. Raises ``OSError``."""
        replace_file(self._held_file, json.dumps(states).encode())

    def doubt(self, paths: Iterable[str]) -> None:
        """Remember that these files of the copy may be anything. Raises ``OSError``."""
        doubtful = frozenset(paths)
        self.hold({path: seen for path, seen in self.held().items() if path not in doubtful})

    @property
    def _held_file(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.held")


def patched(census: Census, patches: tuple[str, ...], appended: Mapping[str, str]) -> Changes:
    """What the patches make of the tree's files, and then the texts ``appended`` to some by their paths.

    Raises ``PatchRefused`` and ``TreeError``.
    """

    def plain(path: str) -> Plain | None:
        check_unlinked(path, lambda part: census.files.get(part, "").startswith("link "))
        seen = census.files.get(path)
        if seen is None:
            return None
        try:
            content = (census.tree / path).read_bytes()
        except OSError as error:
            raise TreeError(f"{census.tree / path} cannot be read ({error.strerror})") from error
        kind = seen.partition(" ")[0]
        if of_bytes(kind, content) != seen:
            raise changing(str(census.tree / path))
        return Plain(content, kind == "program")

    changed = dict(changes(patches, plain))
    for path, text in appended.items():
        before = changed[path] if path in changed else plain(path)
        if before is None:
            raise TreeError(f"{census.tree} has no {path}, which a placebo changes; run without placebos")
        changed[path] = Plain(before.content + text.encode(), before.executable)
    return changed


def bring(copy: WorkingCopy, census: Census, changed: Changes) -> int:
    """Make the copy the tree with these changes; the number of files written or removed.

    A file that changes gets the present time, so that make builds what depends on it; those of a new copy keep
    the tree's times. Raises ``OSError``, and ``TreeError`` when the tree changes meanwhile.
    """
    held = copy.held()
    states = {path: seen for path, seen in census.files.items() if path not in changed}
    for path, plain in changed.items():
        if plain:
            states[path] = of_bytes("program" if plain.executable else "file", plain.content)
    gone = [path for path in held if path not in states]
    late = [path for path, seen in states.items() if held.get(path) != seen]
    if not gone and not late:
        return 0
    if held:
        copy.doubt((*gone, *late))
        for path in (*gone, *late):
            _clear(copy.folder, path)
    else:
        shutil.rmtree(copy.folder, ignore_errors=True)
    _fill(copy.folder, census, changed, late)
    if held:
        for path in late:  # finer than the tick that the system uses, so that they are newer than all
            now = time.time_ns()
            os.utime(copy.folder / path, ns=(now, now), follow_symlinks=False)
    copy.hold(states)
    return len(gone) + len(late)


def _fill(folder: Path, census: Census, changed: Changes, paths: Iterable[str]) -> None:
    made: set[str] = set()
    for path in paths:
        target = f"{folder}/{path}"
        parent = target.rpartition("/")[0]
        if parent not in made:
            Path(parent).mkdir(parents=True, exist_ok=True)
            made.add(parent)
        if plain := changed.get(path):
            Path(target).write_bytes(plain.content)
            Path(target).chmod(0o755 if plain.executable else 0o644)
        elif census.files[path].startswith("link "):
            copy_link(census.tree, path, Path(target))
        else:
            copy_file(f"{census.tree}/{path}", target, census.stamps[path])


def _clear(top: Path, path: str) -> None:
    """Nothing may be where the file is to be, and no link on the way to it."""
    target = top / path
    for folder in reversed(Path(path).parents[:-1]):
        if (top / folder).is_symlink() or (top / folder).is_file():
            (top / folder).unlink()
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):
            target.unlink()


def changes(patches: Sequence[str], tree: Reader) -> Mapping[str, Plain | None]:
    """What every file that the patches touch becomes, applied in order; none for a file that is removed.

    ``tree`` gives the file of a path, or none; it raises ``PatchRefused`` for what is behind a link.
    """
    before: dict[str, Plain | None] = {}
    with TemporaryDirectory(prefix="linesmith-patch-") as place:
        folder = Path(place).resolve()
        for patch in patches:
            for name in _names(patch, folder):
                if name in before:
                    continue
                path, before[name] = folder / name, (plain := tree(name))
                if plain is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(plain.content)
                    path.chmod(0o755 if plain.executable else 0o644)
            _git(("-",), patch, folder)
            for name in before:
                if (folder / name).is_symlink() or (folder / name).is_dir():
                    raise PatchRefused(f"the patch makes {name} something else than a regular file; leave that out")
        there = [(name, folder / name) for name in before]
        after = {name: Plain(at.read_bytes(), os.access(at, os.X_OK)) if at.exists() else None for name, at in there}
    return {name: plain for name, plain in after.items() if plain != before[name]}


def _names(patch: str, folder: Path) -> tuple[str, ...]:
    """The files that the patch names; raises ``PatchRefused`` for text that is no patch, and for binary files."""
    listed = _git(("--numstat", "-z", "-"), patch, folder)
    rows = [row.split("\t", 2) for row in listed.split("\0") if row]
    if binary := next((name for added, _, name in rows if added == "-"), None):
        raise PatchRefused(f"the patch changes the binary file {binary}; only text can be patched")
    names = (*_ORIGIN.findall(patch), *(name for _, _, name in rows))
    for name in names:
        if any(part in ("", ".", "..", ".git") for part in name.split("/")):
            raise PatchRefused(f"the patch names {name!r}, which is not a path within the tree; leave it out")
    return names


def _git(options: tuple[str, ...], patch: str, folder: Path) -> str:
    """What ``git apply`` says of the patch in ``folder``; raises ``PatchRefused`` in git's words."""
    ours = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    # A temporary folder may lie in a repository, whose rules are not those of the tree.
    variables = os.environ | ours | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    content = patch.encode("utf-8", "surrogateescape")
    ended = run_apart(Command((*_GIT, *options), folder, _SECONDS, variables=variables, input=content))
    if ended.status:
        complaint = ended.errors.partition("\n")[0].removeprefix("error: ").partition(" (allow")[0]
        raise PatchRefused(f"git does not apply the patch ({complaint}); rebase it on these sources")
    return os.fsdecode(ended.output)


def check_unlinked(path: str, is_link: Callable[[str], bool]) -> None:
    """Raise ``PatchRefused`` where the path, or a folder on the way to it, is a link by what ``is_link`` says of it."""
    parts = path.split("/")
    if any(is_link("/".join(parts[:depth])) for depth in range(1, len(parts) + 1)):
        raise PatchRefused(f"the patch changes {path}, which is behind a symbolic link; patch the file itself")


def check_fit(tree: Path, patches: Sequence[str]) -> None:
    """Raise ``PatchRefused`` for patches that the sources in ``tree`` do not take, ``TreeError`` for what is no tree.

    A build judges by the same rules, so that what is refused there is refused here at once.
    """
    if not patches:
        return
    files = frozenset(sources(tree))

    def plain(path: str) -> Plain | None:
        check_unlinked(path, lambda part: part in files and (tree / part).is_symlink())
        if path not in files:
            return None
        try:
            return Plain((tree / path).read_bytes())
        except OSError as error:
            raise TreeError(f"{tree / path} cannot be read ({error.strerror})") from error

    changes(patches, plain)
