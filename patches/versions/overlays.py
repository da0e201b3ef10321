# SPDX-License-Identifier: GPL-2.0-or-later
"""The changed files of two versions, laid out once for all that is compiled of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock

from linesmith.patches.kbuild import Build
from linesmith.patches.neighbours import Quotes
from linesmith.patches.overlay import Overlay, lay_out
from linesmith.patches.scratch import scratch
from linesmith.patches.versions.versions import Versions

_NO_CODE = (".rst", ".toml")


class Overlays:
    """Both versions over the trees that builds compile in; each is laid out when it is asked for."""

    def __init__(self, root: Path, versions: Versions) -> None:
        """``root`` is an empty folder, which is there for as long as this is used."""
        self._root = root
        self._contents = tuple(
            {file: text for file, text in side.items() if not file.endswith(_NO_CODE)}
            for side in (versions.before, versions.after)
        )
        self._lock = Lock()
        self._of = lru_cache(maxsize=None)(self._laid_out)
        self._quotes = lru_cache(maxsize=None)(Quotes)

    def before(self, build: Build) -> Overlay:
        """The first version over the tree that the build compiles in."""
        with self._lock:
            return self._of(build.tree, build.sources, 0)

    def after(self, build: Build) -> Overlay:
        """The second version over it."""
        with self._lock:
            return self._of(build.tree, build.sources, 1)

    def _laid_out(self, tree: Path, sources: Path, side: int) -> Overlay:
        root = Path(tempfile.mkdtemp(dir=self._root))
        return lay_out(root, tree, self._contents[side], quotes=self._quotes(sources))


@contextmanager
def overlays(versions: Versions) -> Iterator[Overlays]:
    """The versions, for as long as the block lasts."""
    with scratch() as root:
        yield Overlays(root, versions)
