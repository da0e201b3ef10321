# SPDX-License-Identifier: GPL-2.0-or-later
"""Who needs which lines of an object in turn, and how often somebody else has stored there in between.

A function that runs on several CPUs touches some members in each of its turns. It has to fetch a line once in a turn,
however many of its members lie there, if another CPU has stored to that line since its last turn. So members that one
turn touches together cost less on one line if others write them anyway, and a member that is only read costs nothing
on a line of its own. Pairs of members cannot tell the one from the other; functions can. So the contended samples that
a layout is expected to have are those of the functions' turns, and those of pairs where a profile names no functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from linesmith.analyzer.model import CoAccess, Finding, TypeAccesses
from linesmith.tuner.cost.heat import RecordHeat
from linesmith.tuner.cost.meetings import Cost, Placed, cost, hot_lines, share_together
from linesmith.tuner.cost.phases import PhaseMix
from linesmith.tuner.cost.uses import Agent, MovableRecord, UsedBytes, agents

# Functions that a profile must name to tell those who write from those who read.
LEAST_AGENTS = 2
# Functions whose lines are counted, those sampled most.
MOST_FUNCTIONS = 8


@dataclass(frozen=True, slots=True)
class LineFetches:
    """The ``agents`` of a record, whose parts lie at ``uses``; ``scale`` turns fetches into contended samples.

    ``counted`` is what contacts and what turns cost in the layout as it is, for a recording, which counts contacts.
    """

    uses: tuple[UsedBytes, ...]
    agents: tuple[Agent, ...]
    scale: float = 1.0
    counted: tuple[Cost, Cost] | None = None
    _known: dict[int, float] = field(default_factory=dict, compare=False, repr=False)

    def waits(self, starts: Sequence[int], phases: Iterable[int], line_bytes: int) -> dict[int, float]:
        """Contended samples by phase; ``starts`` are bytes in the object by member position."""
        places = [use.start if use.position is None else starts[use.position] + use.start for use in self.uses]
        found = {}
        for phase in phases:
            together: dict[int, int] = {}
            for number, place in enumerate(places):
                line = (place + phase) // line_bytes
                together[line] = together.get(line, 0) | 1 << number
            found[phase] = sum([self.on_line(uses) for uses in together.values()])
        return found

    def on_line(self, uses: int) -> float:
        """What one line costs; ``uses`` has a bit for each that lies there."""
        found = self._known.get(uses)
        if found is None:
            users = [using for agent in self.agents if (using := _turns(agent, uses)) is not None]
            found = self._known[uses] = self.scale * _fetched(users)
        return found


def _turns(agent: Agent, uses: int) -> tuple[int, float, float] | None:
    """CPUs of an agent, turns in which it touches a line, and turns in which it stores there.

    Of all parts on a line only the first one that a turn touches waits; so waits add up, and stores do not.
    """
    parts = [part for part in agent.parts if uses >> part.use & 1]
    if not parts:
        return None
    stores = max(part.stores for part in parts)
    turns = max(sum(part.waits for part in parts), stores, max(part.reads for part in parts))
    return agent.cpus, turns, stores


def _fetched(users: Sequence[tuple[int, float, float]]) -> float:
    """Fetches of one line: on each CPU, turns before which another CPU has stored."""
    stored = sum(stores for _, _, stores in users)
    found = 0.0
    for cpus, turns, stores in users:
        others = stored - stores / cpus
        if others > 0:
            found += turns * others / (others + turns / cpus)
    return found


def co_access(placed: Placed) -> tuple[CoAccess, ...]:
    """The functions sampled most on two or more members, with the lines they touch on average over all phases."""
    samples: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for line in placed.heat.lines:
        for function, member, count in line.functions:
            samples[function][member] += count
    found = [(function, counts) for function, counts in samples.items() if len(counts) > 1]
    found.sort(key=lambda one: (-sum(one[1].values()), one[0]))
    lines = partial(hot_lines, placed.heat, placed.starts, placed.mix)
    return tuple(
        CoAccess(function, tuple(counts), float(sum(counts.values())), lines(counts))
        for function, counts in found[:MOST_FUNCTIONS]
    )


def turns_of(
    lines: Sequence[Finding], scope: MovableRecord, heat: RecordHeat, code: TypeAccesses | None
) -> LineFetches | None:
    """The turns on all ``lines`` of a record, on the scale of their contended samples as the record is now.

    ``None`` where the profile does not tell who writes and who reads: one function may be both on different CPUs.
    """
    uses, found = agents(lines, scope, code)
    if len(found) < LEAST_AGENTS:
        return None
    raw = LineFetches(uses, found)
    now = _mean(raw, scope.starts, heat, heat.here(heat.granule))[0]
    contended = sum(line.cost.contended or line.contended for line in lines)
    if now <= 0 or not contended:
        return None
    turns = LineFetches(uses, found, contended / now)
    if not heat.exact:
        return turns
    counted = _counted(heat, scope.starts, heat.granule, 0), _by_turns(heat, turns, scope.starts, heat.granule, 0)
    return replace(turns, counted=counted)


def forecast(heat: RecordHeat, turns: LineFetches | None, starts: Sequence[int], granule: int, growth: int = 0) -> Cost:
    """The cost of members that begin at bytes ``starts`` of the object (by position in the layout).

    Objects are aligned to ``granule`` and ``growth`` bytes larger than they are now.
    """
    if turns is None:
        return _counted(heat, starts, granule, growth)
    expected = _by_turns(heat, turns, starts, granule, growth)
    if turns.counted is None:
        return expected
    (pairs, now), then = turns.counted, _counted(heat, starts, granule, growth)
    return Cost(
        now.here - _saved(pairs.here - then.here, now.here - expected.here),
        now.anywhere - _saved(pairs.anywhere - then.anywhere, now.anywhere - expected.anywhere),
    )


def _counted(heat: RecordHeat, starts: Sequence[int], granule: int, growth: int) -> Cost:
    """By pairs of members, with what those who stay would take over from those who leave."""
    pairs = cost(heat, starts, granule, growth)
    if not heat.exact:
        return pairs
    here, anywhere = heat.here(granule, growth), heat.mix(granule, growth)
    return Cost(pairs.here + heat.takeover.of(starts, here), pairs.anywhere + heat.takeover.of(starts, anywhere))


def _saved(counted: float, by_turns: float) -> float:
    """Of a recording the misses between members are counted: that is what goes, if turns say that something does.

    Else the worse of the two.
    """
    return counted if min(counted, by_turns) > 0 else min(counted, by_turns)


def _by_turns(heat: RecordHeat, turns: LineFetches, starts: Sequence[int], granule: int, growth: int) -> Cost:
    mixes = heat.here(granule, growth), heat.mix(granule, growth)
    here, anywhere = _mean(turns, starts, heat, *mixes)
    return Cost(here + _held(heat, starts, mixes[0]), anywhere + _held(heat, starts, mixes[1]))


def _held(heat: RecordHeat, starts: Sequence[int], mix: PhaseMix) -> float:
    """What is waited because a lock's holder waits for its neighbours: no turn tells, the contacts with it do."""
    if not heat.waited_for:
        return 0.0
    return sum(
        one.weight * share_together(one, starts, mix, heat.line_bytes)
        for one in heat.sampled
        if not heat.waited_for.isdisjoint(one.names)
    )


def _mean(turns: LineFetches, starts: Sequence[int], heat: RecordHeat, *mixes: PhaseMix) -> list[float]:
    """What is waited in the phases of each mix, by their shares."""
    phases = [mix.phases(heat.line_bytes) for mix in mixes]
    waits = turns.waits(starts, {phase for mix in phases for phase, _ in mix}, heat.line_bytes)
    return [sum(share * waits[phase] for phase, share in mix) for mix in phases]
