# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs that judge every change of one record: a recorded trace, or runs reconstructed from samples.

Each run is replayed as it was and under the change. What counts is the net: misses on all lines on which objects of
the record lie, with the members around it, the objects next to it and the memory between them. Where the allocator
decides at which byte of a line an object begins, a change is judged in all places that it may get.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Interval, JudgedLine, JudgedPair, Judgement, Layout
from linesmith.tuner.replay.plan import KindPlan, ReplayPlan, in_all_phases, relaid, unchanged
from linesmith.tuner.replay.replayer import Replay, Windows, change_interval
from linesmith.tuner.replay.scene import TraceScene

# Lines and pairs of members that a judgement lists, those with the largest difference.
MOST_LINES = 4
MOST_PAIRS = 5
# Members of a line that are named.
MOST_NAMED = 4
# A line or a pair whose misses change by less than this share of all is not worth a row.
LEAST_CHANGE = 0.005
# By how much a predicted change is off beyond what the draws show, as standard deviations: a part, and a part of the
# change (docs/replay.md).
MODEL_ERROR, MODEL_ERROR_SHARE = 0.06, 0.2
# From the middle to an end of 80 % of a normal distribution, in standard deviations.
EIGHTY = 1.2816
# What a search replays of runs to see which layouts are worth all of them: so many, a single one in so many phases.
SKETCHED_RUNS = 6
SKETCHED_PHASES = 2

PlanOf = Callable[[TraceScene], ReplayPlan]
# Kind and byte of an object in the layout as it is.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ReplayedLayout:
    """Misses under a plan: by run and window, by the place that misses, and by pairs of places with true sharing.

    Counts by place are means over the runs. ``plan`` is that of the first run.
    """

    plan: ReplayPlan
    windows: Windows
    pairs: Mapping[tuple[Place, Place, bool], float]

    @property
    def total(self) -> float:
        """Misses of a run on average."""
        return sum(map(sum, self.windows)) / len(self.windows)


class RecordRuns:
    """Runs of the objects that hold a record: each a replay, and the number of the record's scene in it.

    ``whole`` is all that the profile counts, on every line.
    """

    def __init__(
        self,
        runs: Sequence[tuple[Replay, int]],
        layouts: Layouts,
        counted: float | None,
        whole: float,
        line_bytes: int = CACHE_LINE_BYTES,
    ) -> None:
        """``counted`` is what the profile counts of the record; ``None``: misses are reported as the run has them."""
        self._runs, self.replay = tuple(runs), runs[0][0]
        self.layouts = layouts
        self._whole = whole
        self._line_bytes = line_bytes
        self._names: dict[Place, str] = {}
        self.here = runs[0][0].scenes[runs[0][1]]
        self.phases = len(in_all_phases(unchanged(self.here), self.here))
        self.now = self.under(unchanged)
        self._scale = 1.0 if counted is None or not self.now.total else counted / self.now.total

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of each CPU."""
        return self.replay.nodes

    @property
    def complete(self) -> bool:
        """Whether all accesses are in the runs: a trace has them, samples do not."""
        return len(self._runs) == 1

    def under(self, plan_of: PlanOf) -> ReplayedLayout:
        """All runs under a plan; raises ``NotSimulated`` where an object cannot have it."""
        return self._under(plan_of, len(self._runs), self.phases)

    def _planned(
        self, plan_of: PlanOf, most: int, phases: int
    ) -> Iterator[tuple[Replay, int, ReplayPlan, tuple[ReplayPlan, ...]]]:
        """``most`` of the runs: the number of the scene, its plan, and that in the phases to replay."""
        for at, (replay, number) in enumerate(self._runs[:most]):
            here = replay.scenes[number]
            plan = plan_of(here)
            plans = in_all_phases(plan, here) if self.phases > 1 else (plan,)
            plans = plans[:: max(1, len(plans) // phases)]
            # Of many runs each has the objects in one phase.
            yield replay, number, plan, plans if min(most, len(self._runs)) == 1 else (plans[at % len(plans)],)

    def _under(self, plan_of: PlanOf, most: int, phases: int) -> ReplayedLayout:
        rows, sums = [], defaultdict[tuple[Place, Place, bool], float](float)
        planned = tuple(self._planned(plan_of, most, phases))
        for replay, number, _, plans in planned:
            outcomes = [replay.run(number, one, self._line_bytes) for one in plans]
            part = 1 / len(outcomes)
            rows.append(tuple(part * sum(each) for each in zip(*(one.windows for one in outcomes), strict=True)))
            for one in (pair for outcome in outcomes for pair in outcome.pairs):
                key = (one.victim_kind, one.victim_offset), (one.writer_kind, one.writer_offset), one.true_sharing
                sums[key] += part * (one.local + one.remote) / len(planned)
        return ReplayedLayout(planned[0][2], tuple(rows), sums)

    def sketch(self, after: Mapping[int, Layout]) -> ReplayedLayout:
        """Some of the runs, in some of the phases, with the layout ``after`` of each record whose id is a key.

        Raises ``NotSimulated`` where an object cannot have it.
        """
        return self._under(lambda here: relaid(here, after, self.layouts), SKETCHED_RUNS, SKETCHED_PHASES)

    def sketched_total(self, after: Mapping[int, Layout]) -> float:
        """The total of the same sketch, in a part of the time."""
        planned = self._planned(lambda here: relaid(here, after, self.layouts), SKETCHED_RUNS, SKETCHED_PHASES)
        rows = [[replay.misses(number, one, self._line_bytes) for one in plans] for replay, number, _, plans in planned]
        return sum(sum(row) / len(row) for row in rows) / len(rows)

    def under_candidate(self, candidate: Candidate) -> ReplayedLayout:
        """All runs with the candidate's layout; raises ``NotSimulated``."""
        return self.under(lambda here: relaid(here, {candidate.before.id: candidate.after}, self.layouts))

    def judgement(self, then: ReplayedLayout) -> Judgement:
        """What a layout does to the misses."""
        now, scale = self.now, self._scale
        whole = max(self._whole, now.total * scale)
        interval = change_interval(now.windows, then.windows)
        if len(self._runs) > 1 and now.total:
            interval = widened(interval, (then.total - now.total) / now.total)
        return Judgement(
            now.total * scale,
            then.total * scale,
            interval,
            whole,
            tuple(self._lines(then)),
            tuple(self._pairs(then)),
            len(self._runs),
            self.phases,
            self._line_bytes,
            self.here.objects,
            sum(replay.accesses(number) for replay, number in self._runs),
            tuple(self._remarks()),
        )

    def _name(self, place: Place) -> str:
        if place not in self._names:
            self._names[place] = self.here.member(*place, self.layouts)
        return self._names[place]

    def _scale_of_pairs(self, layout: ReplayedLayout) -> float:
        """By what misses of pairs are multiplied, so that they add up to all: a profile counts misses after a store, a
        run also stores that take the line back. Those of a trace with a change are counted as those without, and those
        in the memory between objects are not of the record.
        """
        basis, kinds = self.now if self.complete else layout, len(self.here.kinds)
        beside = sum(count for (one, by, _), count in basis.pairs.items() if min(one[0], by[0]) >= kinds)
        after_store = sum(basis.pairs.values()) - beside
        return self._scale * (basis.total - beside) / after_store if after_store else self._scale

    def _pairs(self, then: ReplayedLayout) -> Iterator[JudgedPair]:
        """The pairs of members whose misses differ most."""
        sums = [defaultdict[tuple[str, str, bool], float](float) for _ in range(2)]
        for side, layout in zip(sums, (self.now, then), strict=True):
            for (victim, writer, own), count in layout.pairs.items():
                side[self._name(victim), self._name(writer), own] += count
        old, new = sums
        was, now = map(self._scale_of_pairs, (self.now, then))
        # Of the runs: what no change touches has other figures only where the scales differ.
        least = LEAST_CHANGE * self.now.total
        differ = sorted(old.keys() | new.keys(), key=lambda key: (-abs(old[key] - new[key]), key))
        shown = [key for key in differ[:MOST_PAIRS] if abs(old[key] - new[key]) > least]
        # True and false sharing of two members add up to what they have in the profile.
        shown += [key for key in differ if key not in shown and (*key[:2], not key[2]) in shown]
        for key in shown:
            yield JudgedPair(*key, old[key] * was, new[key] * now)

    def _lines(self, then: ReplayedLayout) -> Iterator[JudgedLine]:
        """What lies on one line with the change, where the misses of it differ most, and where they grow most."""
        old, new = (_by_victim(one.pairs) for one in (self.now, then))
        was, now = map(self._scale_of_pairs, (self.now, then))
        groups: dict[tuple[str, int], dict[str, tuple[float, float]]] = defaultdict(dict)
        for place in old.keys() | new.keys():
            line = groups[self._line(place, then.plan)]
            before, after = line.get(self._name(place), (0.0, 0.0))
            line[self._name(place)] = before + old[place] * was, after + new[place] * now
        found = []
        for members in groups.values():
            names = sorted(members, key=lambda name: (-max(members[name]), name))
            before, after = (sum(one[side] for one in members.values()) for side in (0, 1))
            found.append(JudgedLine(tuple(names[:MOST_NAMED]), before, after))
        least = LEAST_CHANGE * self.now.total * self._scale
        ranked = sorted(found, key=lambda one: -abs(one.before - one.after))
        ranked = [one for one in ranked if abs(one.before - one.after) > least]
        shown, grown = ranked[:MOST_LINES], [one for one in ranked if one.after > one.before][:1]
        yield from shown if not grown or grown[0] in shown else (*shown[:-1], *grown)

    def _line(self, place: Place, plan: ReplayPlan) -> tuple[str, int]:
        """The line on which a byte comes to lie in the first object of its kind: of the object, or next to them all."""
        number, offset = place
        if number >= len(plan.kinds):
            return "", 0
        kind, moved = self.here.kinds[number], plan.kinds[number]
        start = kind.areas[0].address if moved.placement is None else moved.placement.first
        return kind.outer.name, (start % self._line_bytes + _moved_to(offset, moved)) // self._line_bytes

    def _remarks(self) -> Iterator[str]:
        """What makes the numbers doubtful, as sentences."""
        counts = self.replay.counts
        if counts.dropped:
            share = counts.dropped / (counts.dropped + counts.kept)
            yield f"the trace was full before the end: the last {share:.1%} of its accesses are missing"
        if self.here.doubtful:
            names = ", ".join(self.here.doubtful)
            yield f"taken as objects of one type, though other types may be among them: {names}"
        if self.replay.untraced:
            yield f"{self.replay.untraced:,} accesses to lines beyond the first 25 million are not among all misses"


def widened(of_draws: Interval, change: float) -> Interval:
    """The 80 % interval of a predicted ``change`` of a record's misses, ``of_draws`` being that of the draws.

    All draws come of one model of how functions work together, which is not quite right either. Where no draw changes
    at all, no byte that matters moves.
    """
    if of_draws.low == of_draws.high == 0:
        return of_draws
    middle, half = (of_draws.low + of_draws.high) / 2, (of_draws.high - of_draws.low) / 2
    half = hypot(half, EIGHTY * (MODEL_ERROR + MODEL_ERROR_SHARE * abs(change)))
    return Interval(max(middle - half, -1.0), middle + half)


def _by_victim(pairs: Mapping[tuple[Place, Place, bool], float]) -> dict[Place, float]:
    found = defaultdict[Place, float](float)
    for (victim, _, _), count in pairs.items():
        found[victim] += count
    return found


def _moved_to(offset: int, plan: KindPlan) -> int:
    """Where a byte of an object goes."""
    at = bisect_right(plan.pieces, offset, key=lambda piece: piece.old) - 1
    if at < 0:
        return offset
    piece = plan.pieces[at]
    return offset - piece.old + piece.new if offset < piece.old + piece.size else offset + plan.tail
