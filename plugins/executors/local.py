# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers on this machine: several build at a time, but while one benchmarks nothing else of ours runs."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from linesmith.analyzer.base.child import guarded
from linesmith.analyzer.base.errors import ExecutorFailed, LinesmithError, WorkerLost
from linesmith.analyzer.base.keeper import KeeperOrder
from linesmith.plugins.api import BENCH, Settings

# A worker takes functions from a connection, calls them, and sends back what they return or raise. Its keeper ends
# everything below it when the worker or its owner ends, however that may be, and holds the lock of the warm folder
# until then, so that the next worker there never meets a build of the last one.

_PROGRAM = "from linesmith.plugins.executors.local import serve_owner; serve_owner()"
# A task that has ended this many workers would end the next one too.
MOST_LOSSES = 3


class WorkerReply(NamedTuple):
    """What a call came to: its value, or the exception that it raised."""

    value: object
    error: BaseException | None = None


def serve_owner() -> None:
    """Run as a worker, with the numbers of its connection and its warm folder as arguments.

    The owner sends its ``sys.path``, then functions of the warm folder, until it closes the connection.
    """
    calls, warm = Connection(int(sys.argv[1])), Path(sys.argv[2])
    with suppress(EOFError, OSError):
        sys.path[:] = calls.recv()
        while True:
            _send(calls, _called(calls, warm))


def _called(calls: Connection, warm: Path) -> WorkerReply:
    try:
        function: Callable[[Path], object] = calls.recv()
        return WorkerReply(function(warm))
    except EOFError:
        raise
    except Exception as error:
        return WorkerReply(None, error)


def _send(calls: Connection, reply: WorkerReply) -> None:
    """Send the reply; one that cannot be sent is described."""
    try:
        calls.send(reply)
    except OSError:
        raise
    except Exception as error:
        unsent = reply.error or reply.value
        reason = f"{type(unsent).__name__}: {unsent} ({type(error).__name__}: {error})"
        calls.send(WorkerReply(None, ExecutorFailed(f"a worker's answer cannot be sent: {reason}")))


class WorkerGone(Exception):
    """The process is gone: killed, most often for want of memory, or its interpreter crashed."""


class Worker:
    """A process with the folder ``warm``, as its owner sees it; what it prints goes into ``worker.log`` there."""

    def __init__(self, warm: Path) -> None:
        """Start it; raises ``ExecutorFailed`` when that is not possible."""
        try:
            warm.mkdir(parents=True, exist_ok=True)
            with ExitStack() as stack, (warm / "worker.log").open("ab") as log:
                self._calls, its = Pipe()
                stack.enter_context(self._calls)
                with its:
                    order = KeeperOrder(
                        (sys.executable, "-c", _PROGRAM, str(its.fileno()), str(warm)),
                        str(Path.cwd()),
                        dict(os.environ),
                        log.fileno(),
                        log.fileno(),
                        descriptors=(its.fileno(),),
                        lock=str(warm / "lock"),
                    )
                    stack.enter_context(guarded(order, str(warm)))
                self._calls.send(sys.path)
                self._running = stack.pop_all()
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

    def reply(self, seconds: float | None = None) -> WorkerReply | None:
        """What the call came to; ``None`` when it has not ended within ``seconds``. Raises ``WorkerGone``."""
        try:
            if not self._calls.poll(seconds):
                return None
            reply = self._calls.recv()
        except (EOFError, OSError) as error:
            raise WorkerGone from error
        return reply if isinstance(reply, WorkerReply) else WorkerReply(reply)

    def end(self) -> None:
        """Kill it with all of its children, and come back when they are dead."""
        self._running.close()


T = TypeVar("T")

_MOST_WORKERS = 256


@dataclass(slots=True)
class _LocalTask:
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
            raise ExecutorFailed(f"workers = {workers!r} is not a number from 1 to {_MOST_WORKERS}; give --workers N")
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
        self._waiting: deque[_LocalTask] = deque()
        self._running: list[_LocalTask] = []
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
                raise ExecutorFailed("the workers have ended; open the executor again")
            self._waiting.append(_LocalTask(function, needs, future))
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
                answer = WorkerReply(None, error)
            with self._changed:
                self._running.remove(job)
                if answer is None and not self._closed:
                    self._waiting.appendleft(job)
                self._changed.notify_all()
            if answer is not None or self._closed:
                _settle(job.future, answer)

    def _next(self) -> _LocalTask | None:
        """Wait for a job that may begin; ``None`` when the pool is closed."""
        with self._changed:
            while not self._closed:
                quiet = all(one.needs != BENCH for one in self._running)
                if self._waiting and (not self._running or (self._waiting[0].needs != BENCH and quiet)):
                    job = self._waiting.popleft()
                    if job.losses or job.future.set_running_or_notify_cancel():
                        self._running.append(job)
                        return job
                else:
                    self._changed.wait()
            return None

    def _answer(self, number: int, job: _LocalTask) -> WorkerReply | None:
        """What the job came to; ``None`` for one that lost its worker and runs again. Raises ``ExecutorFailed``."""
        try:
            worker = self._worker(number)
            if worker is None:
                return None
            worker.call(job.function)
            return worker.reply()
        except WorkerGone:
            with self._changed:
                lost = self._workers.pop(number)
            with suppress(OSError):
                lost.end()
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
            return WorkerReply(None, ExecutorFailed(f"a task cannot be sent to a worker: {error}"))

    def _worker(self, number: int) -> Worker | None:
        """The process of this thread, started when there is none; ``None`` when the pool is closed."""
        with self._changed:
            if self._closed:
                return None
            if number not in self._workers:
                self._workers[number] = Worker(self._folder / str(number))
            return self._workers[number]


def _settle(future: Future[Any], answer: WorkerReply | None) -> None:
    """Answer who waits; a job that was cut off has no answer."""
    if answer is None:
        future.set_exception(ExecutorFailed("the run was ended"))
    elif answer.error is not None:
        future.set_exception(answer.error)
    else:
        future.set_result(answer.value)
