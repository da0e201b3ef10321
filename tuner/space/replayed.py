# SPDX-License-Identifier: GPL-2.0-or-later
"""What a point costs when a recorded trace is replayed under its layout: the fidelity between estimate and build."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import ObjectArea, Point, Simulation
from linesmith.tuner.plan import relaid, unchanged
from linesmith.tuner.replay import open_trace
from linesmith.tuner.scene import scene
from linesmith.tuner.simulated import outcomes, run
from linesmith.tuner.space.proposals import Proposals


@dataclass(frozen=True, slots=True)
class Replayed:
    """Misses on the objects concerned as a ratio to those of the baseline, with half the width of its interval."""

    cost: float
    spread: float


def replayed(
    proposals: Proposals, areas: Iterable[ObjectArea], layouts: Layouts, trace: Path
) -> Callable[[Point], Replayed]:
    """A function from points to their cost on ``trace``, which is read once; ``areas`` are the profile's objects.

    Raises ``TraceError`` when the trace cannot be read, and ``NotSimulated`` when it knows no object of the record. The
    function raises ``NotSimulated`` for a point whose layout an object cannot have, ``NothingToSuggest`` for one that
    is not legal.
    """
    record = layouts.by_id(proposals.record.subject.layout.id)
    here = scene(record, areas, layouts)
    if not here.kinds:
        raise NotSimulated(f"the profile knows no object that is or holds a {record.title}, so the trace cannot tell")
    replay = open_trace(trace, (here,))
    if not replay.accesses(0):
        objects = f"the {here.objects} objects that are or hold a {record.title}"
        raise NotSimulated(f"the trace has no access to any of {objects}")
    before = outcomes(replay, 0, unchanged(here))
    line_bytes = proposals.record.subject.heat.line_bytes

    def cost(point: Point) -> Replayed:
        after = {one.before.id: one.after for one in proposals.candidates(point)}
        return _ratio(run(replay, 0, relaid(here, after, layouts), before, layouts), line_bytes)

    return cost


def _ratio(simulation: Simulation, line_bytes: int) -> Replayed:
    """That of the widest look at lines of ``line_bytes``: in all phases where objects have several."""
    looked = [one for one in simulation.lines if one.line_bytes == line_bytes] or list(simulation.lines)
    widest = max(looked, key=lambda one: one.phases)
    return Replayed(1 + widest.change, (widest.interval.high - widest.interval.low) / 2)
