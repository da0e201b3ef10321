# SPDX-License-Identifier: GPL-2.0-or-later
"""What git knows of a source tree; its repository is only read, and cannot make git run a program."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from linesmith.patches.child import environment

_GIT = (
    "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false",
    "-c", "gpg.program=false", "-c", "protocol.allow=never", "--no-pager", "--no-optional-locks",
)  # fmt: skip
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that holds ``tree``: ``folder`` is the path of the tree in it, with a slash at its end; empty
    where both are the same.

    ``head`` is the commit that is checked out, empty where there is none yet.
    """

    tree: Path
    folder: str
    head: str

    def answer(self, *arguments: str) -> str:
        """What git prints for the arguments, without the line's end; empty where it fails."""
        return _answer(self.tree, *arguments)

    def holds(self, file: str, content: Path) -> bool:
        """Whether the commit has ``file``, relative to the tree, with the bytes of the file ``content``."""
        recorded = self.answer("rev-parse", "--verify", "--quiet", f"HEAD:{self.folder}{file}")
        return bool(recorded) and recorded == self.answer("hash-object", "--no-filters", "--", str(content))


def repository(tree: Path) -> Repository | None:
    """The repository of a tree; ``None`` where the tree is in none, or git is missing or refuses to read it."""
    if shutil.which("git") is None:
        return None
    found = _answer(tree, "rev-parse", "--is-inside-work-tree", "--show-prefix").split("\n")
    if found[0] != "true":
        return None
    return Repository(tree, found[1] if len(found) > 1 else "", _answer(tree, "rev-parse", "--verify", "-q", "HEAD"))


def _answer(tree: Path, *arguments: str) -> str:
    """What git prints; its warnings are not part of it."""
    argv, closed = (*_GIT, *arguments), subprocess.DEVNULL
    try:
        ended = subprocess.run(
            argv, cwd=tree, env=environment(), stdin=closed, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if ended.returncode else ended.stdout.decode("utf-8", "surrogateescape").rstrip("\n")
