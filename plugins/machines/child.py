# SPDX-License-Identifier: GPL-2.0-or-later
"""A child process that cannot outlive us: a session of its own, killed as a whole, and by the kernel if we die."""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from linesmith.analyzer.base.errors import GuestFailed, ToolMissing, WorkStopped
from linesmith.plugins.machines import keeper

_PR_SET_PDEATHSIG = 1
_DEADLY = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM)
_libc = ctypes.CDLL(None, use_errno=True)
_of_thread = threading.local()


def find(program: str, package: str) -> str:
    """Path of a program; raises ``ToolMissing`` with the package to install."""
    found = shutil.which(program)
    if found is None:
        raise ToolMissing(f"{program} is not installed; install the package {package}")
    return found


@dataclass(frozen=True, slots=True)
class Streams:
    """A child's standard streams as ``subprocess`` takes them: ``None`` are our own."""

    input: int | None = None
    output: int | IO[bytes] | None = None
    errors: int | IO[bytes] | None = None


@contextmanager
def printing_to(path: Path | None) -> Iterator[Streams]:
    """Streams whose output goes to the file at ``path``, or where ours goes without one."""
    if path is None:
        yield Streams()
        return
    with path.open("wb") as file:
        yield Streams(output=file)


class ChildrenOfThreads:
    """The children of several threads, which another thread ends all at once, for nobody waits for them any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = False

    def join(self) -> None:
        """Have the children of the calling thread among them from now on."""
        _of_thread.children = self

    def end(self) -> None:
        """Kill all that run; their threads get ``WorkStopped``, also for each child that they begin from now on."""
        with self._lock:
            self._over = True
            for process in self._running:
                if process.returncode is None:
                    _kill(process)

    @contextmanager
    def running(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Have the process among them for as long as the block lasts; raises ``WorkStopped`` once all were ended."""
        with self._lock:
            if self._over:
                raise WorkStopped
            self._running.add(process)
        try:
            yield
            if self._over:
                raise WorkStopped
        finally:
            with self._lock:
                self._running.discard(process)


@contextmanager
def child(
    argv: Sequence[str],
    directory: Path,
    streams: Streams,
    kept: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    begin: Callable[[], None] = lambda: None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``argv`` in ``directory``; whatever is left of it ends with the block.

    ``kept`` are file descriptors that the child gets too, ``environment`` its variables (ours by default); ``begin`` is
    called in the child before the program.
    Raises ``ToolMissing`` when it cannot be started, and ``WorkStopped`` as ``ChildrenOfThreads`` says.
    """
    with ExitStack() as stack:
        parent = os.getpid()
        with undisturbed() as mask:
            process = _started(argv, directory, streams, kept, environment, lambda: _begin(parent, mask, begin))
            stack.callback(end, process)
        children: ChildrenOfThreads | None = getattr(_of_thread, "children", None)
        if children is not None:
            stack.enter_context(children.running(process))
        yield process


def _started(
    argv: Sequence[str],
    directory: Path,
    streams: Streams,
    kept: Sequence[int],
    environment: Mapping[str, str] | None,
    begin: Callable[[], None],
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            cwd=directory,
            env=environment,
            stdin=streams.input,
            stdout=streams.output,
            stderr=streams.errors,
            pass_fds=kept,
            start_new_session=True,
            preexec_fn=begin,
        )
    except OSError as error:
        raise ToolMissing(f"{argv[0]} cannot be run ({error.strerror}); reinstall it") from error


@contextmanager
def undisturbed() -> Iterator[set[signal.Signals]]:
    """Holds back signals that end us, and gives the former mask.

    Around a fork Python runs callbacks that swallow what a handler raises, and keep the locks that they took.
    """
    mask = {signal.Signals(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, _DEADLY)}
    try:
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin(parent: int, mask: set[signal.Signals], further: Callable[[], None]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    die_with(parent)
    further()


def wait(process: subprocess.Popen[bytes], program: str, seconds: float) -> int:
    """The status of a child that ends in time; raises ``GuestFailed`` when it does not."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired as error:
        raise late(program, seconds) from error


def late(program: str, seconds: float) -> GuestFailed:
    """The error of a program that has not ended in time."""
    return GuestFailed(f"{program} did not end within {seconds:.0f} s and was stopped; give more with --timeout")


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything in its session's group, and wait for it."""
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with suppress(OSError):
                pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def die_with(parent: int) -> None:
    """Run in a child between fork and exec: have it killed when ``parent`` ends, at once where it has. See prctl(2)."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


# A command under its keeper, which ends it with everything that it began, even when we are killed.

# What the keeper takes to end a command and to tell, beyond the command's own time.
_GRACE_SECONDS = 30


@contextmanager
def kept(job: keeper.Job, order: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The keeper of a job while the block lasts; ``order`` is a file for what it is told."""
    order.write_text(json.dumps(asdict(job)), "utf-8")
    argv = (sys.executable, "-I", "-S", keeper.__file__, str(order))
    # Leaving the block closes the keeper's input, and so ends the command, and waits for that.
    try:
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
            yield process
    finally:
        order.unlink()


def outcome(process: subprocess.Popen[bytes], job: keeper.Job) -> keeper.Outcome | None:
    """How the job ended, when it has; ``None`` when the keeper was killed."""
    stream = process.stdout
    told = stream.read() if stream and select.select([stream], [], [], job.seconds + _GRACE_SECONDS)[0] else b""
    return keeper.Outcome(**json.loads(told)) if told else None
