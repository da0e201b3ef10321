# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs the example runs on: one of each core where there are two cores, and what else there is to know."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

TOPOLOGY = Path("/sys/devices/system/cpu")
MOST_CPUS = 8


class Placement(Enum):
    """How the threads lie on the machine; the value is the sentence for it."""

    CORES = "each thread on a core of its own"
    SIBLINGS = (
        "only one core is at hand, so the threads run on two siblings of it; siblings share their first-level "
        "cache and may show nothing"
    )
    ONE_CPU = "only one CPU is at hand, so the threads take turns and no line travels; nothing can be seen here"


@dataclass(frozen=True, slots=True)
class CpuChoice:
    """CPU numbers, one per thread (a number twice where there is one CPU), and how they lie."""

    cpus: tuple[int, ...]
    placement: Placement

    @property
    def count(self) -> int:
        """Different CPUs used."""
        return len(set(self.cpus))


def choose(allowed: Iterable[int], topology: Path = TOPOLOGY) -> CpuChoice:
    """Up to eight of the ``allowed`` CPUs, one of each core; two siblings or one CPU where there is no more.

    Source: ``cpuN/topology/thread_siblings_list`` (Linux, Documentation/admin-guide/cputopology.rst).
    """
    available = sorted(allowed)
    cores: dict[str, int] = {}
    for cpu in available:
        cores.setdefault(_siblings(cpu, topology), cpu)
    if len(cores) > 1:
        return CpuChoice(tuple(cores.values())[:MOST_CPUS], Placement.CORES)
    if len(available) > 1:
        return CpuChoice(tuple(available[:2]), Placement.SIBLINGS)
    return CpuChoice((available[0], available[0]), Placement.ONE_CPU)


def here() -> CpuChoice:
    """The choice among the CPUs this process may run on."""
    return choose(os.sched_getaffinity(0))


def _siblings(cpu: int, topology: Path) -> str:
    """The kernel's list of the core's CPUs; the CPU alone where the kernel does not tell."""
    try:
        return (topology / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)
