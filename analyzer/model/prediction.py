# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost under a profile: in contended accesses, in lines, and in memory."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model.cost import NOTHING, Bounds
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
class PhaseProof:
    """In which phases two members still share a line: ``together`` of ``phases``, with ``share`` of the objects.

    Two members never meet, wherever an object starts, when ``together`` is 0 and ``place`` is empty: then every
    multiple of the record's alignment was looked at.
    """

    first: str
    second: str
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
