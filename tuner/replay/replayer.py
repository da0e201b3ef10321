# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays a recorded trace as if its objects had another layout; docs/replay.md tells what that assumes.

How far a change may be chance is told by a block bootstrap over windows of the trace. One trace is one interleaving.
Its windows are taken as blocks that might have come in other numbers: they are drawn with replacement, and the change
is computed anew each time. Source: Kuensch, "The jackknife and the bootstrap for general stationary observations",
Annals of Statistics 17 (1989).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.base.errors import TraceError
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, Interval, Misses
from linesmith.tuner import _replay
from linesmith.tuner.replay.plan import ReplayPlan, ShardBy, Sharding
from linesmith.tuner.replay.scene import TraceScene

LINE_SIZES = (CACHE_LINE_BYTES, ADJACENT_LINE_BYTES)
# Parts of the trace, of as many slices each, for which misses are counted apart.
WINDOWS = 20
# Of one scene; the replayer keeps some 20 bytes of each.
MOST_OBJECTS = 1 << 26
RESAMPLES = 1000
TAIL = 0.025

# Misses of the bytes at one place by the doing of stores to another: kinds of the scene, offsets of the old layout.
PlacePair = _replay.Pair


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

    def __init__(self, native: _replay.Replayer, scenes: tuple[TraceScene, ...]) -> None:
        self._native = native
        self.scenes = scenes
        self.counts = TraceCounts(*native.counts)
        self.nodes = tuple(native.nodes)
        self.traced = {total.line_bytes: _misses(total.events) for total in native.totals}
        self.untraced = sum(total.dropped for total in native.totals)

    def accesses(self, scene: int) -> int:
        """How many accesses of the trace concern the scene with this number."""
        return self._native.events(scene)

    def run(self, scene: int, plan: ReplayPlan, line_bytes: int = CACHE_LINE_BYTES) -> ReplayOutcome:
        """What the scene with this number costs under ``plan``, with lines of 64, 128 or 256 bytes."""
        kinds = []
        for one in plan.kinds:
            slabs = one.placement
            placement = None if slabs is None else (slabs.stride, slabs.per_slab, slabs.slab_bytes, slabs.first)
            pieces = [(piece.old, piece.size, piece.new) for piece in one.pieces]
            kinds.append((pieces, one.tail, placement, one.shift))
        sharding = None if plan.sharding is None else self._sharding(self.scenes[scene], plan.sharding)
        done = self._native.run(scene, kinds, line_bytes, WINDOWS, sharding)
        return ReplayOutcome(line_bytes, _misses(done.events), tuple(done.windows), tuple(done.pairs))

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


@dataclass(frozen=True, slots=True)
class RunStep:
    """An access of ``width`` bytes that a task makes ``often`` times in a turn, on average.

    ``kind`` is 0 for a load, 1 for a store, 2 for both in one; ``site`` numbers who makes it where.
    """

    address: int
    width: int
    kind: int
    site: int
    often: float


@dataclass(frozen=True, slots=True)
class RunTask:
    """What each of ``cpus`` does a turn at a time, ``share`` weighing it against all other tasks.

    Turns of tasks with the same ``lock`` exclude each other; meanwhile who wants it does ``waits``. 0 is no lock.
    """

    cpus: tuple[int, ...]
    share: float
    lock: int
    does: tuple[RunStep, ...]
    waits: tuple[RunStep, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """What became of the accesses of one site.

    ``modified`` found the line so in another cache, ``missed`` had no copy, ``upgrades`` are stores to a shared one.
    ``shadowed`` hit bytes that the CPU had not used since another access of it fetched the line.
    """

    total: int
    modified: int
    missed: int
    upgrades: int
    shadowed: int


class MadeRun:
    """``accesses`` accesses of tasks that CPUs on these ``nodes`` do in turn, without a trace.

    After each access another CPU goes on with the probability ``handover``, at the end of a turn with ``ending``.
    """

    def __init__(
        self, nodes: Sequence[int], tasks: Sequence[RunTask], handover: float, ending: float, accesses: int, seed: int
    ) -> None:
        rows = [(one.cpus, one.share, one.lock, _steps(one.does), _steps(one.waits)) for one in tasks]
        self._native = _replay.Course(nodes, rows, handover, ending, accesses, seed)

    def counts(self, sites: int) -> list[SiteCounts]:
        """What each of so many sites cost in the layout as it is, at lines of 64 bytes."""
        found = [_site_counts(*one) for one in zip(self._native.counts, self._native.shadowed, strict=True)]
        return found + [SiteCounts(0, 0, 0, 0, 0)] * (sites - len(found))

    def open(self, instructions: Sequence[int], scenes: Sequence[TraceScene]) -> Replay:
        """The run as a trace would give it; ``instructions`` are addresses of code by site."""
        return Replay(self._native.open(instructions, _rows(scenes), LINE_SIZES), tuple(scenes))


def _steps(steps: Sequence[RunStep]) -> list[tuple[int, int, int, int, float]]:
    return [(one.address, one.width, one.kind, one.site, one.often) for one in steps]


def _site_counts(one: _replay.Events, shadowed: int) -> SiteCounts:
    modified = one.hitm_local + one.hitm_remote + one.own_local + one.own_remote
    missed = modified + one.shared_miss + one.cold_miss
    return SiteCounts(missed + one.hits + one.upgrade, modified, missed, one.upgrade, shadowed)


def _rows(scenes: Sequence[TraceScene]) -> list[list[tuple[int, int, int, int]]]:
    return [
        [
            (area.address, area.stride, area.count, number)
            for number, kind in enumerate(one.kinds)
            for area in kind.areas
        ]
        for one in scenes
    ]


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
        native = _replay.open_trace(str(path), _rows(scenes), list(line_sizes))
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


def mean(outcomes: Sequence[ReplayOutcome]) -> ReplayOutcome:
    """The mean of several runs of one scene with one line size, misses rounded; pairs are not followed."""
    count = len(outcomes)
    names = Misses.__slots__
    misses = {name: round(sum(getattr(one.misses, name) for one in outcomes) / count) for name in names}
    windows = (sum(window) / count for window in zip(*(one.windows for one in outcomes), strict=True))
    return ReplayOutcome(outcomes[0].line_bytes, Misses(**misses), tuple(windows), ())


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


@cache
def _draws(windows: int) -> NDArray[np.int64]:
    """So many of the windows, ``RESAMPLES`` times over: a repeatable choice."""
    draw = Random(0)  # noqa: S311 - no secret
    return np.array([draw.choices(range(windows), k=windows) for _ in range(RESAMPLES)])


def change_interval(before: Sequence[float], after: Sequence[float]) -> Interval:
    """The middle 95 % of the change (after - before) / before; ``before`` and ``after`` are misses by window.

    The same windows give the same interval. 0 to 0 where nothing was missed before.
    """
    windows = np.array([pair for pair in zip(before, after, strict=True) if any(pair)], float)
    if not len(windows):
        return Interval(0.0, 0.0)
    old, new = windows[_draws(len(windows))].sum(axis=1).T
    changes = sorted(((new[old > 0] - old[old > 0]) / old[old > 0]).tolist())
    if not changes:
        return Interval(0.0, 0.0)
    return Interval(changes[int(TAIL * len(changes))], changes[int((1 - TAIL) * len(changes)) - 1])
