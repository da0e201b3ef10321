# SPDX-License-Identifier: GPL-2.0-or-later
"""An end to what takes too long, by the time of the processor: other work on the machine does not count."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfPatience(Exception):
    """The seconds are over."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raises ``OutOfPatience`` in what runs inside after so many seconds of this process; main thread only."""
    before = signal.signal(signal.SIGPROF, _end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _end(_signal: int, _frame: FrameType | None) -> None:
    raise OutOfPatience
