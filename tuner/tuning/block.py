# SPDX-License-Identifier: GPL-2.0-or-later
"""One block on a machine: boots in the judge's order, in each of them all benchmarks with all numbers of threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.errors import BenchmarkFailed, BenchmarkNonsense
from linesmith.analyzer.model import Done, Sample, Session, Step, Use
from linesmith.plugins import registry
from linesmith.plugins.api import Tell
from linesmith.tuner.tuning.failures import Interrupted
from linesmith.tuner.tuning.tasks import BlockTask, Outcome
from linesmith.tuner.tuning.turn import measured_machine, turn


@dataclass(frozen=True, slots=True)
class _Course:
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
        """What the last run gave; what is wrong with it is said of the plan's title."""
        plugin = registry.benchmark(self.use.benchmark)
        try:
            return plugin.parse(dict(self.use.settings), done[-len(self.steps) :])
        except (BenchmarkFailed, BenchmarkNonsense) as error:
            title = f"{self.use.title}: " if self.use.title else ""
            raise type(error)(f"{title}{error}") from error


def run_block(task: BlockTask, warm: Path, logs: Path, tell: Tell) -> Outcome:
    """The samples of all boots of the block; raises ``Interrupted`` with the variant whose boot failed."""
    courses = tuple(_courses(task, warm / "benchmarks"))
    with turn(measured_machine(task.site), task.run, logs, tell):
        return _booted(task, courses, logs, tell)


def _booted(task: BlockTask, courses: Sequence[_Course], logs: Path, tell: Tell) -> Outcome:
    samples: list[Sample] = []
    facts: dict[tuple[str, str], None] = {}
    for position, variant in enumerate(task.order):
        tell(f"boot {position + 1} of {len(task.order)}: {variant}")
        scratch = logs / f"boot-{position + 1}"
        scratch.mkdir()
        try:
            session = _session(task, variant, courses, scratch, tell)
            samples += _samples(task, position, courses, session)
        except Exception as error:
            raise Interrupted(variant, error) from error
        facts |= dict.fromkeys(_facts(session))
    return Outcome(0.0, samples=tuple(samples), facts=tuple(facts))


def _courses(task: BlockTask, scratch: Path) -> Iterator[_Course]:
    """Benchmarks from the fewest threads to the most, those that decide before the guards, as the plan has them."""
    scratch.mkdir(parents=True, exist_ok=True)
    for use in task.uses:
        plugin = registry.benchmark(use.benchmark)
        for threads in use.threads:
            steps = plugin.steps(dict(use.settings), threads, scratch)
            yield _Course(use, threads, steps, task.warm_up + 1)


def _session(task: BlockTask, variant: str, courses: Sequence[_Course], scratch: Path, tell: Tell) -> Session:
    machine = registry.machine(task.site.name)
    steps = tuple(step for course in courses for step in course.all_steps)
    return machine.run(task.site, dict(task.made)[variant], steps, scratch, tell)


def _samples(task: BlockTask, position: int, courses: Sequence[_Course], session: Session) -> Iterator[Sample]:
    boot = task.number * len(task.order) + position
    begin = 0
    for course in courses:
        end = begin + len(course.all_steps)
        for metric, value in course.values(session.done[begin:end]):
            label, threads = course.use.label, course.threads
            yield Sample(task.order[position], label, metric, threads, value, task.number, boot, position)
        begin = end


def _facts(session: Session) -> Iterator[tuple[str, str]]:
    if session.release:
        yield "kernel release", session.release
    yield from session.facts
