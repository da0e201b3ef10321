# SPDX-License-Identifier: GPL-2.0-or-later
"""Child processes: each in a session of its own, with limits, killed as a whole, and gone even when we are killed.

``run`` and ``run_apart`` run a ``Command`` to its end; ``started`` and ``child`` are programs that are talked to while
a block lasts. These die with us, but not what they began if we get SIGKILL: whatever may begin others is run under a
keeper, by ``run_guarded`` or ``guarded``, which ends all of it at any rate.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Protocol

from linesmith.analyzer.base import keeper
from linesmith.analyzer.base.errors import CommandTimedOut, GuestFailed, ToolMissing, WorkStopped
from linesmith.analyzer.base.keeper import ChildStatus, KeeperOrder, die_with

MOST_OUTPUT = 1 << 20
_KEPT_VARIABLES = ("HOME", "TMPDIR", "LD_LIBRARY_PATH")
_PACKAGES = {"cc": "gcc", "ld.lld": "lld", "clang": "clang", "spatch": "coccinelle"}
_DEADLY = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM)
# What a keeper takes to end a command and to report, beyond the command's own time, and to end when asked to.
_GRACE_SECONDS, _SECONDS_TO_END = 30, 90
_of_thread = threading.local()


class ChildLimits(Protocol):
    """What a child may reach, as ``patches`` confines programs."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that differ for the child."""

    def entry(self) -> AbstractContextManager[Callable[[], None]]:
        """What the child calls before it becomes the program."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, and for how many seconds at most; ``confinement`` is what it may reach, else anything.

    ``variables`` are its environment, that of ``environment`` by default; it reads ``input``.
    """

    argv: tuple[str, ...]
    directory: Path
    seconds: float
    confinement: ChildLimits | None = None
    variables: Mapping[str, str] | None = None
    input: bytes = b""

    def __str__(self) -> str:
        return f"cd {shlex.quote(str(self.directory))} && {shlex.join(self.argv)}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; ``output`` is what it wrote to both streams (the first MiB), ``seconds`` its wall time."""

    command: Command
    status: int
    output: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Written:
    """How a command ended, and what it wrote: ``output`` whole, ``errors`` as ``Ended.output``."""

    status: int
    output: bytes
    errors: str


@dataclass(frozen=True, slots=True)
class Streams:
    """A child's standard streams as ``subprocess`` takes them: ``None`` are our own."""

    input: int | IO[bytes] | None = None
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


def run(command: Command) -> Ended:
    """Run the command to its end. Raises ``ToolMissing``, and ``CommandTimedOut`` when its time is up."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        status = _run_to_end(command, output, subprocess.STDOUT)
        output.seek(0)
        text = output.read(MOST_OUTPUT).decode("utf-8", "replace")
    return Ended(command, status, text, time.monotonic() - began)


def run_apart(command: Command) -> Written:
    """The same with the two streams apart; raises as ``run`` does."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        status = _run_to_end(command, output, errors)
        output.seek(0)
        errors.seek(0)
        return Written(status, output.read(), errors.read(MOST_OUTPUT).decode("utf-8", "replace"))


def _run_to_end(command: Command, output: IO[bytes], errors: IO[bytes] | int) -> int:
    with ExitStack() as stack:
        streams = Streams(subprocess.DEVNULL, output, errors)
        if command.input:
            read = stack.enter_context(tempfile.TemporaryFile())
            read.write(command.input)
            read.seek(0)
            streams = Streams(read, output, errors)
        process = stack.enter_context(started(command, streams))
        try:
            return process.wait(command.seconds)
        except subprocess.TimeoutExpired:
            raise timed_out(command) from None


def timed_out(command: Command) -> CommandTimedOut:
    """The error of a command whose time is up."""
    return CommandTimedOut(
        f"{command.argv[0]} did not end within {command.seconds:.0f} s and was stopped; the command was: {command}"
    )


@contextmanager
def started(command: Command, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
    """The command as it runs, with streams of the caller's; what is left of it ends with the block.

    Raises ``ToolMissing``.
    """
    with ExitStack() as stack:
        begin: Callable[[], object] | None = None
        variables = environment() if command.variables is None else dict(command.variables)
        if command.confinement is not None:
            begin = stack.enter_context(command.confinement.entry())
            variables |= command.confinement.variables
        # With variables of its own a program is found by their PATH, and is called by the name that was given.
        argv = command.argv if command.variables else (find(command.argv[0]), *command.argv[1:])
        process = child(argv, command.directory, streams, environment=variables, begin=begin)
        try:
            running = stack.enter_context(process)
        except ToolMissing as error:
            raise missing(command.argv[0]) from error
        yield running


def environment() -> dict[str, str]:
    """The variables a child sees: none that steer make or a compiler, and no search for programs where it runs."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    path = os.pathsep.join(folder for folder in os.get_exec_path() if folder.startswith("/"))
    return {**kept, "PATH": path, "LC_ALL": "C"}


def find(program: str, package: str = "") -> str:
    """The path of a program, found where we find it (a confined child does not search all folders of PATH).

    Raises ``ToolMissing`` with the package to install.
    """
    path = shutil.which(program, path=environment()["PATH"])
    if path is None:
        raise missing(program, package)
    return path


def missing(program: str, package: str = "") -> ToolMissing:
    """The error that names the package to install."""
    name = Path(program).name
    known = _PACKAGES.get(name, f"gcc-{name.removesuffix('-gcc')}" if name.endswith("-gcc") else name)
    return ToolMissing(f"{name} is not installed or cannot be run; install the package {package or known}")


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
    descriptors: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    begin: Callable[[], object] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``argv`` in ``directory``; whatever is left of it ends with the block.

    The child gets the open ``descriptors`` too, and ``environment`` as its variables (ours by default); ``begin`` is
    called in the child before the program.
    Raises ``ToolMissing`` when it cannot be started, and ``WorkStopped`` as ``ChildrenOfThreads`` says.
    """
    with ExitStack() as stack:
        parent = os.getpid()
        with undisturbed() as mask:
            try:
                process = subprocess.Popen(
                    argv,
                    cwd=directory,
                    env=environment,
                    stdin=streams.input,
                    stdout=streams.output,
                    stderr=streams.errors,
                    pass_fds=descriptors,
                    start_new_session=True,
                    preexec_fn=lambda: _begin(parent, mask, begin),
                )
            except OSError as error:
                raise ToolMissing(f"{argv[0]} cannot be run ({error.strerror}); reinstall it") from error
            stack.callback(_end, process)
        children: ChildrenOfThreads | None = getattr(_of_thread, "children", None)
        if children is not None:
            stack.enter_context(children.running(process))
        yield process


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


def _begin(parent: int, mask: set[signal.Signals], further: Callable[[], object] | None) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    die_with(parent)
    if further:
        further()


def wait(process: subprocess.Popen[bytes], program: str, seconds: float) -> int:
    """The status of a child that ends in time; raises ``GuestFailed`` when it does not."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired as error:
        raise late(program, seconds) from error


def late(program: str, seconds: float) -> GuestFailed:
    """The error of a program that has not ended in time."""
    return GuestFailed(f"{program} did not end within {seconds:.0f} s and was stopped; allow more with --timeout")


def _end(process: subprocess.Popen[bytes]) -> None:
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


def run_guarded(order: KeeperOrder, title: str) -> ChildStatus | None:
    """How the command ended, when nothing of it is left; ``None`` when its keeper was killed. Raises ``OSError``."""
    with guarded(order, title) as process:
        stream = process.stdout
        told = stream.read() if stream and select.select([stream], [], [], order.seconds + _GRACE_SECONDS)[0] else b""
    return ChildStatus(**json.loads(told)) if told else None


@contextmanager
def guarded(order: KeeperOrder, title: str) -> Iterator[subprocess.Popen[bytes]]:
    """The keeper of a command while the block lasts, afterwards nothing is left of the command.

    ``title`` is what ps(1) shows of the keeper. Raises ``OSError`` when it cannot be started.
    """
    with ExitStack() as stack:
        output, errors, *descriptors = (
            _beyond_standard(one, stack) for one in (order.output, order.errors, *order.descriptors)
        )
        order = replace(order, output=output, errors=errors, descriptors=tuple(descriptors))
        with undisturbed() as mask:
            process = subprocess.Popen(
                (sys.executable, "-I", "-S", keeper.__file__, title),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=order.errors,
                pass_fds=(order.output, order.errors, *order.descriptors),
                start_new_session=True,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),
            )
            stack.callback(_release, process)
        if process.stdin:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
                process.stdin.flush()
        yield process


def _beyond_standard(descriptor: int, stack: ExitStack) -> int:
    """The same open file at a number that is no standard stream's: where one of ours is closed, it may have that."""
    if descriptor > 2:
        return descriptor
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    stack.callback(os.close, copy)
    return copy


def _release(process: subprocess.Popen[bytes]) -> None:
    """Close the keeper's input, which has it end its command, and wait for that."""
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with suppress(OSError):
                pipe.close()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
