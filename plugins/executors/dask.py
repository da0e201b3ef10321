# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers on many machines, found through a scheduler of Dask distributed.

What a machine may do is stated by its worker's resources: ``build``, and ``bench`` or ``bench:CLASS`` for machines of a
class. A worker lends each resource to one task at a time. docs/cluster.md tells how to lay it over a lab.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from linesmith.analyzer.base.errors import ExecutorFailed, ToolMissing, WorkerLost, install_command
from linesmith.plugins.api import BENCH, BUILD, Settings
from linesmith.plugins.executors.local import MOST_LOSSES, Worker, WorkerGone, WorkerReply

if TYPE_CHECKING:
    from distributed import Worker as DaskWorker


T = TypeVar("T")

_CONNECT_SECONDS = 20
_LOOK_SECONDS = 0.5


class Abandoned(Exception):
    """The task was cancelled, or who waits for it is gone; nobody hears of this."""


def run_task(function: Callable[[Path], object], folder: Path) -> object:
    """What ``function`` returns or raises, called with the warm folder of this Dask worker below ``folder``.

    It runs in a process of its own, so that it ends when nobody waits for it any more.
    Raises ``WorkerLost`` when its process is lost again and again.
    """
    from distributed import get_worker

    worker = get_worker()
    key = str(worker.get_current_task())
    warm = folder / re.sub(r"[^\w.-]+", "-", str(worker.name))
    for _ in range(MOST_LOSSES):
        with suppress(WorkerGone):
            return _answer(function, warm, worker, key).result()
    raise WorkerLost(
        f"{MOST_LOSSES} processes were lost one after the other with the same task (see {warm / 'worker.log'}); give "
        "the machine more memory or look at its kernel's log"
    )


def _answer(function: Callable[[Path], object], warm: Path, worker: DaskWorker, key: str) -> WorkerReply:
    """What the call came to in a fresh process, which is killed when nobody waits for it any more.

    The scheduler tells the Dask worker when a client cancels the task or goes away.
    """
    process = Worker(warm)
    try:
        process.call(function)
        while not process.has_replied(_LOOK_SECONDS):
            task = worker.state.tasks.get(key)
            if task is None or task.state != "executing":
                raise Abandoned
        return process.reply()
    finally:
        process.end()


# ``distributed.Client`` and ``distributed.Future``: the library has no types of its own.
DaskClient = Any
DaskTask = Any


class DaskExecutor:
    """Settings: ``scheduler`` is its address, ``bench`` the class of machines to benchmark on (``bench:CLASS``)."""

    name = "dask"

    @contextmanager
    def open(self, settings: Settings, folder: Path) -> Iterator[DaskPool]:
        """Workers with warm folders below ``folder``, which every machine must see at the same path.

        Raises ``ToolMissing`` without the library, ``ExecutorFailed`` when the scheduler does not answer, no worker
        offers what is needed, or workers have another linesmith or do not see the folder.
        """
        client = _connected(str(settings.get("scheduler", "")))
        try:
            machines = settings.get("bench", "")
            needs = {BUILD: BUILD, BENCH: f"{BENCH}:{machines}" if machines else BENCH}
            slots = _offered(client, needs)
            _check_versions(client)
            _check_folder(client, folder)
            pool = DaskPool(client, folder, needs, slots)
            try:
                yield pool
            finally:
                pool.close()
        finally:
            client.close()


class DaskPool:
    """Tasks on their way to workers; a task whose worker is lost is run again by the scheduler."""

    def __init__(self, client: DaskClient, folder: Path, needs: Mapping[str, str], slots: int) -> None:
        self.slots = slots
        self.neighbours = 1
        self._client = client
        self._folder = folder
        self._needs = needs
        self._running: dict[str, DaskTask] = {}

    def submit(self, function: Callable[[Path], T], needs: str) -> Future[T]:
        """Run ``function`` on a worker that has the resource, alone on it as far as the resource goes."""
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()
        key = f"linesmith-{uuid.uuid4().hex}"
        resources = {self._needs.get(needs, needs): 1}
        task = self._client.submit(run_task, function, self._folder, key=key, resources=resources, pure=False)
        self._running[key] = task
        task.add_done_callback(lambda done: self._settle(answer, done))
        return answer

    def close(self) -> None:
        """Cancel all tasks; workers kill what these had begun."""
        running = list(self._running.values())
        self._running.clear()
        if running:
            self._client.cancel(running, force=True)

    def _settle(self, answer: Future[T], done: DaskTask) -> None:
        self._running.pop(done.key, None)
        try:
            answer.set_result(done.result())
        except BaseException as error:
            answer.set_exception(_said(error, done.status))


def _said(error: BaseException, status: str) -> BaseException:
    """What the library raises, as one of ours."""
    if type(error).__name__ == "KilledWorker":
        return WorkerLost(
            f"one worker after the other was lost with the same task ({error}); give the machines more memory, or look "
            "at the logs of their workers"
        )
    if status in ("cancelled", "lost"):
        return ExecutorFailed("the scheduler was lost or has cancelled a task; start it again and go on with --resume")
    return error


def _connected(address: str) -> DaskClient:
    if not address:
        raise ExecutorFailed("the executor dask needs the address of a scheduler; give --scheduler tcp://HOST:8786")
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise ToolMissing(f"Dask distributed is not installed; run: {install_command('cluster')}") from error
    try:
        client: DaskClient = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ExecutorFailed(
            f"no scheduler answers at {address} ({error}); start one with `dask scheduler` or correct --scheduler"
        ) from error
    return client


def _offered(client: DaskClient, needs: Mapping[str, str]) -> int:
    """How many tasks the workers take at a time; raises ``ExecutorFailed`` when none offers what is needed."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    for resource in needs.values():
        if not any(worker["resources"].get(resource, 0) >= 1 for worker in workers):
            raise ExecutorFailed(
                f"none of the {len(workers)} workers offers {resource}; start one with "
                f"`dask worker ADDRESS --nthreads 1 --resources {resource}=1`"
            )
    return sum(worker["nthreads"] for worker in workers if worker["resources"].keys() & set(needs.values()))


def _check_versions(client: DaskClient) -> None:
    """Raise ``ExecutorFailed`` unless every worker has the linesmith that runs here."""
    ours = importlib.metadata.version("linesmith")
    for worker, found in client.run(importlib.metadata.version, "linesmith", on_error="return").items():
        if isinstance(found, BaseException):
            raise ExecutorFailed(f"the worker {worker} has no linesmith; install linesmith {ours} there ({found})")
        if found != ours:
            raise ExecutorFailed(f"the worker {worker} has linesmith {found}, here is {ours}; install the same on both")


def _check_folder(client: DaskClient, folder: Path) -> None:
    """Raise ``ExecutorFailed`` unless every worker sees ``folder`` and may write there."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f"probe-{uuid.uuid4().hex}"
    probe.write_text(probe.name)
    try:
        for worker, found in client.run(Path.read_text, probe, on_error="return").items():
            if found != probe.name:
                raise ExecutorFailed(
                    f"the worker {worker} does not see {folder} ({found}); keep the run directory on a file system "
                    "that all machines mount at the same path"
                )
    finally:
        with suppress(OSError):
            probe.unlink()
