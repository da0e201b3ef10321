# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions for workers: they are found by name there, so they stand in a module of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


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


def wait_once(mark: Path, warm: Path) -> str:  # noqa: ARG001
    """Wait to be killed the first time, and say so the second time."""
    if mark.exists():
        return "again"
    mark.touch()
    time.sleep(600)
    return "never"


def span(seconds: float, warm: Path) -> tuple[float, float]:  # noqa: ARG001
    """When it began and ended."""
    begin = time.time()
    time.sleep(seconds)
    return begin, time.time()


def leave_children(warm: Path) -> None:
    """A child and a grandchild that would outlive us, one of them in a session of its own; they live in ``warm``."""
    subprocess.run(("sh", "-c", "setsid sleep 86400 & sh -c 'sleep 86400; true'; true"), cwd=warm, check=False)


def living_in(folder: Path) -> int:
    """How many processes have ``folder`` as their working directory."""
    found = 0
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += entry.readlink() == folder
    return found


def wait_until(what: Callable[[], bool]) -> None:
    """Wait for something that takes as long as it takes on a busy machine; fail when it never comes."""
    end = time.monotonic() + 300
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)
