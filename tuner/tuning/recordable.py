# SPDX-License-Identifier: GPL-2.0-or-later
"""What is recorded of a benchmark, and what has to be done before."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.errors import BenchmarkFailed, PlanError
from linesmith.analyzer.model import Built, Evidence, Order, Site, Step
from linesmith.plugins.api import Recorder, Tell
from linesmith.plugins.registry import benchmark, machine, recorder
from linesmith.tuner.recording_order import is_kernel, kernel_order, program_order, steps_of_command

_HERE = "here"


def order_of(built: Built, evidence: Evidence, folder: Path, seed: int, tell: Tell) -> Order:
    """The order to record one run of the plan's benchmark, or its command, on this build; what has to be done is.

    A kernel does all steps. Of a program one is recorded, in an empty folder within ``folder``, after the silent ones
    have been run as they are; raises ``PlanError`` for a benchmark of several, ``BenchmarkFailed`` when a preparation
    does.
    """
    steps = steps_of(evidence, folder.parent / "programs")
    order = planned_order(built, evidence, steps, seed, folder)
    if order.directory is not None:
        _prepare(built, _silent_of(steps), folder, tell)
        shutil.rmtree(order.directory, ignore_errors=True)
        order.directory.mkdir()
    return order


def steps_of(evidence: Evidence, programs: Path) -> Sequence[Step]:
    """The steps of one run of the benchmark with its largest number of threads, or the command.

    Programs that have to be compiled are, into ``programs``.
    """
    if evidence.use is None:
        return steps_of_command(evidence)
    programs.mkdir(parents=True, exist_ok=True)
    return benchmark(evidence.use.benchmark).steps(dict(evidence.use.settings), max(evidence.use.threads), programs)


def planned_order(built: Built, evidence: Evidence, steps: Sequence[Step], seed: int, folder: Path) -> Order:
    """The order alone: nothing is run or made. Raises ``PlanError`` when there is not one program to record."""
    if is_kernel(built):
        return kernel_order(built, evidence, steps, seed, folder)
    loud = [step for step in steps if not step.silent]
    if len(loud) != 1:
        raise PlanError(
            f"one run of the benchmark to record is {len(loud)} commands, and one program can be recorded; "
            "give that one as `command` in [record]"
        )
    return program_order(built, evidence, loud[0], seed, folder)


def recording_commands(built: Built, order: Order, steps: Sequence[Step]) -> Iterator[str]:
    """What carrying out a planned order takes, as for a shell; ``built`` need not be there yet.

    Raises ``ToolMissing`` or ``NotRecorded`` when it cannot be done here.
    """
    chosen = recorder_of(order)
    if order.guest is None:
        yield from machine(_HERE).commands(Site(_HERE), built, _silent_of(steps))
    if order.guest is None and not Path(order.command[0]).is_relative_to(built.directory):
        yield from chosen.commands(order)
    else:
        yield from chosen.planned(order, platform.machine())


def recorder_of(order: Order) -> Recorder:
    """Who carries the order out."""
    return recorder("qemu" if order.guest else "qemu-user")


def _prepare(built: Built, steps: Sequence[Step], folder: Path, tell: Tell) -> None:
    if not steps:
        return
    scratch = folder / "prepared"
    scratch.mkdir(exist_ok=True)
    for done in machine(_HERE).run(Site(_HERE), built, steps, scratch, tell).done:
        if done.status:
            words = " ".join(done.step.command)
            raise BenchmarkFailed(f"{words} ended with status {done.status} before the recording; see {scratch}")


def _silent_of(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps that prepare the one to record."""
    return tuple(step for step in steps if step.silent)
