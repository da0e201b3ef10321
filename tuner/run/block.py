# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker is asked to do, as values that can be sent to another process or machine, and how it is done there.

A block is boots in the judge's order, in each of them all benchmarks with all numbers of threads. Plugins are found in
the worker by name, and their errors become failures there. Nothing here loads the judge's libraries.

Runs that measure on one machine take turns: each locks a file in the cache directory that is named after the machine
(flock(2), which ends with its holder). Builds and simulations need no turn.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import IO, ClassVar

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense, CacheError, ToolMissing
from linesmith.analyzer.base.files import cache_directory
from linesmith.analyzer.model import (
    Built,
    Done,
    Evidence,
    Failure,
    FailureKind,
    Recipe,
    Sample,
    Session,
    Site,
    Step,
    Use,
    Variant,
    Workplace,
)
from linesmith.plugins import registry
from linesmith.plugins.api import BENCH, BUILD, Tell
from linesmith.plugins.profiles.formats import encode_for
from linesmith.tuner.replay.replayer import place_of_trace, with_trace
from linesmith.tuner.run.simulated import Interrupted, SimulatedBenchmark, failure_of, recorded, simulated_block

_MOST_CHARACTERS = 4096
_PLAIN = re.compile(r"[^\w.-]")


# A variant's name, and what was built of it.
Made = tuple[str, Built]


@dataclass(frozen=True, slots=True)
class BuildTask:
    """Build a variant; ``run`` is the run directory, as in all tasks."""

    recipe: Recipe
    variant: Variant
    run: Path
    needs: ClassVar[str] = BUILD

    @property
    def name(self) -> str:
        """What journal and logs call it."""
        return f"build-{self.variant.name}"


@dataclass(frozen=True, slots=True)
class BlockTask:
    """One block on a machine: each variant in ``order`` is booted, or run, with all benchmarks.

    ``made`` has what was built of each. ``warm_up`` is how often a benchmark runs in each boot before it counts.
    """

    number: int
    site: Site
    uses: tuple[Use, ...]
    warm_up: int
    order: tuple[str, ...]
    made: tuple[Made, ...]
    run: Path
    needs: ClassVar[str] = BENCH

    @property
    def name(self) -> str:
        """What journal and logs call it."""
        return f"block-{self.number}"


@dataclass(frozen=True, slots=True)
class SimulatedBlockTask:
    """One block of simulation: baseline and variant with the same ``seed``, which needs no quiet machine."""

    number: int
    simulation: SimulatedBenchmark
    baseline: Made
    variant: Made
    seed: int
    run: Path
    needs: ClassVar[str] = BUILD

    @property
    def name(self) -> str:
        """What journal and logs call it."""
        return f"simulation-{self.number}"


@dataclass(frozen=True, slots=True)
class RecordTask:
    """Record the baseline: profile and trace go into the run directory, each whole or not at all."""

    evidence: Evidence
    built: Built
    seed: int
    run: Path
    needs: ClassVar[str] = BUILD
    name: ClassVar[str] = "recording"

    @property
    def profile(self) -> Path:
        """Where the profile goes, when the trace is there."""
        return self.run / "profile"

    @property
    def trace(self) -> Path:
        """Where the trace goes."""
        return place_of_trace(self.profile)


Task = BuildTask | BlockTask | SimulatedBlockTask | RecordTask


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What a task came to: a build, or samples with what the machine reports; or the failure of ``variant``."""

    built: Built | None = None
    samples: tuple[Sample, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    failure: Failure | None = None
    variant: str = ""
    seconds: float = 0.0


def measured_machine(site: Site) -> str:
    """The name of the computer whose time is measured: the host that is named, else this one, guests included."""
    return str(dict(site.settings).get("host") or os.uname().nodename)


@contextmanager
def turn(site: Site, run: Path, tell: Tell) -> Iterator[None]:
    """Have the machine for the run in the directory ``run``, when the others are done.

    Where no lock can be kept there are no turns.
    """
    try:
        lock = _lock_of(site)
    except (CacheError, OSError) as error:
        tell(f"cannot lock {measured_machine(site)}: another run may benchmark at the same time ({error})")
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(run))
        lock.flush()
        yield


def benchmarking_on(site: Site) -> str:
    """The directory of the run that has the machine now; empty when none has."""
    with suppress(CacheError, OSError), _lock_of(site) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            return lock.read(_MOST_CHARACTERS) or "another run"
    return ""


def _lock_of(site: Site) -> IO[str]:
    path = cache_directory("machines") / _PLAIN.sub("_", measured_machine(site))
    return path.open("a+", encoding="utf-8", errors="surrogateescape")


@dataclass(frozen=True, slots=True)
class _BootCourse:
    """The steps of one benchmark with one number of threads; they run ``times`` in a boot, and the last run counts."""

    use: Use
    threads: int
    steps: tuple[Step, ...]
    times: int

    @property
    def all_steps(self) -> tuple[Step, ...]:
        warm_up = tuple(replace(step, silent=True) for step in self.steps)
        return warm_up * (self.times - 1) + self.steps

    def values(self, done: Sequence[Done]) -> tuple[tuple[str, float], ...]:
        """What the last run gave; what is wrong with it is reported with the plan's title."""
        plugin = registry.benchmark(self.use.benchmark)
        try:
            return plugin.parse(dict(self.use.settings), done[-len(self.steps) :])
        except (BenchmarkFailed, BenchmarkNonsense) as error:
            title = f"{self.use.title}: " if self.use.title else ""
            raise type(error)(f"{title}{error}") from error


def run_block(task: BlockTask, warm: Path, logs: Path, tell: Tell) -> TaskOutcome:
    """The samples of all boots of the block; raises ``Interrupted`` with the variant whose boot failed."""
    courses = tuple(_courses(task, warm / "benchmarks"))
    with turn(task.site, task.run, tell):
        return _booted(task, courses, logs, tell)


def _booted(task: BlockTask, courses: Sequence[_BootCourse], logs: Path, tell: Tell) -> TaskOutcome:
    samples: list[Sample] = []
    facts: dict[tuple[str, str], None] = {}
    for position, variant in enumerate(task.order):
        tell(f"boot {position + 1} of {len(task.order)}: {variant}")
        scratch = logs / f"boot-{position + 1}"
        scratch.mkdir()
        try:
            steps = tuple(step for course in courses for step in course.all_steps)
            built = dict(task.made)[variant]
            session = registry.machine(task.site.name).run(task.site, built, steps, scratch, tell)
            samples += _samples(task, position, courses, session)
        except Exception as error:
            raise Interrupted(variant, error) from error
        release = (("kernel release", session.release),) if session.release else ()
        facts |= dict.fromkeys((*release, *session.facts))
    return TaskOutcome(samples=tuple(samples), facts=tuple(facts))


def _courses(task: BlockTask, scratch: Path) -> Iterator[_BootCourse]:
    """Benchmarks from the fewest threads to the most, those that decide before the guards, as the plan has them."""
    scratch.mkdir(parents=True, exist_ok=True)
    for use in task.uses:
        plugin = registry.benchmark(use.benchmark)
        for threads in use.threads:
            steps = plugin.steps(dict(use.settings), threads, scratch)
            yield _BootCourse(use, threads, steps, task.warm_up + 1)


def _samples(task: BlockTask, position: int, courses: Sequence[_BootCourse], session: Session) -> Iterator[Sample]:
    boot = task.number * len(task.order) + position
    begin = 0
    for course in courses:
        end = begin + len(course.all_steps)
        for metric, value in course.values(session.done[begin:end]):
            label, threads = course.use.label, course.threads
            yield Sample(task.order[position], label, metric, threads, value, task.number, boot, position)
        begin = end


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a task works: the worker's ``warm`` folder, and a fresh one for its ``logs``."""

    warm: Path
    logs: Path

    def tell(self, sentence: str) -> None:
        """Note in the log what is being done."""
        with (self.logs / "log").open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"{time.strftime('%H:%M:%S')} {sentence}\n")

    def tell_if_possible(self, sentence: str) -> None:
        """Note why a task failed, unless that is for want of room."""
        with suppress(OSError):
            self.tell(sentence)


def perform(task: Task, warm: Path) -> TaskOutcome:
    """What the task came to; raises the errors that say nothing about a variant, such as ``ToolMissing``."""
    begin = time.monotonic()
    try:
        desk = Desk(warm, _fresh(task.run / "logs", task.name))
    except OSError as error:
        return _failed(error, "", "")
    log = desk.logs.relative_to(task.run)
    try:
        outcome = _done(task, desk)
    except Interrupted as cut:
        desk.tell_if_possible(f"failed: {cut.error}")
        outcome = _failed(cut.error, str(log), cut.variant)
    except Exception as error:
        desk.tell_if_possible(f"failed: {type(error).__name__}: {error}")
        if isinstance(task, BuildTask) and isinstance(error, ToolMissing) and task.variant.patches:
            # A patch may ask for a program that is not there, while the tree as it is does without.
            failure = Failure(FailureKind.BUILD, str(error), str(log))
            outcome = TaskOutcome(failure=failure, variant=task.variant.name)
        else:
            outcome = _failed(error, str(log), task.variant.name if isinstance(task, BuildTask) else "")
    return replace(outcome, seconds=time.monotonic() - begin)


def _failed(error: Exception, log: str, variant: str) -> TaskOutcome:
    failure = failure_of(error, log)
    if failure is None:
        raise error
    return TaskOutcome(failure=failure, variant=variant)


def _fresh(logs: Path, name: str) -> Path:
    """A new folder: what an earlier attempt left may still be written, and is worth reading."""
    for attempt in count(1):
        folder = logs / (name if attempt == 1 else f"{name}.{attempt}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
    raise AssertionError


def _done(task: Task, desk: Desk) -> TaskOutcome:
    if isinstance(task, BuildTask):
        place = Workplace(desk.warm, task.run / "artifacts")
        built = registry.builder(task.recipe.builder).build(task.recipe, task.variant, place, desk.tell)
        return TaskOutcome(built=built)
    if isinstance(task, BlockTask):
        return run_block(task, desk.warm, desk.logs, desk.tell)
    if isinstance(task, SimulatedBlockTask):
        samples = simulated_block(task.simulation, task.baseline, task.variant, task.number, task.seed, desk.tell)
        return TaskOutcome(samples=samples)
    trace = task.trace.with_name(task.trace.name + ".part")
    profile = recorded(task.built, task.evidence, desk.logs, task.seed, desk.tell, trace)
    if trace.exists():
        files.sync(trace)
        profile = with_trace(profile, trace)
        trace.replace(task.trace)
    files.replace_file(task.profile, encode_for(profile, task.profile))
    return TaskOutcome()
