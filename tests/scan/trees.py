# SPDX-License-Identifier: GPL-2.0-or-later
"""Source trees written in tests, with a compilation database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path


def written(root: Path, files: Mapping[str, str]) -> Path:
    """The tree with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def program_tree(root: Path, files: Mapping[str, str], flags: str = "-I include") -> Path:
    """A tree whose C files are all in its compile_commands.json."""
    written(root, files)
    units = sorted(name for name in files if name.endswith(".c"))
    entries = [{"directory": str(root), "file": name, "command": f"gcc {flags} -c {name}"} for name in units]
    (root / "compile_commands.json").write_text(json.dumps(entries))
    return root


def kernel_tree(root: Path, files: Mapping[str, str]) -> Path:
    """What is taken for the root of a kernel, with ``files``."""
    return written(root, {"Kbuild": "", "scripts/Makefile.build": "", **files})


def recorded(build: Path, target: str, source: Path, command: str, includes: str = "", word: str = "cmd") -> None:
    """Kbuild's record of one compilation."""
    path = build / Path(target).parent / f".{Path(target).name}.cmd"
    path.parent.mkdir(parents=True, exist_ok=True)
    read = "".join(f"  {name} \\\n" for name in includes.split())
    path.write_text(
        f"{word}_{target} := {command}\n\nsource_{target} := {source}\n\n"
        f"deps_{target} := \\\n    $(wildcard include/config/SMP) \\\n{read}\n"
        f"{target}: $(deps_{target})\n\n$(deps_{target}):\n"
    )


def digest(root: Path) -> str:
    """Changes when a file of the tree does."""
    total = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        total.update(f"{path}\0".encode() + (path.read_bytes() if path.is_file() else b""))
    return total.hexdigest()
