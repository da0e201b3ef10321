# SPDX-License-Identifier: GPL-2.0-or-later
"""A small client of QEMU's machine protocol: one JSON document a line. Source: docs/interop/qmp-spec.rst of QEMU."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed


class Qmp:
    """A connection to one QEMU; ``near`` is our end of a socket pair, the other end belongs to QEMU."""

    def __init__(self, near: socket.socket, seconds: float) -> None:
        near.settimeout(seconds)
        self._stream = near.makefile("rwb")
        self.version = _version(self._receive())
        self.call("qmp_capabilities")

    def call(self, command: str, **arguments: object) -> object:
        """The value that ``command`` returns; raises ``GuestFailed`` when QEMU refuses or does not answer."""
        message = {
            "execute": command,
            "arguments": {name.replace("_", "-"): value for name, value in arguments.items()},
        }
        try:
            self._stream.write(json.dumps(message).encode() + b"\n")
            self._stream.flush()
        except OSError as error:
            raise _silent(command, error) from error
        while True:
            answer = self._receive(command)
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise GuestFailed(f"QEMU refuses {command} ({_description(answer['error'])}); is there room in TMPDIR?")

    def dump(self, destination: Path) -> None:
        """Stop the guest, write its memory as an ELF core file to ``destination``, and let it go on."""
        self.call("stop")
        self.call("dump-guest-memory", paging=False, protocol=f"file:{destination}")
        self.call("cont")

    def _receive(self, command: str = "its greeting") -> dict[str, object]:
        try:
            line = self._stream.readline()
            answer = json.loads(line) if line else None
        except (OSError, ValueError) as error:
            raise _silent(command, error) from error
        if not isinstance(answer, dict):
            raise _silent(command, "the connection ended")
        return answer


def _description(error: object) -> str:
    return str(error.get("desc", error)) if isinstance(error, dict) else str(error)


def _version(greeting: dict[str, object]) -> str:
    """``major.minor.micro`` as the greeting gives it."""
    try:
        numbers = greeting["QMP"]["version"]["qemu"]  # type: ignore[index]
        return f"{numbers['major']}.{numbers['minor']}.{numbers['micro']}"
    except (KeyError, TypeError) as error:
        raise _silent("with its version", error) from error


def _silent(command: str, reason: object) -> GuestFailed:
    return GuestFailed(f"QEMU does not answer {command} ({reason}); give more time with --timeout")
