# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost under a profile: in contended accesses, in lines, and in memory.

And what it costs in misses when a recorded trace is replayed under it.
"""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model.finding import NOTHING, Bounds
from linesmith.analyzer.model.layout import MemberPair
from linesmith.analyzer.model.slab import SlabBasis


@dataclass(frozen=True, slots=True)
class PlacePhases:
    """Where objects can start in a line of ``line_bytes``: ``phases`` as (byte, share of the objects), shares add to 1.

    ``place`` says where these objects lie (``ext4_inode_cache, vfs_inode.i_data``), empty where only the record's
    alignment is known and every multiple of it counts the same.
    """

    place: str
    line_bytes: int
    phases: tuple[tuple[int, float], ...]
    basis: SlabBasis | None = None


@dataclass(frozen=True, slots=True)
class PhaseProof(MemberPair):
    """In which phases two members still share a line: ``together`` of ``phases``, with ``share`` of the objects.

    Two members never meet, wherever an object starts, when ``together`` is 0 and ``place`` is empty: then every
    multiple of the record's alignment was looked at.
    """

    place: str
    line_bytes: int
    phases: int
    together: int
    share: float


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What ``objects`` cost in a slab ``cache``; sizes in bytes, ``pages_per_1000`` pages for 1,000 objects."""

    cache: str
    basis: SlabBasis
    object_bytes: int
    stride: int
    order: int
    objects_per_slab: int
    pages_per_1000: int
    bytes_per_100000: int


@dataclass(frozen=True, slots=True)
class HolderChange:
    """What becomes of a record that holds the changed one by value: its size in bytes ``before`` and ``after``.

    ``memory`` is what its objects cost before and after, where they have a slab cache of their own.
    """

    record: str
    before: int
    after: int
    memory: tuple[MemoryUse, MemoryUse] | None = None


@dataclass(frozen=True, slots=True)
class CoAccess:
    """Lines that one function touches of an object, on average over the phases; ``weight`` are its samples."""

    function: str
    members: tuple[str, ...]
    weight: float
    lines: float


@dataclass(frozen=True, slots=True)
class LayoutCost:
    """The cost of a layout under a profile, over all places and phases of its objects.

    ``contended`` accesses and their ``cycles`` are all of the record's, those that no layout removes among them, with
    the limits within which another run would find them; ``likely`` lies between them. ``here`` are those
    in the phases of the profile's objects. ``adjacent`` are contended accesses of members in both halves of a
    128-byte pair, not contained in them. ``straddling`` are accesses to members on two lines. ``hot_lines`` is how many
    lines hold hot members.
    """

    contended: Bounds = NOTHING
    likely: float = 0.0
    here: Bounds = NOTHING
    cycles: Bounds = NOTHING
    adjacent: Bounds = NOTHING
    straddling: float = 0.0
    hot_lines: float = 0.0
    co_access: tuple[CoAccess, ...] = ()
    size: int = 0
    memory: tuple[MemoryUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Saving:
    """What one layout saves of another's ``contended`` accesses and ``cycles``; negative where it may cost more.

    Counted in the phases of the profile's objects, where those are known. ``likely`` lies between the limits; what is
    below ``noise`` is less than two runs of one and the same layout differ by. ``before`` and ``cycles_before`` are
    what the record's lines cost now.
    """

    contended: Bounds = NOTHING
    cycles: Bounds = NOTHING
    likely: float = 0.0
    noise: float = 0.0
    before: float = 0.0
    cycles_before: float = 0.0

    @property
    def likely_cycles(self) -> float:
        """What is likely in cycles, each access taking as long as those of now on average."""
        return self.likely * self.cycles_before / self.before if self.before else 0.0

    @property
    def tells(self) -> bool:
        """Whether a run with the new layout could be told from one with the old."""
        return self.likely >= self.noise and self.likely > 0

    @property
    def may_lose(self) -> bool:
        """Whether its limits hold a loss that would be no chance."""
        return self.before > 0 and self.contended.least < -self.noise


@dataclass(frozen=True, slots=True)
class ReplayedSaving:
    """A saving beside that of a replayed trace, all as shares of what the record costs before.

    ``apart`` is by how much what was ``likely`` exceeds what was ``replayed``; ``holds`` tells that the limits of what
    was ``predicted`` hold it.
    """

    predicted: Bounds
    likely: float
    replayed: float
    apart: float
    holds: bool


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
