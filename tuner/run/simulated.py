# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated measurement: a build recorded under QEMU, and its misses compared with the baseline's.

Emulation in exact turns is deterministic, so numbers are kept, and one recording of the baseline serves all variants.
What is recorded is the plan's command, or one run of a benchmark: a kernel boots and does all of its steps; of a
program one step is recorded, after the silent ones have been run.
"""

from __future__ import annotations

import errno
import hashlib
import platform
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from linesmith.analyzer.access.store import accesses_if_any
from linesmith.analyzer.base import errors, files
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import (
    SIMULATED,
    Built,
    Evidence,
    Failure,
    FailureKind,
    Guest,
    Order,
    Profile,
    Sample,
    Site,
    Step,
)
from linesmith.analyzer.sharing.analysis import explain
from linesmith.plugins.api import Recorder, Tell
from linesmith.plugins.machines.steps import shown, words_of
from linesmith.plugins.recording.text import refuse_unnamed_objects, with_objects
from linesmith.plugins.registry import benchmark, machine, recorder, snapshot_source
from linesmith.tuner.replay.simulated import MeasuredRecord, RecordedMembers, simulated_metrics

KERNEL = "kernel"
_HERE = "here"


def unbuilt(products: Iterable[str], folder: Path) -> Built:
    """Stands for a build that is yet to be made, with its products in ``folder`` (which need not be there)."""
    return Built(folder.name, folder, tuple((name, folder / name) for name in products))


def product_of(built: Built, evidence: Evidence) -> Path:
    """The product with debug information; raises ``PlanError`` when it is none of the build's."""
    try:
        return built.product(evidence.elf)
    except KeyError:
        known = ", ".join(name for name, _ in built.products)
        raise errors.PlanError(
            f"[record] elf = {evidence.elf!r} is not a product of the build; name one of {known}"
        ) from None


def order_of(built: Built, evidence: Evidence, folder: Path, seed: int, tell: Tell) -> Order:
    """The order to record one run of the plan's benchmark, or its command, on this build; what has to be done is.

    A kernel does all steps. Of a program one is recorded, in an empty folder within ``folder``, after the silent ones
    have been run as they are; raises ``PlanError`` for a benchmark of several, ``BenchmarkFailed`` when a preparation
    does.
    """
    steps = steps_of(evidence, folder.parent / "programs")
    order = planned_order(built, evidence, steps, seed, folder)
    if order.directory is not None:
        if silent := _silent_of(steps):
            scratch = folder / "prepared"
            scratch.mkdir(exist_ok=True)
            for done in machine(_HERE).run(Site(_HERE), built, silent, scratch, tell).done:
                if done.status:
                    words = " ".join(done.step.command)
                    raise errors.BenchmarkFailed(
                        f"{words} ended with status {done.status} before the recording; see {scratch}"
                    )
        shutil.rmtree(order.directory, ignore_errors=True)
        order.directory.mkdir()
    return order


def steps_of(evidence: Evidence, programs: Path) -> Sequence[Step]:
    """The steps of one run of the benchmark with its largest number of threads, or the command.

    Programs that have to be compiled are, into ``programs``.
    """
    if evidence.use is None:
        return (Step(evidence.command, evidence.seconds),)
    programs.mkdir(parents=True, exist_ok=True)
    return benchmark(evidence.use.benchmark).steps(dict(evidence.use.settings), max(evidence.use.threads), programs)


def planned_order(built: Built, evidence: Evidence, steps: Sequence[Step], seed: int, folder: Path) -> Order:
    """The order alone: nothing is run or made. Raises ``PlanError`` when there is not one program to record.

    The log of a kernel's console goes into ``folder``, and so does what a program prints, which runs in a folder there.
    """
    elf = product_of(built, evidence)
    order = Order((), replace(evidence.emulation, seed=seed), seconds=evidence.seconds)
    if KERNEL in dict(built.products):
        guest = Guest(
            kernel=built.product(KERNEL),
            vmlinux=elf,
            cpus=evidence.cpus,
            nodes=evidence.nodes,
            memory=evidence.memory,
            overlay=evidence.overlay,
            words=evidence.words,
        )
        lines = [shown(step, words_of(step, built)) for step in steps]
        command = tuple(shlex.split(lines[0])) if len(lines) == 1 else ("sh", "-c", " && ".join(lines))
        return replace(order, command=command, guest=guest, log=folder / "console.log")
    loud = [step for step in steps if not step.silent]
    if len(loud) != 1:
        raise errors.PlanError(
            f"one run of the benchmark to record is {len(loud)} commands, and one program can be recorded; "
            "give that one as `command` in [record]"
        )
    return replace(
        order,
        command=words_of(loud[0], built),
        environment=loud[0].environment,
        output=folder / "output.txt",
        directory=folder / "place",
    )


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


def _silent_of(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps that prepare the one to record."""
    return tuple(step for step in steps if step.silent)


# The first class that an error is of tells; what is of none is no result, but ends the run.
_KINDS: tuple[tuple[type[Exception], FailureKind], ...] = (
    (errors.NothingToSuggest, FailureKind.ILLEGAL),
    (errors.EditRefused, FailureKind.ILLEGAL),
    (errors.VerificationFailed, FailureKind.ILLEGAL),
    (errors.DeclarationNotFound, FailureKind.ILLEGAL),
    (errors.NotSimulated, FailureKind.ILLEGAL),
    (errors.PatchRefused, FailureKind.PATCH),
    (errors.CompilerKilled, FailureKind.KILLED),
    (errors.BuildFailed, FailureKind.BUILD),
    (errors.DiskFull, FailureKind.DISK_FULL),
    (errors.KernelNotBootable, FailureKind.BOOT),
    (errors.GuestNotBooted, FailureKind.BOOT),
    (errors.GuestPanicked, FailureKind.PANIC),
    (errors.GuestHung, FailureKind.HANG),
    (errors.GuestOutOfMemory, FailureKind.OUT_OF_MEMORY),
    (MemoryError, FailureKind.OUT_OF_MEMORY),
    (errors.GuestFailed, FailureKind.OTHER),
    (errors.BenchmarkFailed, FailureKind.BENCHMARK),
    (errors.BenchmarkNonsense, FailureKind.NONSENSE),
    (errors.NotRecorded, FailureKind.RECORDING),
    (errors.TraceError, FailureKind.RECORDING),
    (errors.WorkerLost, FailureKind.WORKER),
)


class Interrupted(Exception):
    """What ran for one side of a block failed: ``error`` of ``variant``."""

    def __init__(self, variant: str, error: Exception) -> None:
        super().__init__(str(error))
        self.variant = variant
        self.error = error


def failure_of(error: Exception, log: str = "") -> Failure | None:
    """The failure that ``error`` is, with its ``log``; ``None`` for what says nothing about a variant."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Failure(FailureKind.DISK_FULL, str(error), log)
    kind = next((kind for cls, kind in _KINDS if isinstance(error, cls)), None)
    return None if kind is None else Failure(kind, str(error), log)


_Values = tuple[tuple[str, float], ...]


def recorded(
    built: Built, evidence: Evidence, folder: Path, seed: int, tell: Tell, trace: Path | None = None
) -> Profile:
    """The profile of one recording of ``built``, objects included; logs stay in ``folder``.

    A trace for the replay goes to ``trace``. Raises ``GuestFailed``, ``NotRecorded``, ``KernelNotBootable``,
    ``ElfError``, ``ToolMissing``, ``PlanError``, and what the benchmark to record raises.
    """
    folder.mkdir(parents=True, exist_ok=True)
    order = replace(order_of(built, evidence, folder, seed, tell), trace=trace)
    chosen = recorder_of(order)
    if reason := chosen.obstacle(order):
        raise errors.NotRecorded(f"cannot record on this machine: {reason}")
    vmlinux = order.guest.vmlinux if order.guest else None
    refuse_unnamed_objects(vmlinux, snapshot_source("drgn"))
    with TemporaryDirectory(prefix="recording-", dir=folder) as scratch:
        outcome = chosen.record(order, Path(scratch), tell)
        tell("looking up objects")
        profile = with_objects(outcome, vmlinux, partial(snapshot_source, "drgn"))
    if profile is None:
        raise errors.NotRecorded(f"the recorder {chosen.name} gave no counts; record with qemu or qemu-user")
    return profile


@dataclass(frozen=True, slots=True)
class SimulatedBenchmark:
    """Recordings that answer a question; the numbers of each are kept in ``folder`` and not recorded again."""

    evidence: Evidence
    question: MeasuredRecord
    folder: Path

    def values(self, built: Built, seed: int, tell: Tell) -> _Values:
        """The value of each metric, by name; raises what ``recorded`` raises."""
        parts = (built.key, repr(self.evidence), self.question.type, sorted(map(sorted, self.question.pairs)), seed)
        kept = self.folder / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}.json"
        # Blocks that are measured at a time have the baseline's recording in common: the first one makes it.
        with files.locked(kept.with_suffix(".lock")):
            if kept.is_file():
                return msgspec.json.decode(kept.read_bytes(), type=_Values)
            folder = self.folder / f"{kept.stem}.logs"
            profile = recorded(built, self.evidence, folder, seed, tell)
            tell("counting misses")
            elf = built.product(self.evidence.elf)
            reading = read_layouts(elf)
            if self.question.type:  # what its objects are
                found = explain(reading, profile, map_of=accesses_if_any)
                named = frozenset().union(*self.question.pairs)
                places = RecordedMembers(self.question.type, found.profile, reading.layouts, found.findings, named)
            else:
                places = RecordedMembers("", profile, reading.layouts)
            values = simulated_metrics(profile, places, self.question, self.evidence.operations)
            files.replace_file(kept, msgspec.json.encode(values))
            return values


def simulated_block(
    simulation: SimulatedBenchmark,
    baseline: tuple[str, Built],
    variant: tuple[str, Built],
    block: int,
    seed: int,
    tell: Tell,
) -> tuple[Sample, ...]:
    """The samples of one block: both builds, given with their names, recorded with the same ``seed``.

    Raises ``Interrupted`` with the side that ``recorded`` failed for.
    """
    found = []
    for position, (name, built) in enumerate((baseline, variant)):
        try:
            values = simulation.values(built, seed, lambda doing, name=name: tell(f"{name}: {doing}"))  # type: ignore[misc]
        except Exception as error:
            raise Interrupted(name, error) from error
        threads = simulation.evidence.cpus
        found += [
            Sample(name, SIMULATED, metric, threads, value, block, position, position) for metric, value in values
        ]
    return tuple(found)
