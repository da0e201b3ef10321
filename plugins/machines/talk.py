# SPDX-License-Identifier: GPL-2.0-or-later
"""The conversation with a guest over its second serial port, while its console is watched for signs of death."""

from __future__ import annotations

import os
import select
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed, GuestHung, GuestPanicked
from linesmith.plugins.machines.console import Console

_POLL_SECONDS = 0.2
# What the plugin says at the end of any guest that was never followed.
_NO_REGION = "never entered a region of interest"
_MOST_BYTES = 64 << 20


class Talk:
    """Lines from and to a guest; ``errors`` is the file with what QEMU itself had to say."""

    def __init__(self, process: subprocess.Popen[bytes], console: Console, errors: Path, seconds: float) -> None:
        self._process = process
        self._console = console
        self._errors = errors
        self._seconds = seconds
        self._end = self._last = time.monotonic() + seconds
        self._pending = b""

    def line(self, doing: str) -> str:
        """The guest's next line; ``doing`` says in messages what the guest was about.

        Raises ``GuestPanicked``, ``GuestHung`` when the time is up, and ``GuestFailed`` when QEMU ends.
        """
        while b"\n" not in self._pending:
            self._pending += self._more(doing)
            if len(self._pending) > _MOST_BYTES:
                raise GuestFailed(f"the guest sends without end while {doing}; see {self._console.log}")
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    def take(self, count: int, doing: str) -> bytes:
        """The guest's next ``count`` bytes, whatever they are; raises as ``line`` does."""
        parts = [self._pending]
        missing = count - len(self._pending)
        while missing > 0:
            parts.append(self._more(doing))
            missing -= len(parts[-1])
        whole = b"".join(parts)
        self._pending = whole[count:]
        return whole[:count]

    def limit(self, seconds: float) -> None:
        """From now on give the guest so many seconds, within those that it has altogether."""
        left = max(0.0, self._last - time.monotonic())
        self._seconds = min(seconds, left)
        self._end = time.monotonic() + self._seconds

    def say(self, word: str) -> None:
        """Send one line to the guest; one that is gone is told by whoever waits for it next."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.write(word.encode() + b"\n")
                self._process.stdin.flush()

    def wait(self, doing: str) -> None:
        """Wait until QEMU has ended of its own accord; raises ``GuestFailed`` as ``line`` does."""
        while self._process.poll() is None:
            self._check(doing)
            time.sleep(_POLL_SECONDS / 4)
        if self._process.returncode != 0:
            raise GuestFailed(self._told(f"QEMU ended with status {self._process.returncode} while {doing}"))

    def _more(self, doing: str) -> bytes:
        output = self._process.stdout
        if output and select.select([output], [], [], _POLL_SECONDS)[0]:
            data = os.read(output.fileno(), 1 << 16)
            if data:
                return data
            self._process.wait()
            raise self._ended(doing)
        self._check(doing)
        return b""

    def _check(self, doing: str) -> None:
        if died := self._console.death():
            raise GuestPanicked(self._told(f"the guest's kernel died while {doing}: {died}"))
        if time.monotonic() > self._end:
            raise GuestHung(self._told(f"the guest was still {doing} after {self._seconds:.0f} s (--timeout)"))

    def _ended(self, doing: str) -> GuestFailed:
        if died := self._console.death():
            return GuestPanicked(self._told(f"the guest's kernel died while {doing}: {died}"))
        if complaints := self._complaints():
            return GuestFailed(f"QEMU ended while the guest was {doing}: {complaints[0]}")
        return GuestFailed(self._told(f"the guest ended while {doing}"))

    def _complaints(self) -> list[str]:
        """What QEMU and the plugin said that is not a mere consequence of the early end."""
        lines = self._errors.read_text("utf-8", "replace").splitlines()
        return [line.strip() for line in lines if line.strip() and _NO_REGION not in line]

    def _told(self, what: str) -> str:
        return f"{what}; its last lines: {self._console.last_lines()}; all of them are in {self._console.log}"
