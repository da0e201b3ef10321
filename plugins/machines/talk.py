# SPDX-License-Identifier: GPL-2.0-or-later
"""The conversation with a guest over its second serial port, while its console is watched for signs of death.

The other side may die, hang, or be cut off at any time. ``Qmp`` is a small client of QEMU's machine protocol, one JSON
document a line. Source: docs/interop/qmp-spec.rst of QEMU.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from linesmith.analyzer.base.errors import GuestFailed, GuestHung, GuestPanicked

# Source: kernel/panic.c, arch/x86/mm/fault.c, arch/arm64/mm/fault.c, lib/bug.c; each begins a report that ends the run.
_DEATHS = (
    re.compile(r"Kernel panic - not syncing: (?P<why>.*)"),
    re.compile(r"(?P<why>BUG: (?:unable to handle|kernel NULL).*)"),
    re.compile(r"(?P<why>kernel BUG at \S+:\d+!)"),
    re.compile(r"(?P<why>Unable to handle kernel .*)"),
    re.compile(r"(?P<why>general protection fault.*\[#\d+\].*)"),
    re.compile(r"(?P<why>Internal error: .*\[#\d+\].*)"),
)
# Source: mm/oom_kill.c.
_STARVATION = re.compile(
    r"[Oo]ut of memory: Killed process .*"
    r"|Kernel panic - not syncing: .*(?:[Oo]ut of memory|deadlocked on memory).*"
)
_TIMESTAMP = re.compile(r"^\[\s*\d+\.\d+\](?:\[\s*\w+\])? ?")
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
LAST_LINES = 5
_POLL_SECONDS = 0.2
_MOST_BYTES = 64 << 20
_TALK_POLL_SECONDS = 0.05
_ENDING_SECONDS = 5
# What the plugin says at the end of any guest that was never followed.
_NO_REGION = "never entered a region of interest"


class Console:
    """The log that a guest's console is written to, read as it grows."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._bytes = 0
        self._death: str | None = None

    def text(self) -> str:
        """Everything so far, without control characters; empty before the first byte."""
        try:
            return _CONTROLS.sub("", self.log.read_bytes().decode("utf-8", "replace").replace("\r", ""))
        except FileNotFoundError:
            return ""

    def death(self) -> str | None:
        """What the kernel printed when it died; ``None`` while it lives. A log that has not grown is not read again."""
        size = self.log.stat().st_size if self.log.exists() else 0
        if size != self._bytes:
            self._bytes, self._death = size, death(self.text())
        return self._death

    def starved(self) -> str | None:
        """What the kernel printed when it first killed for want of memory; ``None`` when it never did."""
        found = _STARVATION.search(self.text())
        return found[0].strip() if found else None

    def last_lines(self) -> str:
        """The last lines that are not empty, in one line for a message; of a dead guest those up to its death."""
        text = self.text()
        died = _first_death(text)
        lines = [_TIMESTAMP.sub("", line).strip() for line in text[: died.end() if died else None].splitlines()]
        shown = [line for line in lines if line][-LAST_LINES:]
        return " | ".join(shown) if shown else "nothing was printed"


def death(text: str) -> str | None:
    """The reason that the first report of a panic or an oops in ``text`` gives; ``None`` without one."""
    found = _first_death(text)
    return found["why"].strip() if found else None


def _first_death(text: str) -> re.Match[str] | None:
    found = (match for pattern in _DEATHS if (match := pattern.search(text)))
    return min(found, key=lambda match: match.start(), default=None)


class DeathSigns(Protocol):
    """What tells that there is nothing more to wait for; ``doing`` says in messages what was going on."""

    def check(self, doing: str) -> None:
        """Raise a ``GuestFailed`` when the other side shows that it has died."""

    def late(self, doing: str, seconds: float) -> GuestFailed:
        """What to raise when the time is up."""

    def ended(self, doing: str) -> GuestFailed:
        """What to raise when the other side has closed the stream."""


class Wire:
    """What comes over ``stream``, which is not buffered by us, for so many seconds altogether."""

    def __init__(self, stream: IO[bytes] | None, signs: DeathSigns, seconds: float) -> None:
        self._stream = stream
        self._signs = signs
        self._seconds = seconds
        self._end = self._last = time.monotonic() + seconds
        self._pending = b""

    def line(self, doing: str) -> str:
        """The next line; ``doing`` says in messages what the other side was about. Raises what the signs say."""
        while b"\n" not in self._pending:
            self._pending += self._more(doing)
            if len(self._pending) > _MOST_BYTES:
                raise GuestFailed(f"the machine does not stop sending while {doing}; see what it runs")
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    def take(self, count: int, doing: str) -> bytes:
        """The next ``count`` bytes, whatever they are; raises as ``line`` does."""
        parts = [self._pending]
        missing = count - len(self._pending)
        while missing > 0:
            parts.append(self._more(doing))
            missing -= len(parts[-1])
        whole = b"".join(parts)
        self._pending = whole[count:]
        return whole[:count]

    def limit(self, seconds: float) -> None:
        """From now on wait for so many seconds, within those that there are altogether."""
        left = max(0.0, self._last - time.monotonic())
        self._seconds = min(seconds, left)
        self._end = time.monotonic() + self._seconds

    def check(self, doing: str) -> None:
        """Raise what there is to raise by now."""
        self._signs.check(doing)
        if time.monotonic() > self._end:
            raise self._signs.late(doing, self._seconds)

    def _more(self, doing: str) -> bytes:
        if self._stream and select.select([self._stream], [], [], _POLL_SECONDS)[0]:
            data = os.read(self._stream.fileno(), 1 << 16)
            if data:
                return data
            raise self._signs.ended(doing)
        self.check(doing)
        return b""


@dataclass(frozen=True, slots=True)
class GuestSigns:
    """How it shows that a guest is gone: ``process`` runs it, ``errors`` is the file with what that had to say.

    ``limit`` is what the user knows the time limit by.
    """

    process: subprocess.Popen[bytes]
    console: Console
    errors: Path
    limit: str

    def check(self, doing: str) -> None:
        """Raise ``GuestPanicked`` when the kernel says that it has died."""
        if died := self.console.death():
            raise GuestPanicked(self.with_last_lines(f"the guest's kernel died while {doing}: {died}"))

    def late(self, doing: str, seconds: float) -> GuestFailed:
        """The guest got nowhere."""
        return GuestHung(self.with_last_lines(f"the guest was still {doing} after {seconds:.0f} s ({self.limit})"))

    def ended(self, doing: str) -> GuestFailed:
        """QEMU has ended, of itself or with the guest; what it says comes last."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_ENDING_SECONDS)
        if died := self.console.death():
            return GuestPanicked(self.with_last_lines(f"the guest's kernel died while {doing}: {died}"))
        # What QEMU and the plugin printed that is not a mere consequence of the early end.
        lines = self.errors.read_text("utf-8", "replace").splitlines()
        if complaints := [line.strip() for line in lines if line.strip() and _NO_REGION not in line]:
            return GuestFailed(f"QEMU ended while the guest was {doing}: {complaints[0]}")
        return GuestFailed(self.with_last_lines(f"the guest ended while {doing}"))

    def with_last_lines(self, what: str) -> str:
        """The sentence with the guest's last words."""
        return f"{what}; its last lines: {self.console.last_lines()}; all of them are in {self.console.log}"


class Talk(Wire):
    """Lines from and to a guest whose QEMU has our pipes as its standard input and output."""

    def __init__(self, signs: GuestSigns, seconds: float) -> None:
        super().__init__(signs.process.stdout, signs, seconds)
        self._process = signs.process
        self._with_last_lines = signs.with_last_lines

    def say(self, word: str) -> None:
        """Send one line to the guest; one that is gone is noticed by whoever waits for it next."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.write(word.encode() + b"\n")
                self._process.stdin.flush()

    def wait(self, doing: str) -> None:
        """Wait until QEMU has ended of its own accord; raises ``GuestFailed`` as ``line`` does."""
        while self._process.poll() is None:
            self.check(doing)
            time.sleep(_TALK_POLL_SECONDS)
        if self._process.returncode != 0:
            raise GuestFailed(self._with_last_lines(f"QEMU ended with status {self._process.returncode} while {doing}"))


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
                refusal = answer["error"]
                reason = refusal.get("desc", refusal) if isinstance(refusal, dict) else refusal
                raise GuestFailed(f"QEMU refuses {command} ({reason}); is there room in TMPDIR?")

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


def _version(greeting: dict[str, object]) -> str:
    """``major.minor.micro`` as the greeting gives it."""
    try:
        numbers = greeting["QMP"]["version"]["qemu"]  # type: ignore[index]
        return f"{numbers['major']}.{numbers['minor']}.{numbers['micro']}"
    except (KeyError, TypeError) as error:
        raise _silent("with its version", error) from error


def _silent(command: str, reason: object) -> GuestFailed:
    return GuestFailed(f"QEMU does not answer {command} ({reason}); give more time with --timeout")
