# SPDX-License-Identifier: GPL-2.0-or-later
"""What sharing a line costs, and how much of that a change of the layout can remove at most."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model.lines import CACHE_LINE_BYTES


@dataclass(frozen=True, slots=True)
class Bounds:
    """An amount of which only limits are known; both are equal where it is known."""

    least: float = 0.0
    most: float = 0.0

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.least + other.least, self.most + other.most)

    def times(self, factor: float) -> Bounds:
        """Both limits multiplied by a factor that is not negative."""
        return Bounds(self.least * factor, self.most * factor)


NOTHING = Bounds()


@dataclass(frozen=True, slots=True)
class Side:
    """A member's part in a sharing: its samples, and the CPUs and nodes that they come from.

    ``cpus`` are numbers of CPUs, empty where they are not known; ``cpu_count`` is at least how many there are, ``None``
    where nothing tells. ``inferred`` tells that it is written although no store was sampled.
    """

    member: str
    reads: int
    writes: int
    functions: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    cpu_count: int | None = None
    nodes: tuple[int, ...] = ()
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class SharingCost:
    """Accesses to ``victim`` that waited because ``writer`` had been written on another CPU.

    Both may be one member: that is true sharing. ``span`` is how many aligned bytes hold both: 64, or 128 where each
    lies in its half of a pair of lines that are fetched together. ``cycles`` are those of the samples.
    """

    victim: Side
    writer: Side
    contended: Bounds
    cycles: Bounds
    span: int = CACHE_LINE_BYTES


@dataclass(frozen=True, slots=True)
class LineCost:
    """What a line costs, in contended accesses and in cycles of those sampled.

    ``cycles`` are those of contended accesses, ``slow_cycles`` what the line's other loads took more than hits do.
    ``removable`` is what no layout can exceed: all cost between different members gone, true sharing left in place.
    ``adjacent`` is the same for members in the other half of a 128-byte pair, not contained in ``removable``.
    ``share`` is the removable part of all cycles of the profile. ``exact`` tells that every miss names its writer,
    ``timed`` that the latencies are the profile's own. ``notes`` say what the limits rest on.
    """

    contended: int = 0
    cycles: float = 0.0
    slow_cycles: float = 0.0
    sharings: tuple[SharingCost, ...] = ()
    removable: Bounds = NOTHING
    removable_cycles: Bounds = NOTHING
    adjacent: Bounds = NOTHING
    adjacent_cycles: Bounds = NOTHING
    share: Bounds = NOTHING
    exact: bool = False
    timed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def waited(self) -> float:
        """All cycles that loads waited on the line."""
        return self.cycles + self.slow_cycles


NO_COST = LineCost()
