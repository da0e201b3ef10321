# SPDX-License-Identifier: GPL-2.0-or-later
"""What is recorded of a benchmark, and what has to be done before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.errors import BenchmarkFailed, PlanError
from linesmith.analyzer.model import Built, Evidence, Order, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.registry import benchmark, machine
from linesmith.tuner.recording_order import is_kernel, kernel_order, program_order, steps_of_command

_HERE = "here"


def order_of(built: Built, evidence: Evidence, folder: Path, seed: int, tell: Tell) -> Order:
    """The order to record one run of the plan's benchmark, or its command, on this build.

    A kernel does all steps. Of a program one is recorded, after the silent ones have been run as they are; raises
    ``PlanError`` for a benchmark of several, ``BenchmarkFailed`` when a preparation does.
    """
    steps = _steps(evidence, folder)
    if is_kernel(built):
        return kernel_order(built, evidence, steps, seed, folder)
    loud = [step for step in steps if not step.silent]
    if len(loud) != 1:
        raise PlanError(
            f"one run of the benchmark to record is {len(loud)} commands, and one program can be recorded; "
            "give that one as `command` in [record]"
        )
    _prepare(built, [step for step in steps if step.silent], folder, tell)
    return program_order(built, evidence, loud[0], seed, folder)


def _prepare(built: Built, steps: Sequence[Step], folder: Path, tell: Tell) -> None:
    if not steps:
        return
    scratch = folder / "prepared"
    scratch.mkdir(exist_ok=True)
    for done in machine(_HERE).run(Site(_HERE), built, steps, scratch, tell).done:
        if done.status:
            words = " ".join(done.step.command)
            raise BenchmarkFailed(f"{words} ended with status {done.status} before the recording; see {scratch}")


def _steps(evidence: Evidence, folder: Path) -> Sequence[Step]:
    """The steps of one run of the benchmark with its largest number of threads, or the command."""
    if evidence.use is None:
        return steps_of_command(evidence)
    programs = folder.parent / "programs"
    programs.mkdir(exist_ok=True)
    return benchmark(evidence.use.benchmark).steps(dict(evidence.use.settings), max(evidence.use.threads), programs)
