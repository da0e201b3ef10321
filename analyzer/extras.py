# SPDX-License-Identifier: GPL-2.0-or-later
"""The command that adds an optional part to the installation that runs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def install_command(extra: str) -> str:
    """What a shell is told to install an extra of ours, with the pip of the environment that runs.

    A pip of another one, or the distribution's, would put it where this linesmith does not look, or refuse.
    """
    return f"{_pip()} install 'linesmith[{extra}]'"


def _pip() -> str:
    """As short as it can be written from here; that of PATH where linesmith runs in no virtual environment."""
    if sys.prefix == sys.base_prefix:
        return "pip"
    python = Path(sys.executable)
    pip = python.with_name("pip")
    return _written(pip) if pip.exists() else f"{_written(python)} -m pip"


def _written(program: Path) -> str:
    here = Path.cwd()
    if here == Path("/") or not program.is_relative_to(here):
        return shlex.quote(str(program))
    short = program.relative_to(here)
    # A name alone would be looked for on PATH.
    return shlex.quote(str(short) if len(short.parts) > 1 else f"./{short}")
