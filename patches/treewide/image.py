# SPDX-License-Identifier: GPL-2.0-or-later
"""A scratch image of a source tree: links to the tree, but for the files that are changed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.model import FileChange
from linesmith.patches.build.overlay import scratch
from linesmith.patches.source.tree import source_bytes, visible_files


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
        content = source_bytes(self._holder(file), file)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, "it is not a file of the tree, or is larger than 32 MiB", file)
        return content

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


def _link_entries(origin: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    with os.scandir(origin) as entries:
        for entry in entries:
            (place / entry.name).symlink_to(entry.path)
