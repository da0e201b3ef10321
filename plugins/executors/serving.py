# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker does: it takes functions from a connection, calls them, and sends back what they return or raise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from linesmith.analyzer.errors import ExecutorFailed


class Answer(NamedTuple):
    """What a call came to: its value, or the exception that it raised."""

    value: object
    error: BaseException | None = None


def serve(calls: Connection, warm: Path) -> None:
    """Take the owner's ``sys.path``, then functions of the warm folder, until the connection is closed."""
    try:
        sys.path[:] = calls.recv()
        while True:
            _reply(calls, _answer(calls, warm))
    except (EOFError, OSError):
        return  # our owner has closed the connection


def _answer(calls: Connection, warm: Path) -> Answer:
    try:
        function: Callable[[Path], object] = calls.recv()
        return Answer(function(warm))
    except EOFError:
        raise
    except Exception as error:
        return Answer(None, error)


def _reply(calls: Connection, answer: Answer) -> None:
    """Send the answer; what cannot be sent is told in words."""
    try:
        calls.send(answer)
    except OSError:
        raise
    except Exception as error:
        told = answer.error or answer.value
        reason = f"{type(told).__name__}: {told} ({type(error).__name__}: {error})"
        calls.send(Answer(None, ExecutorFailed(f"a worker's answer cannot be sent: {reason}")))
