# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers that benchmarks give: what they mean, and each one with the circumstances in which it was taken.

A machine runs the commands of one boot and says what they printed. A trial may end without a number: a failure is data
that the search learns from, never an exception lost. A comparison is what can be stated of a change after measuring,
never a bare mean. What became of the findings of one profile in another is a change, with its interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from linesmith.analyzer.model.finding import Bounds
from linesmith.analyzer.model.layout import MemberPair


class FailureKind(StrEnum):
    """What ended a build, a boot or a benchmark."""

    ILLEGAL = "illegal layout"
    PATCH = "patch does not apply"
    BUILD = "build failed"
    KILLED = "compiler killed"
    DISK_FULL = "disk full"
    BOOT = "did not boot"
    PANIC = "panic"
    HANG = "hang"
    OUT_OF_MEMORY = "out of memory"
    BENCHMARK = "benchmark failed"
    NONSENSE = "no number in the output"
    RECORDING = "nothing recorded"
    WORKER = "worker lost"
    GUARD = "guard became worse"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is not a number: ``reason`` is a sentence, ``log`` a path relative to the run directory, or empty."""

    kind: FailureKind
    reason: str
    log: str = ""


# A setting of a plugin, as TOML has it.
Setting = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A machine: ``name`` is that of the plugin; ``memory`` is in bytes, ``seconds`` bounds a boot with its commands.

    ``settings`` are the plugin's own (the host of ``ssh``, words for the kernel's command line).
    """

    name: str
    cpus: int = 4
    nodes: int = 1
    memory: int = 1 << 30
    seconds: int = 600
    overlay: Path | None = None
    settings: tuple[tuple[str, Setting], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A command to run, without a shell; ``{name}`` in a word is the path of the build's product of that name.

    ``cpus`` pin it, none leave it free. ``silent`` marks a warm-up or a preparation, whose output is not parsed.
    """

    command: tuple[str, ...]
    seconds: int = 300
    cpus: tuple[int, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """How a step ended: ``output`` is what it wrote to standard output, ``seconds`` its wall time on its machine."""

    step: Step
    status: int
    output: str
    errors: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Session:
    """One boot, or one sitting at a machine that runs already: its steps in order, and what it says of itself."""

    done: tuple[Done, ...]
    release: str = ""
    facts: tuple[tuple[str, str], ...] = ()


# The benchmark of samples that a recording gave: counts of a simulated machine, no time of a real one.
SIMULATED = "simulated"


class Better(StrEnum):
    """Which way a metric should go."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number means: ``name`` as benchmarks of the field call it, and its unit."""

    name: str
    unit: str
    better: Better


@dataclass(frozen=True, slots=True)
class Use:
    """A benchmark as a plan uses it: the plugin's name, its settings, and each number of ``threads`` to run it with.

    The first metric that the benchmark describes, or ``metric``, decides. A ``guard`` decides nothing but must not
    become worse by more than ``tolerance`` (a share).
    """

    benchmark: str
    settings: tuple[tuple[str, Setting], ...] = ()
    threads: tuple[int, ...] = (1,)
    metric: str = ""
    guard: bool = False
    tolerance: float = 0.02
    title: str = ""

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.title or self.benchmark


@dataclass(frozen=True, slots=True)
class Sample:
    """One number. ``block`` counts the interleaved groups, ``boot`` the machine's boots, ``position`` runs in a block.

    Samples of one boot share its slab phases and address layout, so they are no independent evidence.
    """

    variant: str
    benchmark: str
    metric: str
    threads: int
    value: float
    block: int
    boot: int
    position: int = 0


class VerdictKind(StrEnum):
    """What a comparison may end in; it is not decided where measuring ended before the least number of blocks."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference seen"
    TOO_NOISY = "too noisy"
    UNDECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class Rules:
    """How sure to be: ``confidence`` of the interval of the ratio over all looks together.

    Blocks are added one by one from ``least_blocks`` on until the verdict is clear or there are ``most_blocks``.
    ``smallest`` is the smallest change (a share) that matters: below it there is no difference to tell. As many
    ``placebos`` are built and measured before anything else, to see how far equal layouts differ.
    """

    confidence: float = 0.98
    least_blocks: int = 4
    most_blocks: int = 16
    smallest: float = 0.005
    warm_up: int = 1
    placebos: int = 1
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one benchmark with one number of threads: the base, the head, and the ratio head / base.

    ``base`` and ``head`` are the means of each boot, oldest first. ``low`` and ``high`` bound the ratio. ``floor`` is
    the change (a share) that variants with equal layouts were seen to have. ``outliers`` are values far from their
    variant's others; they count like any. ``tolerance`` is a guard's: the loss (a share) that it lets pass.
    The bounds hold with ``confidence``, over all looks that were taken. What is ``only_shown`` decides nothing.
    ``error`` is the standard error of the ratio's logarithm, whatever confidence is asked for.
    """

    benchmark: str
    metric: Metric
    threads: int
    baseline: str
    variant: str
    base: tuple[float, ...]
    head: tuple[float, ...]
    ratio: float
    low: float
    high: float
    floor: float
    blocks: int
    verdict: VerdictKind
    reason: str
    guard: bool = False
    outliers: tuple[float, ...] = ()
    tolerance: float = 0.0
    confidence: float = 0.95
    only_shown: bool = False
    error: float = 0.0

    @property
    def decides(self) -> bool:
        """Whether a verdict on the variant may rest on it."""
        return not (self.guard or self.only_shown)

    @property
    def simulated(self) -> bool:
        """Whether a simulated machine was counted and no real one timed."""
        return self.benchmark == SIMULATED

    @property
    def name(self) -> str:
        """The metric as tables name it: ``exec-storm.ops_per_second``."""
        return f"{self.benchmark}.{self.metric.name}"

    @property
    def change(self) -> float:
        """The ratio's distance from one; its sign is that of the numbers, whichever way is better."""
        return self.ratio - 1.0

    @property
    def gain(self) -> float:
        """The change as a share, positive when better."""
        return self.change if self.metric.better == "higher" else -self.change


class Fate(StrEnum):
    """What became of something between two profiles."""

    VANISHED = "vanished"
    FELL = "fell"
    STAYED = "stayed"
    ROSE = "rose"
    NEW = "new"
    UNCLEAR = "too few to tell"
    UNSEEN = "may be unseen"


@dataclass(frozen=True, slots=True)
class Exposure:
    """How much was looked at before and after, in ``unit``; an empty unit means that neither profile says it.

    ``scatter`` is how far unchanged rows differ between the two: of samples the relative deviation of their rates
    beyond chance, of exact counts the variance of a count as a multiple of it.
    """

    unit: str
    before: float
    after: float
    scatter: float = 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """Contended accesses before and after, and what that means.

    ``ratio`` is the 80 % interval of the ratio of their rates; ``None`` where they are exact, not sampled.
    """

    before: int
    after: int
    fate: Fate
    ratio: Bounds | None = None


@dataclass(frozen=True, slots=True)
class MemberChange:
    """Accesses to a member that waited: of samples all of them, of exact counts those that one writer made wait.

    ``type`` and ``member`` are what was accessed, ``writer_type`` and ``writer`` what had been written (both empty
    for samples). ``elsewhere`` tells that the writer is another object or element of the same name. ``functions``
    are those that waited before (or do now, where none did), ``gone`` those of them that do not any more, ``come``
    those that did not. Where only a function is known, everything but ``functions`` is empty.
    """

    type: str
    member: str
    change: Change
    writer_type: str = ""
    writer: str = ""
    elsewhere: bool = False
    functions: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """All objects of a record, or a variable; ``type`` is empty for lines whose object is not known.

    ``objects`` and ``lines`` are how many were seen before and after.
    """

    type: str
    objects: tuple[int, int]
    lines: tuple[int, int]
    change: Change
    members: tuple[MemberChange, ...]


@dataclass(frozen=True, slots=True)
class LayoutCause:
    """A difference of two builds by which members, or variables, meet that were apart.

    ``subject`` is the record or the variables, ``differences`` say what differs, ``pairs`` who meets now.
    ``gained`` are the contended accesses that these pairs have more than before, ``share`` is that of all gained.
    """

    subject: str
    differences: tuple[str, ...]
    pairs: tuple[MemberPair, ...]
    gained: Bounds
    share: Bounds


@dataclass(frozen=True, slots=True)
class LayoutBlame:
    """What of the contention ``gained`` from one build to another their layouts explain, most first.

    ``unexplained`` are pairs that gained with no difference of the layout to blame; ``unknown`` accesses are more than
    before, beyond chance, on lines of which the object is not known, and ``doubted`` ones on members that the earlier
    profile may have had among such: they are not in ``gained``.
    """

    gained: Bounds
    causes: tuple[LayoutCause, ...]
    unexplained: tuple[MemberPair, ...]
    unknown: int = 0
    doubted: int = 0


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """Two profiles compared: ``objects`` by contended accesses, and what limits this.

    ``exact`` tells that counts are those of recordings. ``known`` is the change of all objects that are known: by it is
    the fate of an exact ``total``. ``functions`` are of samples alone, over all lines. ``blame``
    is there where the profiles are of two builds.
    """

    exact: bool
    exposure: Exposure
    total: Change
    known: Change
    objects: tuple[ObjectChange, ...]
    functions: tuple[MemberChange, ...] = ()
    cautions: tuple[str, ...] = ()
    blame: LayoutBlame | None = None

    def of_type(self, type_: str) -> ProfileChange:
        """The rows of one record or variable, and what it is to blame for."""
        blame = self.blame and replace(
            self.blame, causes=tuple(one for one in self.blame.causes if type_ in one.subject.split())
        )
        objects = tuple(one for one in self.objects if one.type == type_)
        return replace(self, objects=objects, functions=(), blame=blame)
