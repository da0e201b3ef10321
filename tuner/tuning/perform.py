# SPDX-License-Identifier: GPL-2.0-or-later
"""Carries out a task in a worker: plugins are found there by name, and their errors become failures there."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from linesmith.analyzer.base import durable
from linesmith.analyzer.errors import ToolMissing
from linesmith.analyzer.model import Failure, FailureKind, Workplace
from linesmith.plugins import registry
from linesmith.plugins.profiles.recorded import encode
from linesmith.tuner.tuning.block import run_block
from linesmith.tuner.tuning.failures import Interrupted, failure_of
from linesmith.tuner.tuning.simulated import recorded, simulated_block
from linesmith.tuner.tuning.tasks import BlockTask, BuildTask, Outcome, RecordTask, SimulatedBlockTask, Task


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


def perform(task: Task, warm: Path) -> Outcome:
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
        outcome = _failed_build(task, error, str(log)) if isinstance(task, BuildTask) else _failed(error, str(log), "")
    return replace(outcome, seconds=time.monotonic() - begin)


def _failed(error: Exception, log: str, variant: str) -> Outcome:
    failure = failure_of(error, log)
    if failure is None:
        raise error
    return Outcome(0.0, failure=failure, variant=variant)


def _failed_build(task: BuildTask, error: Exception, log: str) -> Outcome:
    """A patch may ask for a program that is not there, while the tree as it is does without."""
    if isinstance(error, ToolMissing) and task.variant.patches:
        return Outcome(0.0, failure=Failure(FailureKind.BUILD, str(error), log), variant=task.variant.name)
    return _failed(error, log, task.variant.name)


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


def _done(task: Task, desk: Desk) -> Outcome:
    if isinstance(task, BuildTask):
        return _built(task, desk)
    if isinstance(task, BlockTask):
        return run_block(task, desk.warm, desk.logs, desk.tell)
    if isinstance(task, RecordTask):
        return _recorded(task, desk)
    return _simulated(task, desk.tell)


def _built(task: BuildTask, desk: Desk) -> Outcome:
    builder = registry.builder(task.recipe.builder)
    place = Workplace(desk.warm, task.run / "artifacts")
    return Outcome(0.0, built=builder.build(task.recipe, task.variant, place, desk.tell))


def _recorded(task: RecordTask, desk: Desk) -> Outcome:
    trace = task.trace.with_name(task.trace.name + ".part")
    profile = recorded(task.built, task.evidence, desk.logs, task.seed, desk.tell, trace)
    if trace.exists():
        durable.sync(trace)
        trace.replace(task.trace)
    durable.replace(task.profile, encode(profile))
    return Outcome(0.0)


def _simulated(task: SimulatedBlockTask, tell: Callable[[str], None]) -> Outcome:
    samples = simulated_block(task.simulation, task.baseline, task.variant, task.number, task.seed, tell)
    return Outcome(0.0, samples=samples)
