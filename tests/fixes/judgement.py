# SPDX-License-Identifier: GPL-2.0-or-later
"""The replayer as the judge: what a layout costs over all phases of its slabs, and whether another is as good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fixes.execution import Event, node_of
from fixes.kernel import Memory, RealKernel
from fixes.scenario import Replaced, flattened
from replay.traces import Step as TraceStep
from replay.traces import write_trace

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout
from linesmith.analyzer.slab.allocation import Kernel, cache_of, pages_for
from linesmith.tuner.replay.plan import ReplayPlan, in_all_phases, relaid, unchanged
from linesmith.tuner.replay.replayer import Replay, change_interval, open_trace
from linesmith.tuner.replay.runs import RecordRuns
from linesmith.tuner.replay.scene import MovedBytes, TraceScene, holds, relocation, scene

OBJECTS = 1000
# A layout is as good unless 95 % of what resampling gives says otherwise.
TAIL = 0.025
LETTERS = {"load": "L", "store": "S", "atomic": "A"}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a layout costs: misses in all phases (mean) with those of each window, and memory.

    ``size`` are the bytes of the record, ``pages`` those that 1,000 objects around it take, 0 for variables.
    """

    misses: int
    windows: tuple[float, ...]
    phases: int
    size: int
    pages: int


def change(before: Cost, after: Cost) -> float:
    """The change of misses as a share of those before."""
    return (after.misses - before.misses) / before.misses if before.misses else 0.0


def as_good(one: Cost, other: Cost, now: Cost) -> bool:
    """Whether ``one`` has no more misses than ``other`` for all that can be told, and takes no more memory.

    A layout that takes no more than ``now`` costs nothing, even where ``other`` happens to save some bytes.
    """
    cheaper = one.pages <= max(other.pages, now.pages) if now.pages else one.size <= max(other.size, now.size)
    return cheaper and (one.misses <= other.misses or change_interval((other.windows,), (one.windows,), TAIL).low <= 0)


class Judge:
    """Replays one run under any layout of the records that its objects hold."""

    def __init__(self, replay: Replay, number: int, layouts: Layouts, slabs: Kernel) -> None:
        self._replay = replay
        self._number = number
        self._layouts = layouts
        self._slabs = slabs
        self._scene: TraceScene = replay.scenes[number]

    def concerns(self, record: int) -> bool:
        """Whether the objects are records with this layout id or hold one by value."""
        return holds(self._scene.kinds[0].outer.id, self._layouts, frozenset((record,)))

    def cost(self, before: Layout, after: Layout) -> Cost:
        """What it costs when every ``before`` is laid out as ``after``; raises ``NotSimulated``."""
        changed = {before.id: after}
        return self._cost(relaid(self._scene, changed, self._layouts), changed)

    def runs(self) -> RecordRuns:
        return RecordRuns([(self._replay, self._number)], self._layouts, None, 0.0)

    def now(self) -> Cost:
        return self._cost(unchanged(self._scene), {})

    def places(self, before: Layout, after: Layout, offsets: Sequence[int]) -> tuple[int, ...]:
        """The size of the scene's record under the layout, and where its bytes at ``offsets`` go."""
        moved = relocation(self._scene.record, self._layouts, {before.id: after})
        return moved.new_size, *(_place(offset, moved.pieces) for offset in offsets)

    def _cost(self, plan: ReplayPlan, after: Mapping[int, Layout]) -> Cost:
        runs = [self._replay.run(self._number, one) for one in in_all_phases(plan, self._scene)]
        size = relocation(self._scene.record, self._layouts, after).new_size
        windows = tuple(sum(each) / len(runs) for each in zip(*(one.windows for one in runs), strict=True))
        return Cost(round(sum(windows)), windows, len(runs), size, self._pages(after))

    def _pages(self, after: Mapping[int, Layout]) -> int:
        kind = self._scene.kinds[0]
        if not kind.slab:
            return 0
        moved = relocation(kind.outer, self._layouts, after)
        outer = replace(kind.outer, size=moved.new_size, alignment=moved.new_alignment)
        return pages_for(OBJECTS, cache_of(outer, self._slabs).geometry)


def _place(offset: int, pieces: Sequence[MovedBytes]) -> int:
    return next((one.new + offset - one.old for one in pieces if one.old <= offset < one.old + one.size), offset)


def judges(
    path: Path, events: Sequence[Event], starts: Sequence[int], memory: Memory, record: Layout, kernel: RealKernel
) -> tuple[Judge, Judge]:
    """The judge of candidates, and the one of layouts of ``record`` as ``flattened`` gives it.

    The trace of the run is kept at ``path``.
    """
    write_trace(path, steps(events, starts), [node_of(cpu) for cpu in range(1 + max(one.cpu for one in events))])
    flat = Replaced(kernel.layouts, flattened(record, kernel.layouts))
    views: tuple[Layouts, Layouts] = (kernel.layouts, flat)
    replay = open_trace(path, [scene(view.by_id(record.id), memory.areas, view) for view in views], (CACHE_LINE_BYTES,))
    first, second = (Judge(replay, number, view, kernel.slabs) for number, view in enumerate(views))
    return first, second


def steps(events: Sequence[Event], starts: Sequence[int]) -> Iterator[TraceStep]:
    """The run as a trace; object ``n`` begins at ``starts[n]``."""
    for event in events:
        address = starts[event.object] + event.spot.offset
        yield TraceStep(event.cpu, LETTERS[event.kind], address, event.spot.width)
