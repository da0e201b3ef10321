# SPDX-License-Identifier: GPL-2.0-or-later
"""The time that a command spends on text that it does not trust, so that no text holds a CI job up.

Every reader of such text is linear, and each child process has a limit of its own; this is the limit for all of it
together. It interrupts the main thread with a signal (SIGALRM, setitimer(2)), wherever that is.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from linesmith.analyzer.base.errors import DeadlinePassed

DEADLINE_SECONDS = 300


class Deadline:
    """``seconds`` of wall time, of which only the time inside ``running`` blocks counts."""

    def __init__(self, seconds: float = DEADLINE_SECONDS) -> None:
        self.seconds = seconds
        self.left = seconds
        self._began = 0.0

    def anew(self) -> Deadline:
        """As much time once more, for work that the user asked for by its own name."""
        return Deadline(self.seconds)

    def remaining(self) -> float:
        """The seconds that are left now; other threads may ask while a block runs."""
        return max(self.left - (time.monotonic() - self._began if self._began else 0.0), 0.0)

    @property
    def passed(self) -> str:
        """Why something was left out, as a clause."""
        return f"the time limit of {self.seconds:g} s was reached; raise --deadline"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of the block against the deadline; raises ``DeadlinePassed`` in it, or before it begins.

        Only the main thread may enter it; a block in another one of the same deadline is a part of it.
        """
        if self.left <= 0:
            raise self.error()
        if self._began:
            yield
            return
        self._began = time.monotonic()
        former = signal.signal(signal.SIGALRM, self._interrupt)
        signal.setitimer(signal.ITIMER_REAL, self.left)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
            self.left = self.remaining()
            self._began = 0.0

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.left, self._began = 0.0, 0.0
        raise self.error()

    def error(self) -> DeadlinePassed:
        """What is raised where the time is over and nothing was judged."""
        return DeadlinePassed(
            f"reading and compiling the sources took longer than {self.seconds:g} s, so nothing was checked; review"
            " the change by hand, or raise --deadline"
        )
