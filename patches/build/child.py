# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one program: no shell, a small environment, a time limit, and no child left behind, even when we are killed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import CommandTimedOut, ToolMissing
from linesmith.patches.build.confinement import Confinement, toolchain_of
from linesmith.plugins.machines.child import Streams, child

_KEPT_VARIABLES = ("HOME", "TMPDIR", "LD_LIBRARY_PATH")
_PACKAGES = {"cc": "gcc", "ld.lld": "lld", "clang": "clang", "spatch": "coccinelle"}
MOST_OUTPUT = 1 << 20
_VERSION_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, and for how many seconds at most; ``confinement`` is what it may reach, else anything."""

    argv: tuple[str, ...]
    directory: Path
    seconds: float
    confinement: Confinement | None = None

    def __str__(self) -> str:
        return f"cd {shlex.quote(str(self.directory))} && {shlex.join(self.argv)}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; ``output`` is what it wrote to both streams (the first MiB), ``seconds`` its wall time."""

    command: Command
    status: int
    output: str
    seconds: float


def run(command: Command) -> Ended:
    """Run the command to its end. Raises ``ToolMissing``, and ``CommandTimedOut`` when its time is up."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        with started(command, Streams(subprocess.DEVNULL, output, subprocess.STDOUT)) as process:
            status = _waited(process, command)
        output.seek(0)
        text = output.read(MOST_OUTPUT).decode("utf-8", "replace")
    return Ended(command, status, text, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class Written:
    """How a command ended, and what it wrote: ``output`` whole, ``errors`` as ``Ended.output``."""

    status: int
    output: bytes
    errors: str


def run_apart(command: Command) -> Written:
    """The same with the two streams apart; raises as ``run`` does."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with started(command, Streams(subprocess.DEVNULL, output, errors)) as process:
            status = _waited(process, command)
        output.seek(0)
        errors.seek(0)
        return Written(status, output.read(), errors.read(MOST_OUTPUT).decode("utf-8", "replace"))


@contextmanager
def started(command: Command, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
    """The command as it runs, with streams of the caller's; what is left of it ends with the block.

    Raises ``ToolMissing``.
    """
    with ExitStack() as stack:
        begin, variables = _nothing, environment()
        if command.confinement is not None:
            begin = stack.enter_context(command.confinement.entry())
            variables |= command.confinement.variables
        argv = (place_of(command.argv[0]), *command.argv[1:])
        process = child(argv, command.directory, streams, environment=variables, begin=begin)
        try:
            running = stack.enter_context(process)
        except ToolMissing as error:
            raise missing(command.argv[0]) from error
        yield running


def place_of(program: str) -> str:
    """The path of a program, found where we find it (a confined child does not search all folders of PATH).

    Raises ``ToolMissing``.
    """
    found = shutil.which(program, path=environment()["PATH"])
    if found is None:
        raise missing(program)
    return found


def _nothing() -> None:
    """A child that is not confined."""


def compiler_version(compiler: str) -> str:
    """What the compiler says of itself, which may be a program that a tree named; raises ``ToolMissing``."""
    return run(
        Command((compiler, "--version"), Path("/"), _VERSION_SECONDS, Confinement(toolchain_of(compiler)))
    ).output


def missing(program: str) -> ToolMissing:
    """The error that names the package to install."""
    name = Path(program).name
    package = _PACKAGES.get(name, f"gcc-{name.removesuffix('-gcc')}" if name.endswith("-gcc") else name)
    return ToolMissing(f"{name} is not installed or cannot be run; install the package {package}")


def environment() -> dict[str, str]:
    """The variables a child sees: none that steer make or a compiler, and no search for programs where it runs."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    path = os.pathsep.join(folder for folder in os.get_exec_path() if folder.startswith("/"))
    return {**kept, "PATH": path, "LC_ALL": "C"}


def _waited(process: subprocess.Popen[bytes], command: Command) -> int:
    try:
        return process.wait(command.seconds)
    except subprocess.TimeoutExpired:
        raise late(command) from None


def late(command: Command) -> CommandTimedOut:
    """The error of a command whose time is up."""
    return CommandTimedOut(
        f"{command.argv[0]} did not end within {command.seconds:.0f} s and was stopped; the command was: {command}"
    )
