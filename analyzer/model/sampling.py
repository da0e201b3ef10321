# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of how a profile was sampled, and how many samples ended where."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SampleOutcome(StrEnum):
    """Where a sample of a profile ended before anything was attributed; every one ends in exactly one."""

    SHARED_LINE = "on a shared line"
    UNSHARED_LINE = "on a line without contention"
    NO_ADDRESS = "without a data address"
    NO_ACCESS = "no memory access"
    GUEST = "in a guest"
    NOT_READ = "not understood"
    LOST = "lost while recording"


@dataclass(frozen=True, slots=True)
class CpuCounts:
    """Samples of one access by the CPU that made it; ``cycles`` adds up the latencies of ``timed`` loads.

    ``node`` is ``None`` where the source does not say which node the CPU belongs to.
    """

    cpu: int
    node: int | None
    loads: int = 0
    stores: int = 0
    contended: int = 0
    cycles: int = 0
    timed: int = 0


@dataclass(frozen=True, slots=True)
class ObjectBuild:
    """The build-id that a profile tells of a file (``[kernel.kallsyms]``, ``/usr/bin/x``); hexadecimal."""

    path: str
    build_id: str


@dataclass(frozen=True, slots=True)
class FileMapping:
    """Where a part of a file lay in a process: addresses from ``start`` to before ``end``, from byte ``offset`` on."""

    pid: int
    path: str
    start: int
    end: int
    offset: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sampled profile's circumstances.

    ``builds`` are the files that code or data lay in. ``outcomes`` add up to the samples that were recorded, those
    lost included. ``anchor`` is a kernel symbol with its address at run time, of which the ELF file's own address is
    the KASLR offset away. ``mappings`` are those of the processes that lines and code of user space are of.
    ``build_id`` is that of the ELF file whose addresses the code addresses are, once they are.
    """

    outcomes: tuple[tuple[SampleOutcome, int], ...] = ()
    builds: tuple[ObjectBuild, ...] = ()
    anchor: tuple[str, int] | None = None
    release: str | None = None
    machine: str | None = None
    cpus: int | None = None
    command: str = ""
    mappings: tuple[FileMapping, ...] = ()
    build_id: str | None = None

    @property
    def samples(self) -> int:
        """Every sample, however it ended."""
        return sum(count for _, count in self.outcomes)
