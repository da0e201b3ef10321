# SPDX-License-Identifier: GPL-2.0-or-later
"""Source trees written in tests, with a compilation database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from patch_cases import write_files


def program_tree(root: Path, files: Mapping[str, str], flags: str = "-I include") -> Path:
    """A tree whose C files are all in its compile_commands.json."""
    write_files(root, dict(files))
    units = sorted(name for name in files if name.endswith(".c"))
    entries = [{"directory": str(root), "file": name, "command": f"gcc {flags} -c {name}"} for name in units]
    (root / "compile_commands.json").write_text(json.dumps(entries))
    return root


def kernel_tree(root: Path, files: Mapping[str, str]) -> Path:
    """What is taken for the root of a kernel, with ``files``."""
    return write_files(root, {"Kbuild": "", "scripts/Makefile.build": "", **files})


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
