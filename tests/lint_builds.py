# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree with the builds before and after a record of it lost its alignment."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from c_source import compiled

ALIGNED = "struct counter { long hits; } __attribute__((aligned(64))); struct counter c;"
NOT_ALIGNED = "struct counter { long hits; }; struct counter c;"


@dataclass(frozen=True)
class Change:
    """``old`` and ``new`` are builds of ``tree``, which is a git tree with one commit."""

    tree: Path
    old: Path
    new: Path


def changed_tree(folder: Path) -> Change:
    """The tree and its builds in ``folder``."""
    tree = folder / "tree"
    tree.mkdir()
    old = compiled(tree, ALIGNED, name="old")
    compiled(tree, NOT_ALIGNED, name="new")
    committed(tree)
    return Change(tree, old, tree / "new.o")


def committed(tree: Path) -> str:
    """The commit that holds all that is in ``tree``."""
    for command in (
        ["init", "--quiet"],
        ["add", "--all"],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--message", "all", "--no-verify"],
    ):
        subprocess.run(["git", *command], cwd=tree, check=True, capture_output=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True, text=True)
    return done.stdout.strip()
