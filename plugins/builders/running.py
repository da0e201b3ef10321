# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the commands of a build: into a log, within a time, and with nothing left behind, however we end."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import BuildFailed
from linesmith.plugins.machines.child import Streams, child

_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "USER")
# Waits for the end of its input, which comes when we are gone, and ends the group of the build.
_GUARD = 'read -r line; kill -s KILL -- "-$1"'


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, and the variables it gets on top of the usual ones."""

    argv: tuple[str, ...]
    directory: Path
    variables: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        words = [f"{name}={value}" for name, value in self.variables]
        line = shlex.join((*(("env", *words) if words else ()), *self.argv))
        return f"cd {shlex.quote(str(self.directory))} && {line}"


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a build: none that steer make or a compiler by accident, all of ccache's."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT_VARIABLES or name.startswith("CCACHE_")}
    return kept | {"LC_ALL": "C"} | dict(variables)


def run(command: Command, log: Path, deadline: float, kept: int) -> int:
    """The status of the command, negative for a signal; what it says is added to ``log``.

    Its processes get the descriptor ``kept``, a lock that thus lasts as long as any of them. Raises ``BuildFailed``
    when it has not ended at ``deadline`` (of ``time.monotonic``), ``ToolMissing`` when it cannot be started.
    """
    clean = ("env", "-i", *(f"{name}={value}" for name, value in environment(dict(command.variables)).items()))
    with log.open("ab") as file:
        file.write(f"$ {command}\n".encode())
        file.flush()
        streams = Streams(input=subprocess.DEVNULL, output=file, errors=file)
        with child((*clean, *command.argv), command.directory, streams, (kept,)) as process, _guarded(process.pid):
            try:
                return process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired as error:
                raise BuildFailed(
                    f"the build did not end in its time and was stopped; give it more, or see {log}"
                ) from error


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
