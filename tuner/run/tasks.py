# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker is asked to do: frozen values that can be sent to another process or machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from linesmith.analyzer.model import Built, Evidence, Failure, Recipe, Sample, Site, Use, Variant
from linesmith.plugins.api import BENCH, BUILD
from linesmith.tuner.replay.recorded_trace import place_of_trace
from linesmith.tuner.run.simulated import SimulatedBenchmark

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

    @property
    def name(self) -> str:
        """What journal and logs call it."""
        return "recording"

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
    """What a task came to: a build, or samples with what the machine said of itself; or the failure of ``variant``."""

    built: Built | None = None
    samples: tuple[Sample, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    failure: Failure | None = None
    variant: str = ""
    seconds: float = 0.0
