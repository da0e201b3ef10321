# SPDX-License-Identifier: GPL-2.0-or-later
"""A task as a Dask worker runs it: in a process of its own, so that it ends when nobody waits for it any more."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.errors import WorkerLost
from linesmith.plugins.executors.serving import Answer
from linesmith.plugins.executors.worker import MOST_LOSSES, Worker, WorkerGone

if TYPE_CHECKING:
    from distributed import Worker as DaskWorker

_LOOK_SECONDS = 0.5


class Abandoned(Exception):
    """The task was cancelled, or who waits for it is gone; nobody hears of this."""


def run_task(function: Callable[[Path], object], folder: Path) -> object:
    """What ``function`` returns or raises, called with the warm folder of this Dask worker below ``folder``.

    Raises ``WorkerLost`` when its process is lost again and again.
    """
    from distributed import get_worker

    worker = get_worker()
    key = str(worker.get_current_task())
    warm = folder / re.sub(r"[^\w.-]+", "-", str(worker.name))
    for _ in range(MOST_LOSSES):
        try:
            answer = _answer(function, warm, lambda: _is_wanted(worker, key))
        except WorkerGone:
            continue
        if answer.error is not None:
            raise answer.error
        return answer.value
    raise WorkerLost(
        f"{MOST_LOSSES} processes were lost one after the other with the same task (see {warm / 'worker.log'}); give "
        "the machine more memory or look at its kernel's log"
    )


def _answer(function: Callable[[Path], object], warm: Path, wanted: Callable[[], bool]) -> Answer:
    """What the call came to in a fresh process, which is killed when it is not ``wanted`` any more."""
    process = Worker(warm)
    try:
        process.call(function)
        while (answer := process.answer(_LOOK_SECONDS)) is None:
            if not wanted():
                raise Abandoned
        return answer
    finally:
        process.end()


def _is_wanted(worker: DaskWorker, key: str) -> bool:
    """Whether the scheduler still has this worker run the task: it is told when a client cancels or goes away."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state == "executing"
