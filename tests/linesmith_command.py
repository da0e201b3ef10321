# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the installed ``linesmith`` as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LINESMITH = Path(sys.executable).with_name("linesmith")


def linesmith(*arguments: str | Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The finished process with its status, output and errors; ``cache`` keeps the index there."""
    environment = dict(os.environ) if cache is None else {**os.environ, "LINESMITH_CACHE_DIR": str(cache)}
    return subprocess.run([LINESMITH, *arguments], capture_output=True, text=True, check=False, env=environment)
