# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one program: no shell, a small environment, a time limit, and no child left behind."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import CommandTimedOut, ToolMissing

_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
_PACKAGES = {"cc": "gcc", "ld.lld": "lld", "clang": "clang", "spatch": "coccinelle"}
_MOST_OUTPUT = 1 << 20


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, and for how many seconds at most."""

    argv: tuple[str, ...]
    directory: Path
    seconds: int

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
        try:
            child = subprocess.Popen(
                command.argv,
                cwd=command.directory,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError) as error:
            raise missing(command.argv[0]) from error
        _wait(child, command)
        output.seek(0)
        text = output.read(_MOST_OUTPUT).decode("utf-8", "replace")
    return Ended(command, child.returncode, text, time.monotonic() - started)


def missing(program: str) -> ToolMissing:
    """The error that names the package to install."""
    name = Path(program).name
    return ToolMissing(f"{name} is not installed or cannot be run; install the package {_PACKAGES.get(name, name)}")


def environment() -> dict[str, str]:
    """The variables a child sees: none that steer make or a compiler."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | {"LC_ALL": "C"}


def _wait(child: subprocess.Popen[bytes], command: Command) -> None:
    try:
        child.wait(command.seconds)
    except subprocess.TimeoutExpired:
        message = (
            f"{command.argv[0]} did not end within {command.seconds} s and was stopped; the command was: {command}"
        )
        raise CommandTimedOut(message) from None
    finally:
        _end_group(child)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Ends whatever the command left behind; its session is its own, so nothing else is met."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
