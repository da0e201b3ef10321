# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one command for a parent that may die at any time, and leaves nothing of it behind.

This file is a program of its own, started by its path, and so imports the standard library only. Its standard input is
a pipe that the parent holds: when it ends, the parent has, and the command ends too. Orphans of the command become
children of this process (``PR_SET_CHILD_SUBREAPER``, prctl(2)), wherever they hide from its process group.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CHECK_MILLISECONDS = 200
_STAMP_BYTES = 16
# As a shell has it.
_NOT_FOUND, _NOT_RUN, _SIGNALLED = 127, 126, 128
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Job:
    """A command; its output goes into the files ``output`` and ``errors``, at most ``most_bytes`` into each."""

    command: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    cpus: tuple[int, ...]
    seconds: float
    output: str
    errors: str
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the command ended: ``status`` as a shell has it, ``seconds`` from its first instruction to its last.

    ``late`` and ``too_long`` tell that it was killed for its time or its output. ``starved`` counts the processes that
    the kernel killed for want of memory meanwhile, wherever they were.
    """

    status: int
    seconds: float
    late: bool
    too_long: bool
    starved: int


def main() -> None:
    """Run the job in the file that the first argument names; the outcome goes to standard output."""
    job = Job(**json.loads(Path(sys.argv[1]).read_text("utf-8")))
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    outcome = keep(job, os.getppid())
    with suppress(BrokenPipeError):
        os.write(1, json.dumps(asdict(outcome)).encode())


def keep(job: Job, parent: int) -> Outcome:
    """Run the job until it ends, ``parent`` does, or it has had its time; then end everything that it began."""
    starved = _starved()
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        _become(job, writer)
    os.close(writer)
    began = float(os.read(reader, _STAMP_BYTES) or time.monotonic())
    late, too_long = _watch(process, job, parent, began + job.seconds)
    ended = time.monotonic()
    status = _reaped(process)
    _end_orphans()
    return Outcome(status, ended - began, late, too_long, _starved() - starved)


def _become(job: Job, writer: int) -> NoReturn:
    """Runs in the child: turn into the command. The parent hears when, as late as possible."""
    try:
        os.setsid()
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for path, descriptor in ((os.devnull, 0), (job.output, 1), (job.errors, 2)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644), descriptor)
        os.chdir(job.folder)
        if job.cpus:
            os.sched_setaffinity(0, job.cpus)
        os.write(writer, f"{time.monotonic():.6f}".encode()[:_STAMP_BYTES])
        os.execvpe(job.command[0], job.command, job.environment)  # noqa: S606 - there is no shell on purpose
    except OSError as error:
        os.write(2, f"{job.command[0]}: {error.strerror}\n".encode())
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUN)


def _watch(process: int, job: Job, parent: int, end: float) -> tuple[bool, bool]:
    """Wait for the process; whether it was late, and whether it wrote too much."""
    poll = select.poll()
    ended = os.pidfd_open(process)
    poll.register(ended, select.POLLIN)
    poll.register(0, 0)
    while True:
        left = max(0, int((end - time.monotonic()) * 1000))
        ready = [descriptor for descriptor, _ in poll.poll(min(left, _CHECK_MILLISECONDS))]
        if ended in ready:
            return False, False
        late = time.monotonic() >= end
        too_long = any(_size(path) > job.most_bytes for path in (job.output, job.errors))
        if ready or late or too_long or os.getppid() != parent:
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            return late, too_long


def _reaped(process: int) -> int:
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return status if status >= 0 else _SIGNALLED - status


def _end_orphans() -> None:
    """Kill what is left; the children of whatever is killed come to us, until there are none."""
    with suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                _kill_children()
                os.waitpid(-1, 0)


def _kill_children() -> None:
    for child in _children():
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def _children() -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name, in parentheses, may hold anything.
            words = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
            if int(words[1]) == os.getpid():
                found.append(int(stat.parent.name))
    return found


def _size(path: str) -> int:
    with suppress(OSError):
        return Path(path).stat().st_size
    return 0


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
