# SPDX-License-Identifier: GPL-2.0-or-later
"""What a candidate costs in misses when a recorded trace is replayed under its layout."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Latencies:
    """Cycles that one miss of each kind takes; only their proportions matter for a comparison.

    The defaults are round figures of the order measured on two-socket x86 servers (Molka et al., "Cache Coherence
    Protocol and Memory Performance of the Intel Haswell-EP Architecture", ICPP 2015), not of any one machine.
    """

    hitm_local: int = 120
    hitm_remote: int = 300
    shared: int = 80
    upgrade: int = 80
    taken_local: int = 120
    taken_remote: int = 300


@dataclass(frozen=True, slots=True)
class Misses:
    """Misses that happen because several CPUs use a line, by kind; first touches (``cold``) are counted apart.

    ``hitm_*`` are loads of lines modified elsewhere, ``taken_*`` stores to them, ``upgrade`` stores to a copy that
    others share, ``shared`` accesses without a copy where others have clean ones.
    """

    hitm_local: int = 0
    hitm_remote: int = 0
    shared: int = 0
    upgrade: int = 0
    taken_local: int = 0
    taken_remote: int = 0
    cold: int = 0

    @property
    def total(self) -> int:
        """All but the cold ones."""
        hitm, taken = self.hitm_local + self.hitm_remote, self.taken_local + self.taken_remote
        return hitm + taken + self.shared + self.upgrade

    def cycles(self, latencies: Latencies = Latencies()) -> int:
        """What all but the cold ones take together."""
        names = ("hitm_local", "hitm_remote", "shared", "upgrade", "taken_local", "taken_remote")
        return sum(getattr(self, name) * getattr(latencies, name) for name in names)


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a share: 95 % of what resampling the trace gives lies between them."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SimulatedPair:
    """Misses of ``victim`` by the doing of stores to ``writer``, before and after; paths are members of the object."""

    victim: str
    writer: str
    true_sharing: bool
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class SimulatedLines:
    """Misses on the objects concerned with lines of ``line_bytes``, and ``traced``: those of the whole trace.

    ``change`` is that of the misses as a share of those before, ``interval`` its bounds; ``pairs`` are those with
    the largest difference. More than one of ``phases`` tells that counts are means over the places in a line at which
    objects of these slabs may begin, where one is recorded by chance.
    """

    line_bytes: int
    before: Misses
    after: Misses
    traced: int
    interval: Interval
    pairs: tuple[SimulatedPair, ...] = ()
    phases: int = 1

    @property
    def change(self) -> float:
        """Misses after, less those before, as a share of those before; 0 where there are none."""
        return (self.after.total - self.before.total) / self.before.total if self.before.total else 0.0


@dataclass(frozen=True, slots=True)
class Simulation:
    """What replaying the trace says of one candidate; ``refusal`` tells why it says nothing.

    ``accesses`` to ``objects`` objects were replayed for each line size, in ``milliseconds`` altogether.
    """

    lines: tuple[SimulatedLines, ...] = ()
    objects: int = 0
    accesses: int = 0
    milliseconds: float = 0.0
    remarks: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def useless(self) -> bool:
        """Whether the replay found no fewer misses, in as many places as objects may have where it looked at them."""
        widest = max(self.lines, key=lambda one: (one.phases, -one.line_bytes), default=None)
        return widest is not None and widest.before.total > 0 and widest.change >= 0


@dataclass(frozen=True, slots=True)
class Sharded:
    """``members`` of a record in ``ways`` copies, chosen ``by`` the number of the CPU or of its node.

    The simulation is the best case: every access goes to one copy only.
    """

    type: str
    members: tuple[str, ...]
    ways: int
    by: str
    simulation: Simulation
