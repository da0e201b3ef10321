# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change of a layout is expected to save in misses, who meets on a line in which phases, and memory."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model.layout import CACHE_LINE_BYTES, MemberPair
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
    """Bounds of a share: 80 % of what resampling the runs gives lies between them."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Misses of ``victim`` by the doing of stores to ``writer``, before and after; both are members of the object."""

    victim: str
    writer: str
    true_sharing: bool
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """Members that a change puts on one line, those with the most misses first, and their misses before and after."""

    members: tuple[str, ...]
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a change does to the misses on all lines that hold objects of the record, their neighbours included.

    ``before`` and ``after`` are expected numbers: the mean of ``runs``, one for a recorded trace, and of as many
    ``phases`` in which the objects may begin. ``runs`` is 0 where nothing could be replayed, and the numbers are
    estimated. ``interval`` is that of ``change``, ``whole`` all misses of the profile as it is. ``lines`` and ``pairs``
    are those with the largest difference. ``accesses`` to ``objects`` objects were replayed, on lines of
    ``line_bytes``. ``refusal`` tells why nothing is known.
    """

    before: float = 0.0
    after: float = 0.0
    interval: Interval = Interval(0.0, 0.0)
    whole: float = 0.0
    lines: tuple[JudgedLine, ...] = ()
    pairs: tuple[JudgedPair, ...] = ()
    runs: int = 0
    phases: int = 1
    line_bytes: int = CACHE_LINE_BYTES
    objects: int = 0
    accesses: int = 0
    remarks: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def saved(self) -> float:
        """Misses that go away, negative where some come."""
        return self.before - self.after

    @property
    def change(self) -> float:
        """Misses after, less those before, as a share of those before; 0 where there are none."""
        return -self.saved / self.before if self.before else 0.0

    @property
    def better(self) -> bool:
        """Whether the record gets better in all of the interval."""
        return self.change < 0 and self.interval.high < 0


NOT_JUDGED = Judgement()


@dataclass(frozen=True, slots=True)
class Sharded:
    """``members`` of a record in ``ways`` copies, chosen ``by`` the number of the CPU or of its node.

    The judgement is the best case: every access goes to one copy only.
    """

    type: str
    members: tuple[str, ...]
    ways: int
    by: str
    judgement: Judgement
