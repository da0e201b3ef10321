# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions for workers: they are found by name there, so they stand in a module of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

# Nobody else's program has been asked to sleep so long.
LONG = "86123"


def double(number: int, warm: Path) -> int:
    return number * 2 if warm.is_dir() else -1


def refuse(warm: Path) -> None:
    raise ValueError(f"not in {warm.name}")


def unsendable(warm: Path) -> object:
    return lambda: warm


def die(warm: Path) -> None:  # noqa: ARG001
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(mark: Path, warm: Path) -> str:  # noqa: ARG001
    """Be killed the first time, and say so the second time."""
    if mark.exists():
        return "again"
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def span(seconds: float, warm: Path) -> tuple[float, float]:  # noqa: ARG001
    """When it began and ended."""
    begin = time.time()
    time.sleep(seconds)
    return begin, time.time()


def leave_children(warm: Path) -> None:
    """A child and a grandchild that would outlive us, one of them in a session of its own."""
    (warm / "began").touch()
    subprocess.run(("sh", "-c", f"setsid sleep {LONG} & sh -c 'sleep {LONG}; true'; true"), check=False)


def sleepers() -> list[str]:
    """What ``leave_children`` has left, if anything."""
    found = subprocess.run(("pgrep", "-f", f"^sleep {LONG}"), capture_output=True, text=True, check=False)
    return found.stdout.split()
