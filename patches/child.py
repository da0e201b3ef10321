# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one program: no shell, a small environment, a time limit, and no child left behind, even when we are killed."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import CommandTimedOut, ToolMissing
from linesmith.patches.confinement import Confinement
from linesmith.plugins.machines.child import Streams, child

_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
_PACKAGES = {"cc": "gcc", "ld.lld": "lld", "clang": "clang", "spatch": "coccinelle"}
_MOST_OUTPUT = 1 << 20


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, and for how many seconds at most; ``confinement`` is what it may reach, else anything."""

    argv: tuple[str, ...]
    directory: Path
    seconds: int
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
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        streams = Streams(subprocess.DEVNULL, output, subprocess.STDOUT)
        try:
            with _begun(command) as (begin, variables):
                process_of = child(command.argv, command.directory, streams, environment=variables, begin=begin)
                with process_of as process:
                    status = _waited(process, command)
        except ToolMissing as error:
            raise missing(command.argv[0]) from error
        output.seek(0)
        text = output.read(_MOST_OUTPUT).decode("utf-8", "replace")
    return Ended(command, status, text, time.monotonic() - started)


def missing(program: str) -> ToolMissing:
    """The error that names the package to install."""
    name = Path(program).name
    package = _PACKAGES.get(name, f"gcc-{name.removesuffix('-gcc')}" if name.endswith("-gcc") else name)
    return ToolMissing(f"{name} is not installed or cannot be run; install the package {package}")


def environment() -> dict[str, str]:
    """The variables a child sees: none that steer make or a compiler."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | {"LC_ALL": "C"}


@contextmanager
def _begun(command: Command) -> Iterator[tuple[Callable[[], None], dict[str, str]]]:
    """What the child calls first, and its variables: a confined one has its temporary files where it may write."""
    if command.confinement is None:
        yield _nothing, environment()
        return
    with command.confinement.entry() as begin:
        yield begin, environment() | command.confinement.variables


def _nothing() -> None:
    """A child that is not confined."""


def _waited(process: subprocess.Popen[bytes], command: Command) -> int:
    try:
        return process.wait(command.seconds)
    except subprocess.TimeoutExpired:
        message = (
            f"{command.argv[0]} did not end within {command.seconds} s and was stopped; the command was: {command}"
        )
        raise CommandTimedOut(message) from None
