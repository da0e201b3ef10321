# SPDX-License-Identifier: GPL-2.0-or-later
"""The conversation with a guest over its second serial port, while its console is watched for signs of death."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed, GuestHung, GuestPanicked
from linesmith.plugins.machines.console import Console
from linesmith.plugins.machines.wire import Wire

_POLL_SECONDS = 0.05
_ENDING_SECONDS = 5
# What the plugin says at the end of any guest that was never followed.
_NO_REGION = "never entered a region of interest"


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
            raise GuestPanicked(self.told(f"the guest's kernel died while {doing}: {died}"))

    def late(self, doing: str, seconds: float) -> GuestFailed:
        """The guest got nowhere."""
        return GuestHung(self.told(f"the guest was still {doing} after {seconds:.0f} s ({self.limit})"))

    def ended(self, doing: str) -> GuestFailed:
        """QEMU has ended, of itself or with the guest; what it says comes last."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_ENDING_SECONDS)
        if died := self.console.death():
            return GuestPanicked(self.told(f"the guest's kernel died while {doing}: {died}"))
        if complaints := self._complaints():
            return GuestFailed(f"QEMU ended while the guest was {doing}: {complaints[0]}")
        return GuestFailed(self.told(f"the guest ended while {doing}"))

    def told(self, what: str) -> str:
        """The sentence with the guest's last words."""
        return f"{what}; its last lines: {self.console.last_lines()}; all of them are in {self.console.log}"

    def _complaints(self) -> list[str]:
        """What QEMU and the plugin said that is not a mere consequence of the early end."""
        lines = self.errors.read_text("utf-8", "replace").splitlines()
        return [line.strip() for line in lines if line.strip() and _NO_REGION not in line]


class Talk(Wire):
    """Lines from and to a guest whose QEMU has our pipes as its standard input and output."""

    def __init__(self, signs: GuestSigns, seconds: float) -> None:
        super().__init__(signs.process.stdout, signs, seconds)
        self._process = signs.process
        self._told = signs.told

    def say(self, word: str) -> None:
        """Send one line to the guest; one that is gone is told by whoever waits for it next."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.write(word.encode() + b"\n")
                self._process.stdin.flush()

    def wait(self, doing: str) -> None:
        """Wait until QEMU has ended of its own accord; raises ``GuestFailed`` as ``line`` does."""
        while self._process.poll() is None:
            self.check(doing)
            time.sleep(_POLL_SECONDS)
        if self._process.returncode != 0:
            raise GuestFailed(self._told(f"QEMU ended with status {self._process.returncode} while {doing}"))
