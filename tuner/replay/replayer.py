# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays a recorded trace as if its objects had another layout; docs/replay.md tells what that assumes.

How far a change may be chance follows from a block bootstrap over windows of the trace, which is one interleaving; of
several runs that might all have been the real one, runs are drawn first. Source: Kuensch, "The jackknife and the
bootstrap for general stationary observations", Annals of Statistics 17 (1989).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from hashlib import blake2b, file_digest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from linesmith.analyzer.base.errors import TraceError
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, Interval, Misses, Profile, Recording
from linesmith.tuner import _replay
from linesmith.tuner.replay.plan import ReplayPlan, ShardBy, Sharding
from linesmith.tuner.replay.scene import TraceScene

LINE_SIZES = (CACHE_LINE_BYTES, ADJACENT_LINE_BYTES)
# Parts of the trace, of as many slices each, for which misses are counted apart.
WINDOWS = 20
# Of one scene; the replayer keeps some 20 bytes of each.
MOST_OBJECTS = 1 << 26
RESAMPLES = 400
# What is left out of an interval of 80 % at each side.
TAIL = 0.1

# Misses by run, and by window of it.
Windows = tuple[tuple[float, ...], ...]
FloatArray = npt.NDArray[np.float64]

# Misses of the bytes at one place by the doing of stores to another: kinds of the scene, offsets of the old layout.
PlacePair = _replay.Pair
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """Misses of a scene under a plan, all of them, by window (between CPUs only) and by pair, most first."""

    line_bytes: int
    misses: Misses
    windows: tuple[float, ...]
    pairs: tuple[PlacePair, ...]


@dataclass(frozen=True, slots=True)
class TraceCounts:
    """What the writer of a trace counted: accesses it saw, those it kept, slices, and what no longer fitted."""

    seen: int
    kept: int
    slices: int
    dropped: int


class Replay:
    """A trace, read once, from which any plan for its scenes can be run."""

    def __init__(self, native: _replay.Replayer, scenes: tuple[TraceScene, ...], read: Replay | None = None) -> None:
        self._native, self.scenes = native, scenes
        numbers = {rows: number for number, rows in enumerate(_distinct(scenes))}
        self._read: dict[tuple[_replay.Row, ...], int] = numbers if read is None else read._read
        self._numbers = [self._read[_rows(one)] for one in scenes]
        self.counts = TraceCounts(*native.counts)
        self.nodes = tuple(native.nodes)
        self.traced = {total.line_bytes: _misses(total.events) for total in native.totals}
        self.untraced = sum(total.dropped for total in native.totals)

    def of(self, scenes: Sequence[TraceScene]) -> Replay:
        """The same for other scenes, whose objects are all among those that the trace was read for."""
        return Replay(self._native, tuple(scenes), self)

    def accesses(self, scene: int) -> int:
        """How many accesses of the trace concern the scene with this number."""
        return self._native.events(self._numbers[scene])

    def run(self, scene: int, plan: ReplayPlan, line_bytes: int = CACHE_LINE_BYTES) -> ReplayOutcome:
        """What the scene with this number costs under ``plan``, with lines of 64, 128 or 256 bytes."""
        sharding = None if plan.sharding is None else self._sharding(self.scenes[scene], plan.sharding)
        done = self._native.run(self._numbers[scene], _kinds(plan), line_bytes, WINDOWS, sharding)
        return ReplayOutcome(line_bytes, _misses(done.events), tuple(done.windows), tuple(done.pairs))

    def misses(self, scene: int, plan: ReplayPlan, line_bytes: int = CACHE_LINE_BYTES) -> int:
        """Only the misses between CPUs, under a ``plan`` without shards, in a part of the time."""
        return self._native.misses(self._numbers[scene], _kinds(plan), line_bytes)

    def _sharding(self, scene: TraceScene, sharding: Sharding) -> _replay.Sharding:
        members = [(one.offset, one.size) for one in scene.record.members if one.name in sharding.members]
        ranges = [
            (number, place + offset, size)
            for number, kind in enumerate(scene.kinds)
            for place in kind.places
            for offset, size in (*members, *sharding.spans)
        ]
        shards = range(len(self.nodes)) if sharding.by is ShardBy.CPU else self.nodes
        code = [(one.start, one.stop) for one in sharding.everywhere]
        return ranges, sharding.alignment, [shard % sharding.ways for shard in shards], code


def _kinds(plan: ReplayPlan) -> list[_replay.KindPlan]:
    kinds: list[_replay.KindPlan] = []
    for one in plan.kinds:
        slabs = one.placement
        placement = None if slabs is None else (slabs.stride, slabs.per_slab, slabs.slab_bytes, slabs.first)
        kinds.append((one.pieces, one.tail, placement, one.shift))
    return kinds


class TurnPart(IntEnum):
    """When in a turn an access is made, by the number that the replayer has for it.

    A turn under a lock comes to it (``TRY``). If it is free it is the CPU's at once (``FREE``), else the CPU queues up,
    looks at it over and over (``SPIN``) and gets it in the end (``TURN``). ``DO`` is what the lock is for, with its
    release, and all of a turn without a lock.
    """

    DO = 0
    TRY = 1
    FREE = 2
    QUEUE = 3
    SPIN = 4
    TURN = 5


@dataclass(frozen=True, slots=True)
class RunStep:
    """An access of ``width`` bytes that a task makes ``often`` times in that part of its turn, on average.

    ``kind`` is 0 for a load, 1 for a store, 2 for both in one; ``site`` numbers who makes it where. Another CPU comes
    between it and the access in front with that ``gap`` of the usual probability.
    """

    address: int
    width: int
    kind: int
    site: int
    often: float
    part: TurnPart = TurnPart.DO
    gap: float = 1.0

    @property
    def row(self) -> tuple[int, int, int, int, float, float, int]:
        """The same for the replayer; a run has many."""
        return self.address, self.width, self.kind, self.site, self.often, self.gap, self.part


@dataclass(frozen=True, slots=True)
class RunTask:
    """What each of ``cpus`` does a turn at a time, ``share`` weighing it against all other tasks.

    Turns of tasks with the same ``lock`` exclude each other, first come, first served. 0 is no lock. Under a lock
    another CPU goes on before each access with the probability ``hold``, again and again: the larger, the longer. At a
    ``fair`` lock nobody overtakes who waits.
    """

    cpus: tuple[int, ...]
    share: float
    lock: int
    steps: tuple[RunStep, ...]
    hold: float = 0.0
    fair: bool = False


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """What became of the accesses of one site.

    ``modified`` found the line so in another cache, ``missed`` had no copy, ``upgrades`` are stores to a shared one.
    ``shadowed`` hit bytes that the CPU had not used since another access of it fetched the line. ``shared`` of these
    and of those that had no copy are true sharing: others had stored to the bytes themselves. ``stored`` are stores to
    bytes that the CPU had not stored to since it has the line for itself.
    """

    total: int
    modified: int
    missed: int
    upgrades: int
    shadowed: int
    shared: int
    stored: int


class MadeRun:
    """``accesses`` accesses of tasks that CPUs on these ``nodes`` do in turn, without a trace.

    After each access another CPU goes on with the probability ``handover``, at the end of a turn with ``ending``.
    """

    def __init__(
        self, nodes: Sequence[int], tasks: Sequence[RunTask], handover: float, ending: float, accesses: int, seed: int
    ) -> None:
        rows = [(one.cpus, one.share, one.lock, one.hold, one.fair, [step.row for step in one.steps]) for one in tasks]
        self._native = _replay.Course(nodes, rows, handover, ending, accesses, seed)

    def counts(self, sites: int) -> list[SiteCounts]:
        """What each of so many sites cost in the layout as it is, at lines of 64 bytes."""
        native = self._native
        rows = zip(native.counts, native.shadowed, native.shared, native.stored, strict=True)
        found = list[SiteCounts]()
        for one, *others in rows:
            modified = one.hitm_local + one.hitm_remote + one.own_local + one.own_remote
            missed = modified + one.shared_miss + one.cold_miss
            found.append(SiteCounts(missed + one.hits + one.upgrade, modified, missed, one.upgrade, *others))
        return found + [SiteCounts(0, 0, 0, 0, 0, 0, 0)] * (sites - len(found))

    def open(self, instructions: Sequence[int], scenes: Sequence[TraceScene]) -> Replay:
        """The run as a trace would give it; ``instructions`` are addresses of code by site."""
        return Replay(self._native.open(instructions, _distinct(scenes), LINE_SIZES), tuple(scenes))


def _rows(scene: TraceScene) -> tuple[_replay.Row, ...]:
    return tuple(
        (area.address, area.stride, area.count, number)
        for number, kind in enumerate(scene.kinds)
        for area in kind.areas
    )


def _distinct(scenes: Sequence[TraceScene]) -> list[tuple[_replay.Row, ...]]:
    """The objects of each scene, once; a record and one that it holds have the same."""
    return list(dict.fromkeys(map(_rows, scenes)))


def open_trace(path: Path, scenes: Sequence[TraceScene], line_sizes: Sequence[int] = LINE_SIZES) -> Replay:
    """Read the trace at ``path`` for these scenes; ``Replay.traced`` has the misses of all of it by line size.

    Raises ``TraceError`` when the file cannot be read, is damaged, or has more of these objects than memory holds.
    """
    if crowded := next((one for one in scenes if one.objects > MOST_OBJECTS), None):
        raise TraceError(
            f"the profile has {crowded.objects:,} objects that hold a {crowded.record.title}, but {MOST_OBJECTS:,} can "
            "be followed; record it again"
        )
    try:
        native = _replay.open_trace(str(path), _distinct(scenes), list(line_sizes))
    except _replay.TraceError as error:
        raise TraceError(str(error)) from None
    except (ValueError, MemoryError) as error:
        raise TraceError(
            f"{path} cannot be replayed: {error}; record a shorter region, or narrow it with --type"
        ) from None
    return Replay(native, tuple(scenes))


def add_totals(path: Path) -> None:
    """Write the misses of the whole trace behind its end, so that no replay has to count them; raises ``TraceError``.

    A trace of 24 million accesses takes 4 s of CPU less to open then.
    """
    try:
        _replay.add_totals(str(path), list(LINE_SIZES))
    except _replay.TraceError as error:
        raise TraceError(str(error)) from None


def _misses(events: _replay.Events) -> Misses:
    return Misses(
        hitm_local=events.hitm_local,
        hitm_remote=events.hitm_remote,
        shared=events.shared_miss,
        upgrade=events.upgrade,
        taken_local=events.own_local,
        taken_remote=events.own_remote,
        cold=events.cold_miss,
    )


def resampled(*layouts: Windows) -> tuple[FloatArray, ...]:
    """Misses of each of the layouts in ``RESAMPLES`` repetitions: runs, and windows of each, drawn with replacement.

    All layouts are of the same runs, and each repetition has the same windows of them. Windows in which nothing
    happens under any layout are left out of a single run. The same windows give the same numbers.
    """
    counts = [np.asarray(one, dtype=np.float64) for one in layouts]
    if len(counts[0]) == 1:
        busy = np.any([one[0] != 0 for one in counts], axis=0)
        counts = [one[:, busy] for one in counts]
    runs, windows = counts[0].shape
    draw = np.random.default_rng(0)
    which = draw.integers(runs, size=(RESAMPLES, runs, 1)) if windows else np.zeros((RESAMPLES, runs, 1), np.int64)
    parts = draw.integers(max(windows, 1), size=(RESAMPLES, runs, windows))
    return tuple(one[which, parts].sum(axis=(1, 2)) for one in counts)


def change_interval(before: Windows, after: Windows, tail: float = TAIL) -> Interval:
    """The middle of the change (after - before) / before, without ``tail`` at each side; 0 to 0 without misses."""
    old, new = resampled(before, after)
    changes = (new[old > 0] - old[old > 0]) / old[old > 0]
    if not changes.size:
        return Interval(0.0, 0.0)
    low, high = np.quantile(changes, (tail, 1 - tail))
    return Interval(float(low), float(high))


def may_be_equal(before: Windows, after: Windows) -> bool:
    """Whether the interval of the difference of two layouts holds zero."""
    old, new = resampled(before, after)
    low, high = np.quantile(new - old, (TAIL, 1 - TAIL))
    return bool(low <= 0 <= high)


def place_of_trace(profile: Path) -> Path:
    """Where the trace of the profile at ``profile`` lies unless the user says otherwise."""
    return profile.with_name(f"{profile.name}.trace")


def digest_of(trace: Path) -> str:
    """What a recording knows its trace by, hexadecimal; raises ``TraceError`` when the file cannot be read."""
    try:
        with trace.open("rb") as file:
            return file_digest(file, lambda: blake2b(digest_size=_DIGEST_BYTES)).hexdigest()
    except OSError as error:
        raise TraceError(f"the trace {trace} cannot be read: {error.strerror or error}; record again") from error


def with_trace(profile: Profile, trace: Path) -> Profile:
    """The profile of a recording that knows ``trace`` as its own, which is whole then.

    Raises ``TraceError`` when the trace cannot be read or is damaged.
    """
    if profile.recording is None:
        return profile
    add_totals(trace)
    return replace(profile, recording=replace(profile.recording, trace=digest_of(trace)))


def trace_of(recording: Recording | None, profile: Path, named: Path | None = None) -> Path | None:
    """The trace of the ``recording`` in the file ``profile``: the one ``named``, or else the one in its place.

    ``None`` where there is none to look for. Raises ``TraceError`` when it is not there, not whole or another's.
    """
    recorded = recording.trace if recording else ""
    trace = named or place_of_trace(profile)
    if not recorded or (named and not named.is_file()):
        if named:
            open_trace(named, (), ())
        return named
    if not trace.exists():
        raise TraceError(f"{trace}, the trace of {profile}, does not exist; name it with --trace")
    if digest_of(trace) != recorded:
        raise TraceError(
            f"{trace} is not the trace of {profile}: it belongs to another recording, or is damaged; name the right"
            " one with --trace, or record again"
        )
    return trace
