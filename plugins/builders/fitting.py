# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether patches fit a tree: seen from the files that they name alone, without a copy or a digest of the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from linesmith.analyzer.errors import TreeError
from linesmith.plugins.builders.patching import Plain, changes, check_unlinked
from linesmith.plugins.builders.sources import sources


def check_fit(tree: Path, patches: Sequence[str]) -> None:
    """Raise ``PatchRefused`` for patches that the sources in ``tree`` do not take, ``TreeError`` for what is no tree.

    A build judges by the same rules, so that what is refused there is refused here at once.
    """
    if not patches:
        return
    files = frozenset(sources(tree))
    changes(patches, lambda path: _plain(tree, path, files))


def _plain(tree: Path, path: str, files: Collection[str]) -> Plain | None:
    check_unlinked(path, lambda part: part in files and (tree / part).is_symlink())
    if path not in files:
        return None
    try:
        return Plain((tree / path).read_bytes())
    except OSError as error:
        raise TreeError(f"{tree / path} cannot be read ({error.strerror})") from error
