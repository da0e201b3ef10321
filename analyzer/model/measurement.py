# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers that benchmarks give: what they mean, and each one with the circumstances in which it was taken."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.machine import Setting

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
