# SPDX-License-Identifier: GPL-2.0-or-later
"""Which compiler builds, in its own words."""

from __future__ import annotations

import shutil
import subprocess

from linesmith.analyzer.errors import ToolMissing
from linesmith.plugins.builders.complaint import package

_SECONDS = 30


def version(compiler: str) -> str:
    """The first line of the compiler's ``--version``. Raises ``ToolMissing``."""
    try:
        ended = subprocess.run(
            (compiler, "--version"), capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissing(f"{compiler} cannot be run; install the package {package(compiler)}") from error
    return ended.stdout.partition("\n")[0].strip()


def cached(compiler: str) -> str:
    """The compiler as make calls it: behind ccache where that is installed."""
    return f"ccache {compiler}" if shutil.which("ccache") else compiler
