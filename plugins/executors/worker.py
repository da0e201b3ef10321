# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker process as its owner sees it: started, called, and ended with everything below it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from linesmith.analyzer.errors import ExecutorFailed
from linesmith.plugins.executors.serving import Answer

_KEEPER = "linesmith.plugins.executors.keeper"
_SECONDS_TO_END = 90.0
# A task that has ended this many workers would end the next one too.
MOST_LOSSES = 3


class WorkerGone(Exception):
    """The process is gone: killed, most often for want of memory, or its interpreter crashed."""


class Worker:
    """A process with the folder ``warm``; what it prints goes into ``worker.log`` there."""

    def __init__(self, warm: Path) -> None:
        """Start it; raises ``ExecutorFailed`` when that is not possible."""
        self.warm = warm
        try:
            self._calls, self._keeper, self._lifeline = _started(warm)
        except OSError as error:
            raise ExecutorFailed(
                f"cannot start a worker in {warm} ({error.strerror or error}); free memory or ask for fewer workers"
            ) from error

    def call(self, function: Callable[[Path], object]) -> None:
        """Have it call ``function`` with its warm folder; raises ``WorkerGone``."""
        try:
            self._calls.send(function)
        except OSError as error:
            raise WorkerGone from error

    def answer(self, seconds: float | None = None) -> Answer | None:
        """What the call came to; ``None`` when it has not ended within ``seconds``. Raises ``WorkerGone``."""
        try:
            if not self._calls.poll(seconds):
                return None
            answer = self._calls.recv()
        except (EOFError, OSError) as error:
            raise WorkerGone from error
        return answer if isinstance(answer, Answer) else Answer(answer)

    def end(self) -> None:
        """Kill it with all of its children, and come back when they are dead."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        try:
            self._keeper.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        self._calls.close()


def _started(warm: Path) -> tuple[Connection, subprocess.Popen[bytes], int]:
    """The connection to a new worker, its keeper, and the descriptor whose closing ends both."""
    warm.mkdir(parents=True, exist_ok=True)
    ours, its = Pipe()
    listening, lifeline = os.pipe()
    try:
        with (warm / "worker.log").open("ab") as log:
            keeper = subprocess.Popen(
                (sys.executable, "-m", _KEEPER, str(warm), str(its.fileno()), str(listening)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(its.fileno(), listening),
                start_new_session=True,  # Ctrl-C is for the owner alone
            )
        ours.send(sys.path)
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        its.close()
        os.close(listening)
    return ours, keeper, lifeline
