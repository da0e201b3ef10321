# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one command for a parent that may die at any time, and leaves nothing of it behind.

This file is a program of its own, started by its path, and so imports the standard library only. A line of JSON on its
standard input is the ``KeeperOrder``; the parent then holds that pipe open. When it ends, the parent has, and the
command ends too. Orphans of the command become children of this process (``PR_SET_CHILD_SUBREAPER``, prctl(2)),
wherever they hide from its process group. The ``ChildStatus`` goes to standard output, again as JSON.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# How often to look at the size of the output, if it is limited, and at a lock that somebody else holds.
_CHECK_SECONDS, _LOCK_SECONDS = 0.2, 0.05
_LONGEST_SLEEP = 3600.0
# How long (s) killed processes may take to die, and how often to look.
_SECONDS_TO_DIE, _PAUSE_SECONDS = 60.0, 0.01
_STAMP_BYTES = 16
# As a shell has it.
_NOT_FOUND, _NOT_RUN = 127, 126
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class KeeperOrder:
    """A command that writes to the open descriptors ``output`` and ``errors``, at most ``most_bytes`` to each.

    It is run on ``cpus`` (on any by default), for ``seconds`` at most, and gets the open ``descriptors`` too. It waits
    for the file ``lock``, which the keeper then holds until the last process of the command is dead.
    """

    command: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    output: int
    errors: int
    seconds: float = inf
    most_bytes: float = inf
    cpus: tuple[int, ...] = ()
    descriptors: tuple[int, ...] = ()
    lock: str = ""


@dataclass(frozen=True, slots=True)
class ChildStatus:
    """How the command ended: ``status`` negative for a signal, ``seconds`` from its first instruction to its last.

    ``late`` and ``too_long`` say that it was killed for its time or its output. ``starved`` counts the processes that
    the kernel killed for want of memory meanwhile, wherever they were.
    """

    status: int
    seconds: float
    late: bool
    too_long: bool
    starved: int


def main() -> None:
    """Carry out the order that standard input begins with."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return  # the parent is dead already
    order = KeeperOrder(**json.loads(line))
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if order.lock and not _locked(order.lock):
        return
    status = keep(order)
    with suppress(BrokenPipeError):
        os.write(1, json.dumps(asdict(status)).encode())


def _locked(path: str) -> bool:
    """Wait until the lock is ours; false when the parent ends first. The lock goes with this process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if select.select([0], [], [], _LOCK_SECONDS)[0]:
                return False


def keep(order: KeeperOrder) -> ChildStatus:
    """Run the command until it ends, the parent does, or a limit is reached; then end everything that it began."""
    starved = _starved()
    reader, writer = os.pipe()
    keeper = os.getpid()
    process = os.fork()
    if process == 0:
        _become(order, writer, keeper)
    for descriptor in (writer, *order.descriptors):
        os.close(descriptor)
    began = float(os.read(reader, _STAMP_BYTES) or time.monotonic())
    late, too_long = _watch(process, order, began + order.seconds)
    ended = time.monotonic()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    _end_descendants()
    return ChildStatus(status, ended - began, late, too_long, _starved() - starved)


def _become(order: KeeperOrder, writer: int, keeper: int) -> NoReturn:
    """Runs in the child: turn into the command. The keeper is sent the time, as late as possible."""
    try:
        os.setsid()
        die_with(keeper)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for opened, descriptor in ((os.open(os.devnull, os.O_RDWR), 0), (order.output, 1), (order.errors, 2)):
            os.dup2(opened, descriptor)
        for opened in {order.output, order.errors}:
            os.close(opened)
        os.chdir(order.folder)
        if order.cpus:
            os.sched_setaffinity(0, order.cpus)
        os.write(writer, f"{time.monotonic():.6f}".encode()[:_STAMP_BYTES])
        os.execvpe(order.command[0], order.command, order.environment)  # noqa: S606 - there is no shell on purpose
    except OSError as error:
        os.write(2, f"{order.command[0]}: {error.strerror}\n".encode())
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUN)


def die_with(parent: int) -> None:
    """Run in a child between fork and exec: have it killed when ``parent`` ends, at once where it has. See prctl(2)."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _watch(process: int, order: KeeperOrder, end: float) -> tuple[bool, bool]:
    """Wait for the process; whether it was late, and whether it wrote too much."""
    poll = select.poll()
    ended = os.pidfd_open(process)
    poll.register(ended, select.POLLIN)
    poll.register(0, 0)
    longest = _LONGEST_SLEEP if order.most_bytes == inf else _CHECK_SECONDS
    while True:
        left = max(0.0, min(end - time.monotonic(), longest))
        ready = [descriptor for descriptor, _ in poll.poll(int(left * 1000))]
        if ended in ready:
            return False, False
        late = time.monotonic() >= end
        too_long = any(os.fstat(stream).st_size > order.most_bytes for stream in (order.output, order.errors))
        if ready or late or too_long:
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            return late, too_long


def _end_descendants() -> None:
    """Kill all processes below this one and reap them: whoever loses its parent becomes our child.

    Killed programs may have been about to fork, so this looks again until there is nobody.
    """
    deadline = time.monotonic() + _SECONDS_TO_DIE
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                for process in _below(os.getpid()):
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(process, signal.SIGKILL)
                time.sleep(_PAUSE_SECONDS)


def _below(ancestor: int) -> Iterator[int]:
    """Processes whose parent, or a parent of it, is ``ancestor``. See proc(5) for the line that is read."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                stat = (entry / "stat").read_bytes()  # the name, in parentheses, may hold anything
                children.setdefault(int(stat[stat.rindex(b")") + 2 :].split()[1]), []).append(int(entry.name))
    waiting = [ancestor]
    while waiting:
        below = children.get(waiting.pop(), [])
        yield from below
        waiting += below


def _starved() -> int:
    """How many processes the kernel has killed for want of memory since it booted. Source: proc_vmstat(5)."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text("utf-8").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    return 0


if __name__ == "__main__":
    main()
