# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds, recordings and searches: what a user asks for, what a machine can do, and what came out.

A recipe says how a source tree becomes something to run, for which variant of the source. A space is what a tuner
searches; an ask and its answer are what it and an optimizer say to each other. A result is what a run of ``tune`` or
``bench`` found, as it is read back from its run directory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from math import prod
from pathlib import Path

from linesmith.analyzer.model.layout import CACHE_LINE_BYTES
from linesmith.analyzer.model.measurement import Comparison, Failure, Rules, Sample, Site, Use
from linesmith.analyzer.model.profile import Profile


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a tree is built; the tree is only read.

    ``builder`` names the plugin. ``configuration`` is a kernel's ``.config`` or, with a ``base`` target of Kbuild such
    as ``tinyconfig``, a fragment put on top of it. ``command`` is a line for the shell of a tree that has its own
    build; it runs in a copy of the tree. ``products`` are the files to keep, relative to that copy. ``jobs`` is make's
    ``-j``, ``seconds`` bounds one build.
    """

    builder: str
    tree: Path
    configuration: Path | None = None
    base: str = ""
    command: str = ""
    products: tuple[str, ...] = ()
    compiler: str = ""
    jobs: int = 0
    seconds: int = 3600


@dataclass(frozen=True, slots=True)
class Variant:
    """One version of the source: unified diffs to apply in order (none for the baseline).

    Another ``salt`` gives another build of the same source, whose layouts are the same: a placebo.
    """

    name: str
    patches: tuple[str, ...] = ()
    salt: int = 0


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a worker builds: ``warm`` is its own folder, kept between builds; ``artifacts`` is shared by all.

    An artifact is a folder named after the digest of all that went into it; it appears whole or not at all.
    """

    warm: Path
    artifacts: Path


@dataclass(frozen=True, slots=True)
class Built:
    """What a build left: ``products`` are its files by name (``vmlinux``, ``kernel``, or as the recipe names them).

    ``compiler`` is the first line of its ``--version``, ``configuration`` the digest of the configuration used,
    ``seconds`` the wall time, 0.0 where an earlier build was ``reused``. ``sources`` is the digest of the tree
    before any patch, which all builds of one run must share; empty where the builder does not tell.
    """

    key: str
    directory: Path
    products: tuple[tuple[str, Path], ...]
    compiler: str = ""
    configuration: str = ""
    commands: tuple[str, ...] = ()
    seconds: float = 0.0
    reused: bool = False
    sources: str = ""

    def product(self, name: str) -> Path:
        """The file of that name; raises ``KeyError``."""
        return dict(self.products)[name]


class Readiness(Enum):
    """Whether a part can be used: wholly, less than it could be, or not at all."""

    READY = "ready"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Check:
    """One part of a machine: what was found, what it is for, and the command that would mend it (empty: none would).

    ``needed_by`` are the commands that do not work at all without it, ``worked_on_by`` those that work on what it is,
    but on others of its kind as well.
    """

    area: str
    name: str
    readiness: Readiness
    found: str
    purpose: str
    remedy: str = ""
    needed_by: tuple[str, ...] = ()
    worked_on_by: tuple[str, ...] = ()


# One choice for each dimension, by number; all zero is the layout as it is.
Point = tuple[int, ...]


class Fidelity(StrEnum):
    """How a point is judged, cheapest first."""

    ESTIMATE = "estimate"
    REPLAY = "replay"
    SIMULATION = "simulate"
    BENCHMARK = "benchmark"


@dataclass(frozen=True, slots=True)
class Dimension:
    """One decision about a layout: where a member goes, or how it is aligned; the first choice is as it is now."""

    name: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """All layouts that are searched, most of them legal. ``priors`` are recommended points, best first."""

    dimensions: tuple[Dimension, ...]
    priors: tuple[Point, ...] = ()

    @property
    def start(self) -> Point:
        """The layout as it is."""
        return (0,) * len(self.dimensions)

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(len(dimension.choices) for dimension in self.dimensions)


@dataclass(frozen=True, slots=True)
class Ask:
    """A point to judge, on the rung of the ladder of fidelities counted from 0."""

    point: Point
    rung: int


@dataclass(frozen=True, slots=True)
class Told:
    """The answer to an ask: ``cost`` is the ratio to the baseline (below one is better) with its ``spread``.

    ``spread`` is 1.96 standard errors: half of a 95 % interval for this point alone, whatever its verdict asks for.
    A point without a cost failed.
    """

    point: Point
    rung: int
    cost: float | None
    spread: float = 0.0
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One variant judged on one fidelity: a ratio to the baseline with half its interval's width, or a failure.

    ``moves`` says in words how the layout differs. A variant climbs the ladder in one trial for each fidelity.
    ``point`` is empty for a patch that the user gave.
    """

    number: int
    variant: str
    moves: tuple[str, ...]
    fidelity: Fidelity
    point: Point = ()
    cost: float | None = None
    spread: float = 0.0
    failure: Failure | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Build:
    """What was built for a variant: the key of its artifact, wall seconds, compiler, digest of the configuration."""

    variant: str
    key: str
    seconds: float
    compiler: str
    configuration: str


@dataclass(frozen=True, slots=True)
class Result:
    """A whole run so far. ``best`` is the variant that was confirmed better on fresh samples, ``None`` without one.

    ``confirmed`` are comparisons on samples taken after the search, ``explored`` those on which it went. ``patches``
    holds the file below the run directory for each variant that has one. ``facts`` are what a reviewer asks of the
    machines: names and values. ``noise`` are the comparisons of baseline and placebos. ``confirming`` are the blocks
    whose samples are those of ``confirmed``. ``advice`` says what would decide where no verdict could be given.
    """

    title: str
    baseline: str
    trials: tuple[Trial, ...]
    confirmed: tuple[Comparison, ...] = ()
    explored: tuple[Comparison, ...] = ()
    noise: tuple[Comparison, ...] = ()
    best: str | None = None
    builds: tuple[Build, ...] = ()
    samples: tuple[Sample, ...] = ()
    patches: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    finished: bool = False
    seconds: float = 0.0
    confirming: tuple[int, ...] = ()
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Emulation:
    """The simulated caches, and how the CPUs take turns.

    ``ring`` is ``kernel``, ``user`` or ``both``; ``interleave`` is ``exact`` (repeatable) or ``turns`` (faster).
    ``cache_bytes`` is the private cache of a CPU, 0 for one without bound. ``quantum`` is in guest instructions.
    ``first`` and ``last`` are functions whose entry begins and ends the region; without them it is the command.
    """

    ring: str = "kernel"
    line_bytes: int = CACHE_LINE_BYTES
    adjacent: bool = False
    cache_bytes: int = 0
    quantum: int = 1000
    interleave: str = "exact"
    seed: int = 1
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class Guest:
    """A virtual machine: its kernel, and what goes into its first file system; ``memory`` is in bytes.

    ``vmlinux`` is the kernel's ELF file with its symbols. ``words`` are appended to the kernel's command line.
    """

    kernel: Path
    vmlinux: Path | None = None
    cpus: int = 4
    nodes: int = 1
    memory: int = 512 << 20
    initrd: Path | None = None
    overlay: Path | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """One recording: the command, the machine, the caches, and where by-products go; ``seconds`` bounds the run.

    ``output`` takes what a program prints; without it that goes where ours goes. A guest's console is its ``log``.
    ``environment`` is added to that of a program, which runs in ``directory`` or else where we are.
    """

    command: tuple[str, ...]
    emulation: Emulation = field(default_factory=Emulation)
    guest: Guest | None = None
    log: Path | None = None
    trace: Path | None = None
    output: Path | None = None
    seconds: int = 600
    environment: tuple[tuple[str, str], ...] = ()
    directory: Path | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A finished recording: our own profile, or the text of another tool's report (``report``).

    ``memory`` is a dump of the guest's memory at the end of the region, in the scratch directory. ``status`` is that of
    the command, negative for the signal that killed it.
    """

    profile: Profile | None = None
    report: str = ""
    memory: Path | None = None
    status: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where the profile comes from: a file of the user, or a recording made on the baseline's build.

    What is recorded is ``command``, in whose words ``{name}`` is a product of the build, or one run of the benchmark
    ``use`` with its largest number of threads. ``elf`` is the product that carries the debug information.
    ``operations`` is how many operations the command does, so that misses can be shown for each; 0 where the benchmark
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
