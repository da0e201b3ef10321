# SPDX-License-Identifier: GPL-2.0-or-later
"""A copy of a kernel tree made of symbolic links, without what make has put there.

Kbuild builds elsewhere (``O=``) only from a clean tree; a tree with a ``.config`` is none. The tree must not be
cleaned, so its clean image is built beside it. Directories in which make puts things are made anew, everything
else is one link.
"""

from __future__ import annotations

import os
from pathlib import Path

_MADE_ANEW = ("", "arch", "include", "kernel", "scripts")
_DEEP = ("scripts", "kernel")
_GENERATED = ("include/config", "include/generated", ".config", ".config.old", ".git", "source", "build")
_DEEPEST = 12


def plant(tree: Path, farm: Path, architecture: str) -> None:
    """Make ``farm`` the clean image of ``tree``; links whose target is gone are removed. Raises ``OSError``."""
    own = f"arch/{architecture}"
    anew = {*_MADE_ANEW, own, f"{own}/include", f"{own}/kernel", f"{own}/tools"}
    within = tuple(f"{one}/" for one in (*_DEEP, f"{own}/kernel", f"{own}/tools"))
    left_out = {*_GENERATED, f"{own}/include/generated"}
    _plant(tree.resolve(), farm, "", anew=anew, within=within, left_out=left_out)


def _plant(tree: Path, farm: Path, folder: str, *, anew: set[str], within: tuple[str, ...], left_out: set[str]) -> None:
    target = farm / folder
    target.mkdir(parents=True, exist_ok=True)
    _clear(target, tree / folder)
    with os.scandir(tree / folder) as found:
        entries = {entry.name: entry for entry in found}
    for name, entry in entries.items():
        place = f"{folder}/{name}".lstrip("/")
        if place in left_out or _is_made(name, entries):
            continue
        # Folders named here are entered through links too; below them a link could lead into a loop.
        enter = place in anew or (place.startswith(within) and place.count("/") < _DEEPEST)
        if enter and entry.is_dir(follow_symlinks=place in anew):
            _plant(tree, farm, place, anew=anew, within=within, left_out=left_out)
        elif not os.path.lexists(target / name):
            (target / name).symlink_to(tree / place)


def _clear(target: Path, origin: Path) -> None:
    for kept in target.iterdir():
        if kept.is_symlink() and not os.path.lexists(origin / kept.name):
            kept.unlink()


def _is_made(name: str, siblings: dict[str, os.DirEntry[str]]) -> bool:
    """Kbuild leaves a ``.NAME.cmd`` beside whatever it made."""
    return name.endswith(".cmd") or f".{name}.cmd" in siblings
