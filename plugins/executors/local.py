# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers on this machine: several build at a time, but while one benchmarks nothing else of ours runs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from linesmith.analyzer.base.errors import ExecutorFailed, LinesmithError, WorkerLost
from linesmith.plugins.api import BENCH, Settings

# What a worker does: it takes functions from a connection, calls them, and sends back what they return or raise.


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


# A worker process as its owner sees it: started, called, and ended with everything below it.

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


T = TypeVar("T")

_MOST_WORKERS = 256


@dataclass(slots=True)
class _Job:
    function: Callable[[Path], object]
    needs: str
    future: Future[Any]
    losses: int = 0


class LocalExecutor:
    """Processes of this machine; the setting ``workers`` says how many, one for each two CPUs and at most four."""

    name = "local"

    @contextmanager
    def open(self, settings: Settings, folder: Path) -> Iterator[LocalPool]:
        """Workers with the warm folders ``folder``/0, /1 ...; raises ``ExecutorFailed`` for a strange setting."""
        workers = settings.get("workers", max(1, min(4, (os.cpu_count() or 1) // 2)))
        if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= _MOST_WORKERS:
            raise ExecutorFailed(f"workers = {workers!r} is no number from 1 to {_MOST_WORKERS}; give --workers N")
        pool = LocalPool(folder, workers)
        try:
            yield pool
        finally:
            pool.close()


class LocalPool:
    """One thread for each worker process, which it starts when there is something to do.

    Jobs begin in the order in which they were submitted, so a benchmark that waits for quiet is never overtaken.
    """

    def __init__(self, folder: Path, slots: int) -> None:
        self.slots = self.neighbours = slots
        self._folder = folder
        self._waiting: deque[_Job] = deque()
        self._running: list[_Job] = []
        self._changed = threading.Condition()
        self._closed = False
        self._workers: dict[int, Worker] = {}
        self._threads = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(slots)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[[Path], T], needs: str) -> Future[T]:
        """Run ``function`` with the warm folder of a worker; alone on this machine when it ``needs`` a ``bench``."""
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                raise ExecutorFailed("the workers have been sent home already; open the executor again")
            self._waiting.append(_Job(function, needs, future))
            self._changed.notify_all()
        return future

    def close(self) -> None:
        """Cancel what waits, kill what runs, and come back when every process is dead."""
        with self._changed:
            self._closed = True
            waiting, workers = list(self._waiting), list(self._workers.values())
            self._waiting.clear()
            self._changed.notify_all()
        for job in waiting:
            job.future.cancel()
        for worker in workers:
            worker.end()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        """What the thread of one worker does."""
        while job := self._next():
            try:
                answer = self._answer(number, job)
            except LinesmithError as error:
                answer = Answer(None, error)
            with self._changed:
                self._running.remove(job)
                if answer is None and not self._closed:
                    self._waiting.appendleft(job)
                self._changed.notify_all()
            if answer is not None or self._closed:
                _settle(job.future, answer)

    def _next(self) -> _Job | None:
        """Wait for a job that may begin; ``None`` when the pool is closed."""
        with self._changed:
            while not self._closed:
                if self._waiting and self._may_begin(self._waiting[0]):
                    job = self._waiting.popleft()
                    if job.losses or job.future.set_running_or_notify_cancel():
                        self._running.append(job)
                        return job
                else:
                    self._changed.wait()
            return None

    def _may_begin(self, job: _Job) -> bool:
        return not self._running or (job.needs != BENCH and all(one.needs != BENCH for one in self._running))

    def _answer(self, number: int, job: _Job) -> Answer | None:
        """What the job came to; ``None`` for one that lost its worker and runs again. Raises ``ExecutorFailed``."""
        try:
            worker = self._worker(number)
            if worker is None:
                return None
            worker.call(job.function)
            return worker.answer()
        except WorkerGone:
            self._forget(number)
            job.losses += 1
            if job.losses < MOST_LOSSES or self._closed:
                return None
            raise WorkerLost(
                f"{job.losses} workers were lost one after the other with the same task (see worker.log in "
                f"{self._folder / str(number)}); give the machine more memory or look at its kernel's log"
            ) from None
        except LinesmithError:
            raise
        except Exception as error:
            return Answer(None, ExecutorFailed(f"a task cannot be sent to a worker: {error}"))

    def _worker(self, number: int) -> Worker | None:
        """The process of this thread, started when there is none; ``None`` when the pool is closed."""
        with self._changed:
            if self._closed:
                return None
            if number not in self._workers:
                self._workers[number] = Worker(self._folder / str(number))
            return self._workers[number]

    def _forget(self, number: int) -> None:
        with self._changed:
            worker = self._workers.pop(number)
        with suppress(OSError):
            worker.end()


def _settle(future: Future[Any], answer: Answer | None) -> None:
    """Answer who waits; a job that was cut off has no answer."""
    if answer is None:
        future.set_exception(ExecutorFailed("the run was ended"))
    elif answer.error is not None:
        future.set_exception(answer.error)
    else:
        future.set_result(answer.value)
