# SPDX-License-Identifier: GPL-2.0-or-later
"""What to record and how: the order that ``linesmith record`` gives to a recorder, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from linesmith.analyzer.model.lines import CACHE_LINE_BYTES
from linesmith.analyzer.model.profile import Profile


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

    ``memory`` is a dump of the guest's memory at the end of the region, in the scratch directory.
    """

    profile: Profile | None = None
    report: str = ""
    memory: Path | None = None
