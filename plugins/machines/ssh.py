# SPDX-License-Identifier: GPL-2.0-or-later
"""A computer that is reached by ssh, as the user's own configuration says; nobody is there to type a password."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed
from linesmith.plugins.machines.child import Streams, child, find

_CONNECT_SECONDS = 10
_ENDING_SECONDS = 5
# ssh(1) ends with this status when it could not connect or was cut off.
_NO_CONNECTION = 255
_QUIET = ("-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_SECONDS}")
_ALIVE = ("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=6")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command there left."""

    status: int
    output: bytes
    errors: str

    @property
    def connected(self) -> bool:
        """Whether the other side was reached, and stayed until the end."""
        return self.status != _NO_CONNECTION

    @property
    def complaint(self) -> str:
        """The last line of the error output, or the status."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        return lines[-1] if lines else f"status {self.status}"


@dataclass(frozen=True, slots=True)
class Ssh:
    """Where to connect to; ``options`` are words for ssh itself, such as ``-p 2222``."""

    host: str
    options: tuple[str, ...] = ()

    def argv(self, *command: str) -> tuple[str, ...]:
        """The words that run ``command`` there; each of its words stays one, whatever the shell there is."""
        return (find("ssh", "openssh-client"), *_QUIET, *_ALIVE, *self.options, "--", self.host, shlex.join(command))

    def call(self, command: tuple[str, ...], given: bytes, scratch: Path, seconds: float) -> Answer:
        """Run ``command`` there with ``given`` as its input; raises ``GuestFailed`` when it takes too long."""
        argv = self.argv(*command)
        with child(argv, scratch, Streams(subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)) as process:
            try:
                output, errors = process.communicate(given, seconds)
            except subprocess.TimeoutExpired as error:
                raise GuestFailed(f"{self.host} did not do `{shlex.join(command)}` within {seconds:.0f} s") from error
        return Answer(process.returncode, output, errors.decode("utf-8", "replace"))

    @contextmanager
    def open(self, command: tuple[str, ...], scratch: Path, errors: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Run ``command`` there while the block lasts; its complaints go to ``errors``.

        Its input ends with the block, by which it knows that it has to end; it is given some time for that.
        """
        with (
            errors.open("wb") as file,
            child(self.argv(*command), scratch, Streams(subprocess.PIPE, subprocess.PIPE, file)) as process,
        ):
            try:
                yield process
            finally:
                if process.stdin:
                    process.stdin.close()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_ENDING_SECONDS)
