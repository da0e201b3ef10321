# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols that plugins implement; a plugin imports this module, the model and the errors, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from linesmith.analyzer.model import (
        Ask,
        Built,
        Done,
        Metric,
        Order,
        Profile,
        Recipe,
        Recorded,
        Session,
        Setting,
        Site,
        Snapshot,
        Space,
        Step,
        Told,
        Variant,
        Workplace,
    )

T = TypeVar("T")
Tell = Callable[[str], None]
Settings = Mapping[str, "Setting"]
# What a function needs of its worker.
BUILD = "build"
BENCH = "bench"


@runtime_checkable
class ProfileSource(Protocol):
    """A reader of one kind of profile; those of texts decode through ``linesmith.plugins.text``."""

    name: str

    def recognises(self, head: bytes) -> bool:
        """Whether ``head``, up to 64 KiB of the file, its beginning first, looks like this kind of profile."""

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """Every report in the file at ``path``, in order; ``source`` names the file in messages.

        Raises ``ProfileError`` when the file holds no shared line, with the first thing that was not understood,
        ``ToolMissing`` when a program that it takes is not there, and ``OSError``.
        """


@runtime_checkable
class SnapshotSource(Protocol):
    """A reader of a kernel's memory that tells which objects lie where."""

    name: str

    def obstacle(self) -> str | None:
        """Why nothing can be read here, a sentence without its full stop that says what to do; ``None`` if it can."""

    def read(self, memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
        """The areas that hold ``addresses`` (kernel virtual), whole slab pages included.

        ``memory`` is an ELF dump of a guest (QEMU's ``dump-guest-memory``) or ``/proc/kcore``; ``vmlinux`` is the
        kernel with DWARF whose memory it is. Addresses of user space, and those whose memory cannot be told, are in
        no area. Raises ``SnapshotError`` when the memory cannot be read or is another kernel's, ``ToolMissing`` when
        a library is not installed.
        """


@runtime_checkable
class Recorder(Protocol):
    """A way to run a command and come back with a profile."""

    name: str

    def obstacle(self, order: Order) -> str | None:
        """Why this recorder cannot carry out the order here, a sentence without its full stop; ``None`` if it can."""

    def commands(self, order: Order) -> tuple[str, ...]:
        """The commands that ``record`` would run, as for a shell. Raises what ``record`` raises before it runs any."""

    def planned(self, order: Order, machine: str) -> tuple[str, ...]:
        """The same before the kernel or the program of the order is built, for CPUs of ``machine`` (as ``uname -m``).

        Addresses of a region are left out. Raises ``ToolMissing`` or ``NotRecorded``.
        """

    def record(self, order: Order, scratch: Path, tell: Callable[[str], None]) -> Recorded:
        """Run the order's command; by-products go into ``scratch``, ``tell`` hears what is being done.

        Raises ``GuestFailed`` when the command or its machine fails, ``NotRecorded`` when nothing was recorded,
        ``KernelNotBootable``, ``ElfError`` or ``ToolMissing``.
        """


@runtime_checkable
class Builder(Protocol):
    """A way to turn a source tree into something that runs. The tree is only read."""

    name: str

    def obstacle(self, recipe: Recipe) -> str | None:
        """Why this builder cannot carry out the recipe here, a sentence without its full stop; ``None`` if it can."""

    def products(self, recipe: Recipe) -> tuple[str, ...]:
        """The names of what ``build`` makes, for which the words of commands have ``{name}``."""

    def commands(self, recipe: Recipe, variant: Variant) -> tuple[str, ...]:
        """The commands that ``build`` would run, as for a shell.

        Raises ``PatchRefused`` where the variant's patches do not fit the tree, ``TreeError`` where it cannot be read.
        """

    def build(self, recipe: Recipe, variant: Variant, place: Workplace, tell: Tell) -> Built:
        """The products of this variant; those of an earlier build of the very same input are returned as they are.

        Raises ``PatchRefused``, ``BuildFailed``, ``CompilerKilled``, ``DiskFull``, ``TreeError`` or ``ToolMissing``;
        then no artifact is left, and the warm folder is good for the next build.
        """


@runtime_checkable
class Machine(Protocol):
    """Somewhere that a build is booted, or run, and commands are run with it."""

    name: str

    def obstacle(self, site: Site) -> str | None:
        """Why there is no such machine here, a sentence without its full stop; ``None`` if there is."""

    def commands(self, site: Site, built: Built, steps: Sequence[Step]) -> tuple[str, ...]:
        """The commands that ``run`` would run, as for a shell."""

    def run(self, site: Site, built: Built, steps: Sequence[Step], scratch: Path, tell: Tell) -> Session:
        """Boot once and run the steps in order; logs go into ``scratch`` and stay there.

        A step that ends with another status than 0 is a ``Done`` like any other. Raises ``GuestNotBooted``,
        ``GuestPanicked``, ``GuestHung``, ``GuestOutOfMemory``, ``GuestFailed`` or ``ToolMissing``.
        """


@runtime_checkable
class Benchmark(Protocol):
    """Something that gives numbers: it is described, run by a machine, and what it printed is parsed."""

    name: str

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """What it measures, the most telling first. Raises ``BenchmarkUnknown`` for settings that make no sense."""

    def obstacle(self, settings: Settings) -> str | None:
        """Why it cannot run from here, a sentence without its full stop; ``None`` if it can."""

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """The commands of one run; programs that have to be compiled first are, into ``scratch``."""

    def operations(self, settings: Settings, threads: int) -> int | None:
        """How many operations a run does, each of the same work; ``None`` where its time is set and not its work.

        Only what does the same work each time can be recorded and compared miss by miss.
        """

    def parse(self, settings: Settings, done: Sequence[Done]) -> tuple[tuple[str, float], ...]:
        """The value of each metric, by name: a pure function of what the steps printed.

        Raises ``BenchmarkFailed`` when a step did, ``BenchmarkNonsense`` when its output has no sound number.
        """


@runtime_checkable
class Search(Protocol):
    """One run of an optimizer; the same seed and the same answers lead to the same questions."""

    def ask(self, count: int) -> tuple[Ask, ...]:
        """At most ``count`` points to judge next; none while all that is asked for is unanswered, or at the end."""

    def tell(self, answer: Told) -> None:
        """Hear the answer to an ask; answers come in any order, and a failure is one too."""


@runtime_checkable
class Optimizer(Protocol):
    """A way to search a space by asking for few points."""

    name: str

    def obstacle(self) -> str | None:
        """Why it cannot run here (a library that is missing); ``None`` if it can."""

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> Search:
        """Begin a search on ``rungs`` fidelities, in which at most ``trials`` points reach the upper ``costly``."""


class Pool(Protocol):
    """Workers that take functions; each worker has a warm folder of its own.

    They take ``slots`` functions at a time, on one and the same machine ``neighbours`` of them.
    """

    slots: int
    neighbours: int

    def submit(self, function: Callable[[Path], T], needs: str) -> Future[T]:
        """Run ``function``, which can be pickled, with the worker's warm folder; ``needs`` is ``BUILD`` or ``BENCH``.

        A function whose worker is lost runs again on another one. Raised exceptions are the future's.
        """


@runtime_checkable
class Executor(Protocol):
    """Where functions run: in processes of this machine, or on many machines."""

    name: str

    def open(self, settings: Settings, folder: Path) -> AbstractContextManager[Pool]:
        """Workers with warm folders below ``folder``; what still runs at the end is cancelled and its children killed.

        Raises ``ExecutorFailed`` or ``ToolMissing``.
        """
