# SPDX-License-Identifier: GPL-2.0-or-later
"""A tiny program whose benchmark tells its layout, so that every run of it has one right outcome.

``queue cost`` prints 200 when head and tail share a cache line and 100 when they do not; ``queue work`` has two
threads write them, to be recorded. They wait for each other every few turns, or a busy machine would let one of them
come to its end before the other begins, and nothing would be contended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from linesmith.analyzer.model import Result, Variant
from linesmith.plugins.api import Pool
from linesmith.plugins.registry import executor
from linesmith.tuner.run.bench import bench
from linesmith.tuner.run.laboratory import RunProgress
from linesmith.tuner.run.plan_file import plan_in
from linesmith.tuner.run.run_directory import RunDirectory
from linesmith.tuner.run.tune import tune

T = TypeVar("T")
SOURCES = Path(__file__).with_name("sources")
QUEUE_H, QUEUE_C = ((SOURCES / f"queue.{end}").read_text() for end in "hc")
PLAN = (SOURCES / "plan.toml").read_text()
# Without the blocks that calibrate the noise: some seconds on an idle machine.
BRIEF = PLAN.replace("warm_up = 0", "warm_up = 0\nplacebos = 0")
# What an undisturbed run recorded. Recordings of threads differ by some accesses, and so may what follows from them.
REREAD = BRIEF.replace('command = "{queue} work"', 'profile = "undisturbed/profile"')
# The tail moves to the next line, which is what helps.
APART = (SOURCES / "apart.patch").read_text()
# Head and tail change places: they still meet.
TOGETHER = (SOURCES / "together.patch").read_text()
SYNTAX_ERROR = APART.replace("+  long tail;", "+  long tail tail;")


def project(folder: Path) -> Path:
    """The sources in ``folder/tree``; the folder is that of the plan."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    (tree / "queue.h").write_text(QUEUE_H)
    (tree / "queue.c").write_text(QUEUE_C)
    return folder


Hear = Callable[[RunProgress], None]


def silent(progress: RunProgress) -> None:
    """Hear what a run says, and say nothing."""


Workers = Callable[[Path], AbstractContextManager[Pool]]


@dataclass
class OneThread:
    """A pool that is a thread of this process: a worker's own process takes a second to begin."""

    folder: Path
    thread: ThreadPoolExecutor
    slots: int = 1
    neighbours: int = 1

    def submit(self, function: Callable[[Path], T], needs: str) -> Future[T]:  # noqa: ARG002
        return self.thread.submit(function, self.folder)


@contextmanager
def in_a_thread(folder: Path) -> Iterator[OneThread]:
    """One worker with the warm folder ``folder``/0."""
    (folder / "0").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(1) as thread:
        yield OneThread(folder / "0", thread)


def in_processes(folder: Path) -> AbstractContextManager[Pool]:
    """One worker that is a process of its own."""
    return executor("local").open({"workers": 1}, folder)


@contextmanager
def at_work(path: Path, folder: Path, workers: Workers = in_a_thread) -> Iterator[tuple[RunDirectory, Pool]]:
    """The run directory at ``path``, begun or gone on with, and workers of this machine."""
    begun = (path / "journal.sqlite").exists()
    run = RunDirectory.open(path) if begun else RunDirectory.create(path, PLAN, folder)
    with run, workers(run.workers) as pool:
        yield run, pool


def benched(
    path: Path,
    folder: Path,
    variants: Sequence[Variant],
    text: str = PLAN,
    *,
    hear: Hear = silent,
    workers: Workers = in_a_thread,
) -> Result:
    """The result of ``bench`` in the run directory ``path``."""
    with at_work(path, folder, workers) as (run, pool):
        return bench(plan_in(text, folder), variants, run, pool, hear)


def tuned(path: Path, folder: Path, text: str = PLAN, *, hear: Hear = silent, workers: Workers = in_a_thread) -> Result:
    """The result of ``tune`` in the run directory ``path``."""
    with at_work(path, folder, workers) as (run, pool):
        return tune(plan_in(text, folder), run, pool, hear)


def samples_of(result: Result) -> Counter[tuple[str, float]]:
    """How often each number was measured of each variant."""
    return Counter((one.variant, one.value) for one in result.samples)
