# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines and bytes from another side that may die, hang, or be cut off at any time."""

from __future__ import annotations

import os
import select
import time
from typing import IO, Protocol

from linesmith.analyzer.errors import GuestFailed

_POLL_SECONDS = 0.2
_MOST_BYTES = 64 << 20


class Signs(Protocol):
    """What tells that there is nothing more to wait for; ``doing`` says in messages what was going on."""

    def check(self, doing: str) -> None:
        """Raise a ``GuestFailed`` when the other side shows that it has died."""

    def late(self, doing: str, seconds: float) -> GuestFailed:
        """What to raise when the time is up."""

    def ended(self, doing: str) -> GuestFailed:
        """What to raise when the other side has closed the stream."""


class Wire:
    """What comes over ``stream``, which is not buffered by us, for so many seconds altogether."""

    def __init__(self, stream: IO[bytes] | None, signs: Signs, seconds: float) -> None:
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
                raise GuestFailed(f"the machine sends without end while {doing}; see what it runs")
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
