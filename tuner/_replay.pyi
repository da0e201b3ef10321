# SPDX-License-Identifier: GPL-2.0-or-later
"""The seam to the native replayer; sizes, offsets and addresses are in bytes.

Objects come in rows ``(address, stride, count, kind)``; kinds are numbered from 0 within a scene. What happens to a
kind is ``(pieces, tail, placement, shift)``: pieces ``(old offset, size, new offset)`` sorted by old offset, how far
bytes behind them move, ``(stride, objects per slab, bytes per slab, first object's offset)`` or ``None``, and how far
all objects are moved on top, below 256. A sharding is
``(ranges, alignment, shard by CPU, code)``: bytes ``(kind, old offset, size)`` that each shard has, and addresses
``(begin, end)`` of instructions that go through all shards. A task of a run without a trace is
``(CPUs, share, lock, hold, fair, steps)``, a step ``(address, width, kind, site, often, gap, part of the turn)``.
"""

from collections.abc import Sequence

Row = tuple[int, int, int, int]
Piece = tuple[int, int, int]
Placement = tuple[int, int, int, int]
KindPlan = tuple[Sequence[Piece], int, Placement | None, int]
Step = tuple[int, int, int, int, float, float, int]
Task = tuple[Sequence[int], float, int, float, bool, Sequence[Step]]
Sharding = tuple[Sequence[tuple[int, int, int]], int, Sequence[int], Sequence[tuple[int, int]]]

class TraceError(Exception):
    """The file cannot be read or is damaged; the message is one sentence for the user."""

class Events:
    """Misses by kind, as ``coherence.h`` defines them."""

    @property
    def hits(self) -> int: ...
    @property
    def hitm_local(self) -> int: ...
    @property
    def hitm_remote(self) -> int: ...
    @property
    def shared_miss(self) -> int: ...
    @property
    def cold_miss(self) -> int: ...
    @property
    def upgrade(self) -> int: ...
    @property
    def own_local(self) -> int: ...
    @property
    def own_remote(self) -> int: ...

class Pair:
    """Misses of one place by the doing of a writer at another; offsets are those of the old layout.

    The kind behind the last of the scene is memory beside its objects.
    """

    @property
    def victim_kind(self) -> int: ...
    @property
    def victim_offset(self) -> int: ...
    @property
    def writer_kind(self) -> int: ...
    @property
    def writer_offset(self) -> int: ...
    @property
    def true_sharing(self) -> bool: ...
    @property
    def local(self) -> int: ...
    @property
    def remote(self) -> int: ...

class Outcome:
    """One run: misses, those between CPUs by window, and pairs with most misses first."""

    @property
    def events(self) -> Events: ...
    @property
    def windows(self) -> list[int]: ...
    @property
    def pairs(self) -> list[Pair]: ...

class Total:
    """Misses of the whole trace as it was recorded, for one line size.

    ``dropped`` counts accesses to lines for which there was no room.
    """

    @property
    def line_bytes(self) -> int: ...
    @property
    def events(self) -> Events: ...
    @property
    def dropped(self) -> int: ...

class Replayer:
    """A trace as it was read: what concerns each scene, in memory."""

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Accesses seen, events kept, slices, events dropped, as the writer of the trace counted them."""
    @property
    def nodes(self) -> list[int]:
        """The NUMA node of each CPU."""
    @property
    def totals(self) -> list[Total]: ...
    def events(self, scene: int) -> int:
        """How many accesses concern the scene; raises ``IndexError``."""
    def run(
        self, scene: int, kinds: Sequence[KindPlan], line_bytes: int, windows: int, sharding: Sharding | None = None
    ) -> Outcome:
        """Replay the scene as planned; raises ``ValueError`` for a plan that does not fit it."""
    def misses(self, scene: int, kinds: Sequence[KindPlan], line_bytes: int) -> int:
        """The misses between CPUs of the same, and nothing else."""

class Course:
    """The accesses of tasks that CPUs do in turn; raises ``ValueError`` for tasks that cannot be done."""

    def __init__(
        self, nodes: Sequence[int], tasks: Sequence[Task], handover: float, ending: float, accesses: int, seed: int
    ) -> None: ...
    @property
    def counts(self) -> list[Events]:
        """What became of the accesses of each site, at lines of 64 bytes."""
    @property
    def shadowed(self) -> list[int]:
        """By site, accesses to bytes that the CPU had not used since another access of it fetched the line."""
    @property
    def shared(self) -> list[int]:
        """By site, those of the missing and shadowed accesses whose own bytes others had stored to meanwhile."""
    @property
    def stored(self) -> list[int]:
        """By site, stores to bytes that the CPU had not stored to since it has the line for itself."""
    def open(self, instructions: Sequence[int], scenes: Sequence[Sequence[Row]], line_sizes: Sequence[int]) -> Replayer:
        """The same as ``open_trace`` gives of a file; ``instructions`` are addresses by site."""

def open_trace(path: str, scenes: Sequence[Sequence[Row]], line_sizes: Sequence[int]) -> Replayer:
    """Read the trace once; raises ``TraceError``, ``ValueError`` for rows that overlap, ``MemoryError``."""

def add_totals(path: str, line_sizes: Sequence[int]) -> None:
    """Write the totals for these line sizes behind the end of the trace; raises as ``open_trace`` does."""
