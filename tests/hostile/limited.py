# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs ``linesmith`` with as much CPU time and memory as a sound answer takes many times over."""

from __future__ import annotations

import subprocess
from pathlib import Path
from resource import RLIMIT_AS, RLIMIT_CPU

from linesmith_command import linesmith

LIMITS = {RLIMIT_CPU: 20, RLIMIT_AS: 1 << 30}


def limited(*arguments: str | Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """The finished process; one that needs more is killed by SIGXCPU, or fails to get memory."""
    return linesmith(*arguments, cache=cache, limits=LIMITS)
