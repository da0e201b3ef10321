# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles C written in a test, with the debug information of choice."""

from __future__ import annotations

import subprocess
from pathlib import Path


def compiled(folder: Path, source: str, *flags: str, compiler: str = "gcc", name: str = "subject") -> Path:
    """The object file of ``source``; the flags come before those that ask for debug information."""
    (folder / f"{name}.c").write_text(source)
    target = folder / f"{name}.o"
    subprocess.run([compiler, *flags, "-g", "-c", "-o", target, f"{name}.c"], check=True, cwd=folder)
    return target
