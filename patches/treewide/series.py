# SPDX-License-Identifier: GPL-2.0-or-later
"""What the series that change a whole tree have in common: their messages, where they are compiled, what breaks."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.base.text import paragraph
from linesmith.analyzer.model import ConfigurationCheck, FileChange, PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.build.overlay import scratch
from linesmith.patches.matrix.check import names
from linesmith.patches.message.paragraphs import style
from linesmith.patches.source.tree import Tree, source_bytes, visible_files

# Configurations of a kernel that are compiled where the user names none.
_USUAL = ("tree", "arm64")
# Warnings about code that is passed another record; they are errors to newer compilers.
_WRONG_TYPE = ("-Wincompatible-pointer-types", "-Wint-conversion")


def message(tree: Path, file: str, subject: str, texts: Iterable[str]) -> str:
    """The message of a step: the ``subject`` as the tree has it for ``file``, then each text as a paragraph."""
    return "\n\n".join((style(tree, file).subject(subject), *map(paragraph, texts))) + "\n"


def with_results(
    series: PatchSeries, checks: Sequence[ConfigurationCheck], blocks: Iterable[str], below: str
) -> PatchSeries:
    """The series with ``blocks``, what compilers say of it, in its last message, and details ``below`` that.

    Its notes are the configurations under which nothing was compiled, or not all in time.
    """
    last = series.steps[-1]
    text = "\n\n".join(block for block in (last.message.rstrip("\n"), *blocks) if block) + "\n"
    notes = (
        *(f"under {one.title} nothing was compiled: {one.failed}" for one in checks if one.failed),
        *(f"under {one.title}: {one.left_out[-1]}" for one in checks if one.unjudged and not one.failed),
    )
    return replace(series, steps=(*series.steps[:-1], SeriesStep(text, last.changes, below)), notes=notes)


def from_first_to_last(series: PatchSeries) -> tuple[FileChange, ...]:
    """Every file that the series changes, once: as it is in the tree and as it is after the last step."""
    files: dict[str, FileChange] = {}
    for change in (change for step in series.steps for change in step.changes):
        first = files.get(change.file, change)
        files[change.file] = FileChange(change.file, first.before, change.after)
    return tuple(files.values())


def usual_configurations(tree: Tree, file: str) -> tuple[str, ...]:
    """The tree's own configuration of ``file``, and that of another machine where the tree has one."""
    known = names(tree, file)
    return tuple(name for name in _USUAL if name in known) or known[:1]


def never_compiled(series: PatchSeries, checks: Sequence[ConfigurationCheck]) -> tuple[str, ...]:
    """The changed units that no configuration compiles, sorted."""
    compiled = {user.unit for check in checks for user in check.users}
    changed = {change.file for step in series.steps for change in step.changes if change.file.endswith(".c")}
    return tuple(sorted(changed - compiled))


def broken(checks: Sequence[ConfigurationCheck]) -> Iterator[Refusal]:
    """A refusal for every unit that does not compile any more, or is given another type than it takes."""
    for check in checks:
        for user in check.users:
            wrong = (one for one in user.warnings if any(kind in one for kind in _WRONG_TYPE))
            complaint = user.failed or next(wrong, "")
            if complaint:
                reason = f"it does not compile any more under {check.title}: {complaint}"
                lift = "run the semantic patch (--rules) and complete it by hand"
                yield Refusal(RefusalCode.NOT_COMPILED, f"{user.unit}:1", reason, lift)


# A scratch image of a source tree: links to the tree, but for the files that are changed.


class TreeImage:
    """The tree ``tree`` as it is to become, below ``root``; files are named relative to both."""

    def __init__(self, tree: Path, root: Path) -> None:
        self.tree = tree.resolve()
        self.root = root.resolve()
        self.readable = visible_files(self.tree)
        self._committed: dict[str, bytes | None] = {}
        _link_entries(self.tree, self.root)

    def make_own(self, files: Iterable[str]) -> None:
        """Put copies in place of links, so that programs can change the files."""
        for file in files:
            if file not in self._committed:
                self.put(file, self.read(file))

    def put(self, file: str, content: bytes) -> None:
        """Give ``file`` this content."""
        if file not in self._committed:
            self._committed[file] = source_bytes(self.tree, file)
        folder = PurePosixPath(file).parent
        for part in (*reversed(folder.parents), folder):
            place = self.root / part
            if place.is_symlink():
                place.unlink()
                place.mkdir()
                _link_entries(self.tree / part, place)
            place.mkdir(exist_ok=True)
        place = self.root / file
        place.unlink(missing_ok=True)
        place.write_bytes(content)

    def read(self, file: str) -> bytes:
        """The content of ``file`` as it is now; raises ``OSError`` for what is no file of the tree.

        No link of the tree, and none that a program has put into the image, leads elsewhere.
        """
        return _content(self._holder(file), file)

    def original(self, file: str) -> bytes:
        """The content of ``file`` in the tree; raises ``OSError`` likewise."""
        return _content(self.tree, file)

    def has(self, file: str) -> bool:
        """Whether there is a file of this name that can be read."""
        return source_bytes(self._holder(file), file) is not None

    def _holder(self, file: str) -> Path:
        """The root that ``file`` is read below: what may have changed is in the image, all else in the tree."""
        return self.root if file in self._committed else self.tree

    def commit(self) -> tuple[FileChange, ...]:
        """What has changed since the last commit, by name of file."""
        now = ((file, before, source_bytes(self.root, file)) for file, before in sorted(self._committed.items()))
        changes = tuple(FileChange(file, before, after) for file, before, after in now if after != before)
        self._committed.update({change.file: change.after for change in changes})
        return changes


@contextmanager
def tree_image(tree: Path) -> Iterator[TreeImage]:
    """An image that lasts as long as the block; raises ``TreeError`` where ``tree`` cannot be read."""
    if not tree.is_dir():
        raise TreeError(f"{tree} is not a directory; --tree needs the root of the sources")
    with scratch() as folder:
        yield TreeImage(tree, folder / "tree")


def _content(root: Path, file: str) -> bytes:
    content = source_bytes(root, file)
    if content is None:
        raise FileNotFoundError(errno.ENOENT, "it is not a file of the tree, or is larger than 32 MiB", file)
    return content


def _link_entries(origin: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    with os.scandir(origin) as entries:
        for entry in entries:
            (place / entry.name).symlink_to(entry.path)
