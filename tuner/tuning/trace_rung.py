# SPDX-License-Identifier: GPL-2.0-or-later
"""The second rung: the recorded trace replayed under a candidate, in this process."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Layout, Profile, SimulatedLines
from linesmith.tuner.plan import Plan, at_every_start, plan_for, unchanged
from linesmith.tuner.replay import PlacePair, open_trace
from linesmith.tuner.scene import scene
from linesmith.tuner.simulated import outcomes, run

Pairs = frozenset[frozenset[str]]


class TraceRung:
    """A trace with the objects of ``record`` in it, which is read once.

    With ``pairs`` of its members, their misses by each other's doing count as much as all of the record: members that
    are parted to meet others are no gain.
    """

    def __init__(
        self, profile: Profile, trace: Path, record: Layout, layouts: Layouts, pairs: Pairs = frozenset()
    ) -> None:
        """Raises ``TraceError``, and ``NotSimulated`` when the trace has nothing to say of the record."""
        here = scene(record, profile.areas, layouts)
        if not here.kinds:
            raise NotSimulated(f"the profile knows no object that is or holds a {record.title}")
        self._layouts = layouts
        self._replay = open_trace(trace, (here,))
        if not self._replay.accesses(0):
            raise NotSimulated(f"the trace has no access to any of the {here.objects} objects of {record.title}")
        self._pairs = pairs
        self._before = outcomes(self._replay, 0, unchanged(here))
        if not any(one.misses.total for one in self._before.values()):
            raise NotSimulated(f"the trace has no miss on {record.title} that another layout could save")
        self._met = self._meetings(unchanged(here)) if pairs else 0.0

    def cost(self, candidate: Candidate) -> tuple[float, float]:
        """Misses as a ratio to those now, and half the interval of the record's; raises ``NotSimulated``."""
        plan = plan_for(self._replay.scenes[0], candidate, self._layouts)
        found = run(self._replay, 0, plan, self._before, self._layouts)
        lines = max((one for one in found.lines if one.line_bytes == CACHE_LINE_BYTES), key=_phases, default=None)
        if lines is None or not lines.before.total:
            raise NotSimulated("the trace has no miss on the record that another layout could save")
        cost, spread = 1.0 + lines.change, (lines.interval.high - lines.interval.low) / 2
        return ((cost + self._meetings(plan) / self._met) / 2, spread / 2) if self._met else (cost, spread)

    def _meetings(self, plan: Plan) -> float:
        """Misses of the pairs, the mean of all places where objects could begin, here or in another build."""
        runs = [self._replay.run(0, shifted) for shifted in at_every_start(plan, self._replay.scenes[0])]
        return sum(one.local + one.remote for run in runs for one in run.pairs if self._asked(one)) / len(runs)

    def _asked(self, one: PlacePair) -> bool:
        here = self._replay.scenes[0]
        victim = here.member(one.victim_kind, one.victim_offset, self._layouts)
        return frozenset((victim, here.member(one.writer_kind, one.writer_offset, self._layouts))) in self._pairs


def _phases(lines: SimulatedLines) -> int:
    return lines.phases
