# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers on this machine: several build at a time, but while one benchmarks nothing else of ours runs."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from linesmith.analyzer.base.child import guarded
from linesmith.analyzer.base.errors import ExecutorFailed, WorkerLost
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

    def result(self) -> object:
        """Return the value or raise the exception."""
        if self.error is not None:
            raise self.error
        return self.value


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
        """Have it call ``function`` with its warm folder; raises ``WorkerGone`` or ``ExecutorFailed``."""
        try:
            self._calls.send(function)
        except OSError as error:
            raise WorkerGone from error
        except Exception as error:
            raise ExecutorFailed(f"a task cannot be sent to a worker: {error}") from error

    def has_replied(self, seconds: float) -> bool:
        """Whether the call ends within so many seconds; raises ``WorkerGone``."""
        try:
            return self._calls.poll(seconds)
        except OSError as error:
            raise WorkerGone from error

    def reply(self) -> WorkerReply:
        """What the call came to; raises ``WorkerGone``."""
        try:
            return cast("WorkerReply", self._calls.recv())
        except (EOFError, OSError) as error:
            raise WorkerGone from error

    def end(self) -> None:
        """Kill it with all of its children, and come back when they are dead."""
        self._running.close()


T = TypeVar("T")

_MOST_WORKERS = 256


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
    """A thread for each worker process, which is started when there is something to do.

    Tasks begin in the order in which they were submitted, so a benchmark that waits for quiet is never overtaken.
    """

    def __init__(self, folder: Path, slots: int) -> None:
        self.slots = self.neighbours = slots
        self._folder = folder
        self._threads = ThreadPoolExecutor(slots)
        self._changed = threading.Condition()
        self._closed = False
        self._waiting: deque[object] = deque()
        # What the tasks need that run now.
        self._running: list[str] = []
        self._idle = list(range(slots))
        self._workers: dict[int, Worker] = {}

    def submit(self, function: Callable[[Path], T], needs: str) -> Future[T]:
        """Run ``function`` with the warm folder of a worker; alone on this machine when it ``needs`` a ``bench``."""
        return self._threads.submit(self._run, function, needs)

    def close(self) -> None:
        """Cancel what waits, kill what runs, and come back when every process is dead."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._workers.values()):
            worker.end()
        self._threads.shutdown()

    def _run(self, function: Callable[[Path], T], needs: str) -> T:
        with self._turn(needs):
            number = self._idle.pop(0)
            try:
                return cast("T", self._answer(number, function))
            finally:
                self._idle.insert(0, number)

    @contextmanager
    def _turn(self, needs: str) -> Iterator[None]:
        """Wait until the task may run; raises ``ExecutorFailed`` when the pool is closed."""
        ticket = object()

        def may_run() -> bool:
            first = self._waiting[0] is ticket
            return first and (not self._running or (needs != BENCH and BENCH not in self._running))

        with self._changed:
            self._waiting.append(ticket)
            self._changed.wait_for(lambda: self._closed or may_run())
            self._waiting.remove(ticket)
            self._running.append(needs)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._running.remove(needs)
                self._changed.notify_all()

    def _answer(self, number: int, function: Callable[[Path], object]) -> object:
        """What the function returns or raises; one that lost its worker is called again in the next."""
        for _ in range(MOST_LOSSES):
            with self._changed:
                if self._closed:
                    raise ExecutorFailed("the run was ended")
                if number not in self._workers:
                    self._workers[number] = Worker(self._folder / str(number))
                worker = self._workers[number]
            try:
                worker.call(function)
                return worker.reply().result()
            except WorkerGone:
                with suppress(OSError):
                    self._workers.pop(number).end()
        raise WorkerLost(
            f"{MOST_LOSSES} workers were lost one after the other with the same task (see worker.log in "
            f"{self._folder / str(number)}); give the machine more memory or look at its kernel's log"
        )
