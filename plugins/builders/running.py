# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the commands of a build: into a log, within a time, and with nothing left behind, however we end."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import BuildFailed
from linesmith.plugins.machines.child import Streams, child

_KEPT = ("HOME", "TMPDIR", "LD_LIBRARY_PATH", "USER")
# How long (s) killed processes may take to die, and how often to look.
_DYING = 5.0
_TICK = 0.01
# Waits for the end of its input, which comes when we are gone, and ends the group of the build.
_GUARD = 'read -r line; kill -s KILL -- "-$1"'


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, and the variables it gets on top of the usual ones; ``programs`` goes before ``PATH``."""

    argv: tuple[str, ...]
    directory: Path
    variables: tuple[tuple[str, str], ...] = ()
    programs: Path | None = None

    def __str__(self) -> str:
        path = [f'PATH={shlex.quote(str(self.programs))}:"$PATH"'] if self.programs else []
        words = [shlex.quote(f"{name}={value}") for name, value in self.variables]
        before = ["env", *path, *words] if path or words else []
        return f"cd {shlex.quote(str(self.directory))} && {' '.join((*before, shlex.join(self.argv)))}"

    def environment(self) -> dict[str, str]:
        """Its variables: none that steer make or a compiler by accident, all of ccache's."""
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("CCACHE_")}
        path = os.environ.get("PATH", os.defpath)
        return kept | {
            "LC_ALL": "C",
            "PATH": f"{self.programs}:{path}" if self.programs else path,
            **dict(self.variables),
        }


def run(command: Command, log: Path, deadline: float, kept: int) -> int:
    """The status of the command, negative for a signal; what it says is added to ``log``.

    Its processes get the descriptor ``kept``, a lock that thus lasts as long as any of them. Raises ``BuildFailed``
    when it has not ended at ``deadline`` (of ``time.monotonic``), ``ToolMissing`` when it cannot be started.
    """
    clean = ("env", "-i", *(f"{name}={value}" for name, value in command.environment().items()))
    with log.open("ab") as file:
        file.write(f"$ {command}\n".encode())
        file.flush()
        streams = Streams(input=subprocess.DEVNULL, output=file, errors=file)
        with (
            child((*clean, *command.argv), command.directory, streams, (kept,)) as process,
            _guarded(process.pid),
            _alone(process),
        ):
            try:
                return process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired as error:
                raise BuildFailed(
                    f"the build did not end in its time and was stopped; give it more; see {log}"
                ) from error


@contextmanager
def _alone(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process's group with the block, and wait until nothing of it can write any more."""
    try:
        yield
    finally:
        end = time.monotonic() + _DYING
        with suppress(ProcessLookupError):
            while time.monotonic() < end:
                os.killpg(process.pid, signal.SIGKILL)
                process.poll()
                time.sleep(_TICK)


@contextmanager
def _guarded(group: int) -> Iterator[None]:
    """Have the process group killed if we die before the block ends: make's children do not die with make."""
    with subprocess.Popen(
        ("sh", "-c", _GUARD, "guard", str(group)), stdin=subprocess.PIPE, start_new_session=True
    ) as guard:
        try:
            yield
        finally:
            guard.kill()
