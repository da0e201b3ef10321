# SPDX-License-Identifier: GPL-2.0-or-later
"""All processes below this one: whoever loses its parent is adopted by us, so that none gets away."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PAUSE_SECONDS = 0.01
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """From now on descendants whose parent ends become our children instead of init's. See prctl(2)."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Have this process killed when ``parent``, which has just forked it, ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def end_descendants(seconds: float) -> bool:
    """Kill all processes below this one and reap our children; whether none was left after ``seconds``.

    Killed programs may have been about to fork, so this looks again until there is nobody.
    """
    deadline = time.monotonic() + seconds
    while below := tuple(_below(os.getpid())):
        for process in below:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        _reap()
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


def _below(ancestor: int) -> Iterator[int]:
    """Processes whose parent, or a parent of it, is ``ancestor``; zombies that we can reap are among them."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    waiting = [ancestor]
    while waiting:
        found = children.get(waiting.pop(), [])
        yield from found
        waiting += found


def _parents() -> Iterator[tuple[int, int]]:
    """Each process with its parent. See proc(5): the name in parentheses may hold anything."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                stat = (entry / "stat").read_bytes()
                yield int(entry.name), int(stat[stat.rindex(b")") + 2 :].split()[1])


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
