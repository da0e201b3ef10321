# SPDX-License-Identifier: GPL-2.0-or-later
"""Being told to end counts as an interrupt, so that children end and by-products go."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises ``click.Abort`` in the block when the process is told to end or loses its terminal.

    A signal that the caller has ignored (``nohup``) stays so.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise click.Abort

    deadly = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    former = {number: signal.signal(number, interrupt) for number in deadly}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
