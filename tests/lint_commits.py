# SPDX-License-Identifier: GPL-2.0-or-later
"""A repository whose commits are given as files, made as an attacker makes one too: with any name and any mode."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from linesmith_command import linesmith

REGULAR, LINK, MODULE = "100644", "120000", "160000"
# What is a file in the index: its mode and its content (of a submodule the commit).
Entry = tuple[str, bytes]
_IDENTITY = {f"GIT_{role}_{what}": "x@y" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass(frozen=True)
class Commits:
    """A repository at ``root``."""

    root: Path

    def git(self, *arguments: str, given: bytes = b"", index: Path | None = None) -> str:
        """What git prints."""
        own = {**_IDENTITY, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        environment = {**os.environ, **own, **({"GIT_INDEX_FILE": str(index)} if index else {})}
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=self.root, env=environment, input=given, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, str | bytes | Entry], parent: str = "") -> str:
        """A commit of exactly these files; nothing is checked out."""
        index = self.root / ".git" / "made-index"
        index.unlink(missing_ok=True)
        lines = b"".join(self._line(name, content) for name, content in files.items())
        self.git("update-index", "-z", "--index-info", given=lines, index=index)
        tree = self.git("write-tree", "--missing-ok", index=index)
        return self.git("commit-tree", tree, *(("-p", parent) if parent else ()), "-m", "made")

    def commit_tree_of(self, entries: Mapping[str, Entry]) -> str:
        """A commit whose tree has these names at its top, even such as git itself would not add."""
        blobs = {name: (mode, self._blob(content)) for name, (mode, content) in entries.items()}
        lines = "".join(f"{mode} blob {blob}\t{name}\0" for name, (mode, blob) in blobs.items())
        return self.git("commit-tree", self.git("mktree", "-z", given=lines.encode()), "-m", "made")

    def lint(self, old: str, new: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
        """``linesmith lint`` of two revisions."""
        return linesmith("lint", "--tree", self.root, "--base-ref", old, "--head-ref", new, *options)

    def _line(self, name: str, content: str | bytes | Entry) -> bytes:
        mode, text = content if isinstance(content, tuple) else (REGULAR, content)
        data = text.encode() if isinstance(text, str) else text
        blob = data.decode() if mode == MODULE else self._blob(data)
        return f"{mode} {blob}\t{name}\0".encode()

    def _blob(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", "--no-filters", given=data)


def repository(root: Path) -> Commits:
    """A new repository without a commit."""
    root.mkdir(parents=True, exist_ok=True)
    made = Commits(root)
    made.git("init", "-q")
    return made
