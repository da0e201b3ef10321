# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker's own copy of the sources, brought from one version to the next by writing only what differs."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.base.files import replace_file
from linesmith.plugins.builders.patches import Plain, changes, check_unlinked
from linesmith.plugins.builders.sources import Census, changing, copy_file, copy_link, of_bytes

Changes = Mapping[str, Plain | None]


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """The sources in ``folder``; beside it lies the list of what it holds."""

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
