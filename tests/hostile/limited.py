# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the installed ``linesmith`` with as much CPU time and memory as a sound answer takes many times over."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

from linesmith_command import LINESMITH

SECONDS = 20
BYTES = 1 << 30


def limited(*arguments: str | Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """The finished process; one that needs more is killed by SIGXCPU, or fails to get memory."""
    environment = {**os.environ, "LINESMITH_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [LINESMITH, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        preexec_fn=_limit,
    )


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
