# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree with the builds before and after a record of it lost its alignment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from c_source import compiled
from linesmith_command import LINESMITH
from patch_cases import git

ALIGNED = "struct counter { long hits; } __attribute__((aligned(64))); struct counter c;"
NOT_ALIGNED = "struct counter { long hits; }; struct counter c;"
# What goes over the one line of ``BUDGET`` in a tree.
LARGE = "struct counter { long hits[9]; }; struct counter c;"
BUDGET = '[[type]]\nname = "counter"\nreason = "one line"\nbudget = {lines = 1}\n'


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
    for command in ("init --quiet", "add --all", "commit --quiet --message all --no-verify"):
        git(tree, *command.split())
    return git(tree, "rev-parse", "HEAD").strip()


def with_linesmith(command: Sequence[str | Path], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A finished command that finds the installed program, with ``more`` variables."""
    environment = {**os.environ, "PATH": f"{LINESMITH.parent}:{os.environ['PATH']}", **more}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def check_by_schema(name: str, file: Path) -> None:
    """Hold a file against the schema of a service, which a checker brings along."""
    checker = LINESMITH.with_name("check-jsonschema")
    subprocess.run([checker, "--builtin-schema", f"vendor.{name}", file], check=True)


def check_script(text: str, shell: str) -> None:
    """Have shellcheck look at a script."""
    subprocess.run(["shellcheck", f"--shell={shell}", "-"], input=text, text=True, check=True)
