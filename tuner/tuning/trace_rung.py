# SPDX-License-Identifier: GPL-2.0-or-later
"""The second rung: the recorded trace replayed under a candidate, in this process."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Layout, Profile, SimulatedLines
from linesmith.tuner.plan import plan_for, unchanged
from linesmith.tuner.replay import open_trace
from linesmith.tuner.scene import scene
from linesmith.tuner.simulated import outcomes, run


class TraceRung:
    """A trace with the objects of ``record`` in it, which is read once."""

    def __init__(self, profile: Profile, trace: Path, record: Layout, layouts: Layouts) -> None:
        """Raises ``TraceError``, and ``NotSimulated`` when the trace has nothing to say of the record."""
        here = scene(record, profile.areas, layouts)
        if not here.kinds:
            raise NotSimulated(f"the profile knows no object that is or holds a {record.title}")
        self._layouts = layouts
        self._replay = open_trace(trace, (here,))
        if not self._replay.accesses(0):
            raise NotSimulated(f"the trace has no access to any of the {here.objects} objects of {record.title}")
        self._before = outcomes(self._replay, 0, unchanged(here))

    def cost(self, candidate: Candidate) -> tuple[float, float]:
        """Misses on the record as a ratio to those now, and half their interval; raises ``NotSimulated``."""
        plan = plan_for(self._replay.scenes[0], candidate, self._layouts)
        found = run(self._replay, 0, plan, self._before, self._layouts)
        lines = max((one for one in found.lines if one.line_bytes == CACHE_LINE_BYTES), key=_phases, default=None)
        if lines is None or not lines.before.total:
            raise NotSimulated("the trace has no miss on the record that another layout could save")
        return 1.0 + lines.change, (lines.interval.high - lines.interval.low) / 2


def _phases(lines: SimulatedLines) -> int:
    return lines.phases
