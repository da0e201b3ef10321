# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated measurement: a build recorded under QEMU, and its misses compared with the baseline's.

Emulation in exact turns is deterministic: the same build with the same seed gives the same numbers on every machine
and under any load. So a recording's numbers are kept, and one recording of the baseline serves all variants.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from linesmith.analyzer.access import accesses_if_any
from linesmith.analyzer.base import durable
from linesmith.analyzer.dwarf import Reading, read_layouts
from linesmith.analyzer.errors import NotRecorded
from linesmith.analyzer.explain import explain, holding
from linesmith.analyzer.model import SIMULATED, Built, Evidence, Finding, Metric, Profile, Sample
from linesmith.plugins.api import Tell
from linesmith.plugins.builders.locks import locked
from linesmith.plugins.recordings.objects import with_objects
from linesmith.plugins.registry import snapshot_source
from linesmith.tuner.simulated_metrics import Places, Question, metrics_for, simulated_metrics
from linesmith.tuner.tuning.failures import Interrupted
from linesmith.tuner.tuning.recordable import order_of, recorder_of

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
        raise NotRecorded(f"nothing can be recorded here: {reason}")
    with TemporaryDirectory(prefix="recording-", dir=folder) as scratch:
        outcome = chosen.record(order, Path(scratch), tell)
        tell("looking up objects")
        vmlinux = order.guest.vmlinux if order.guest else None
        profile = with_objects(outcome, vmlinux, partial(snapshot_source, "drgn"))
    if profile is None:
        raise NotRecorded(f"the recorder {chosen.name} gave no counts; record with qemu or qemu-user")
    return profile


@dataclass(frozen=True, slots=True)
class SimulatedBenchmark:
    """Recordings that answer a question; the numbers of each are kept in ``folder`` and not recorded again."""

    evidence: Evidence
    question: Question
    folder: Path

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What it measures; the first one decides."""
        return metrics_for(self.question, self.evidence.metric)

    def values(self, built: Built, seed: int, tell: Tell) -> _Values:
        """The value of each metric, by name; raises what ``recorded`` raises."""
        kept = self.folder / f"{self._digest(built, seed)}.json"
        # Blocks that are measured at a time have the baseline's recording in common: the first one makes it.
        with locked(kept.with_suffix(".lock")):
            if kept.is_file():
                return msgspec.json.decode(kept.read_bytes(), type=_Values)
            folder = self.folder / f"{kept.stem}.logs"
            values = self._measured(built, recorded(built, self.evidence, folder, seed, tell), tell)
            durable.replace(kept, msgspec.json.encode(values))
            return values

    def _measured(self, built: Built, profile: Profile, tell: Tell) -> _Values:
        tell("counting misses")
        elf = built.product(self.evidence.elf)
        reading = read_layouts(elf)
        found = self._holding(profile, elf, reading)
        places = Places(self.question.type, profile, reading.layouts, found)
        return simulated_metrics(profile, places, self.question, self.evidence.operations)

    def _holding(self, profile: Profile, elf: Path, reading: Reading) -> tuple[Finding, ...]:
        """Lines that hold the record, by their accesses, in a recording that does not know its objects' types."""
        if not self.question.type or any(area.types for area in profile.areas):
            return ()
        found = explain(reading, elf, profile, self.question.type, accesses=accesses_if_any(elf)).findings
        return holding(found, self.question.type)

    def _digest(self, built: Built, seed: int) -> str:
        parts = (built.key, repr(self.evidence), self.question.type, sorted(map(sorted, self.question.pairs)), seed)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


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
            values = simulation.values(built, seed, partial(_telling, tell, name))
        except Exception as error:
            raise Interrupted(name, error) from error
        found += [_sample(name, metric, value, simulation, block, position) for metric, value in values]
    return tuple(found)


def _telling(tell: Tell, name: str, doing: str) -> None:
    tell(f"{name}: {doing}")


def _sample(name: str, metric: str, value: float, simulation: SimulatedBenchmark, block: int, position: int) -> Sample:
    return Sample(name, SIMULATED, metric, simulation.evidence.cpus, value, block, position, position)
