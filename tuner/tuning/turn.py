# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose turn it is to benchmark on a machine: two runs that measure on one at a time would measure each other.

Each of the user's runs locks a file in the cache directory that is named after the machine (flock(2), which ends with
its holder); it has the name of the run in it. Builds and simulations need no turn.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from linesmith.analyzer.cache import cache_directory
from linesmith.analyzer.errors import CacheError
from linesmith.analyzer.model import Site
from linesmith.plugins.api import Tell

# Beside the log of a task that waits.
_WAITING = "waiting"
_MOST_CHARACTERS = 4096
_PLAIN = re.compile(r"[^\w.-]")


def measured_machine(site: Site) -> str:
    """The name of the computer whose time is measured: the host that is named, else this one, guests included."""
    return str(dict(site.settings).get("host") or os.uname().nodename)


@contextmanager
def turn(machine: str, run: Path, logs: Path, tell: Tell) -> Iterator[None]:
    """Have the machine for the run in the directory ``run``, when the others are done.

    What it waits for is told, and stands in ``logs`` meanwhile. Where no lock can be kept there are no turns.
    """
    try:
        lock = _opened(cache_directory("machines") / _PLAIN.sub("_", machine))
    except (CacheError, OSError) as error:
        tell(f"no other run is kept from benchmarking on {machine} meanwhile ({error})")
        yield
        return
    with lock:
        _wait(lock, machine, logs / _WAITING, tell)
        lock.truncate(0)
        lock.write(str(run))
        lock.flush()
        yield


def waiting_for(logs: Path, task: str) -> str:
    """What the task called so waits for; empty when it does not."""
    with suppress(OSError):
        # The last attempt: an earlier one may have been killed while it waited.
        attempts = sorted((*logs.glob(task), *logs.glob(f"{task}.*")), key=lambda folder: folder.stat().st_mtime_ns)
        return (attempts[-1] / _WAITING).read_text("utf-8", "replace") if attempts else ""
    return ""


def _opened(path: Path) -> IO[str]:
    return path.open("a+", encoding="utf-8", errors="surrogateescape")


def _wait(lock: IO[str], machine: str, note: Path, tell: Tell) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        sentence = f"waiting for {lock.read(_MOST_CHARACTERS) or 'another run'}, which benchmarks on {machine}"
        tell(sentence)
        note.write_text(sentence, "utf-8", "replace")
        fcntl.flock(lock, fcntl.LOCK_EX)
        note.unlink()
