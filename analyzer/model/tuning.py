# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user asks a tuner for: the tree, the machine, the benchmarks, the search and its budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from linesmith.analyzer.model.build import Recipe
from linesmith.analyzer.model.machine import Site
from linesmith.analyzer.model.measurement import Use
from linesmith.analyzer.model.order import Emulation
from linesmith.analyzer.model.search import Fidelity
from linesmith.analyzer.model.verdict import Rules


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where the profile comes from: a file of the user, or a recording made on the baseline's build.

    What is recorded is ``command``, in whose words ``{name}`` is a product of the build, or one run of the benchmark
    ``use`` with its largest number of threads. ``elf`` is the product that carries the debug information.
    ``operations`` is how many operations the command does, so that misses can be told for each; 0 where the benchmark
    knows. ``metric`` is the simulated one that decides, empty where that is left open. ``cpus``, ``nodes`` and
    ``memory`` (bytes) are the guest's.
    """

    elf: str
    profile: Path | None = None
    command: tuple[str, ...] = ()
    use: Use | None = None
    operations: int = 0
    metric: str = "type"
    cpus: int = 4
    nodes: int = 1
    memory: int = 512 << 20
    overlay: Path | None = None
    words: tuple[str, ...] = ()
    emulation: Emulation = field(default_factory=Emulation)
    seconds: int = 900


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop: ``trials`` counts points judged on the two upper fidelities, ``minutes`` is wall time."""

    trials: int = 20
    minutes: float = 240.0


@dataclass(frozen=True, slots=True)
class Searching:
    """What is searched: layouts of ``type`` (of the hottest line when empty), on the rungs of ``ladder``.

    An empty ladder has every rung that the plan has what it takes for. ``growth`` is how many bytes the record may
    grow. ``confirm`` of the best points are measured afresh at the end.
    """

    type: str = ""
    optimizer: str = "racing"
    ladder: tuple[Fidelity, ...] = ()
    growth: int = 0
    seed: int = 1
    confirm: int = 2
    section: int = 1


@dataclass(frozen=True, slots=True)
class TunePlan:
    """Everything about a run that was decided beforehand; paths are absolute."""

    recipe: Recipe
    site: Site
    benchmarks: tuple[Use, ...]
    evidence: Evidence | None = None
    search: Searching = field(default_factory=Searching)
    rules: Rules = field(default_factory=Rules)
    budget: Budget = field(default_factory=Budget)
