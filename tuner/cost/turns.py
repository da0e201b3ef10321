# SPDX-License-Identifier: GPL-2.0-or-later
"""Who needs which lines of an object in turn, and how often somebody else has stored there in between.

A function that runs on several CPUs touches some members in each of its turns. It has to fetch a line once in a turn,
however many of its members lie there, if another CPU has stored to that line since its last turn. So members that one
turn touches together cost less on one line if others write them anyway, and a member that is only read costs nothing
on a line of its own. Pairs of members cannot tell the one from the other; functions can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from linesmith.tuner.cost.conflict import Cost
from linesmith.tuner.cost.uses import Agent, Use


@dataclass(frozen=True, slots=True)
class Turns:
    """The ``agents`` of a record, whose parts lie at ``uses``; ``scale`` turns fetches into contended samples.

    ``counted`` is what contacts and what turns cost in the layout as it is, for a recording, which counts contacts.
    """

    uses: tuple[Use, ...]
    agents: tuple[Agent, ...]
    scale: float = 1.0
    counted: tuple[Cost, Cost] | None = None
    _known: dict[int, float] = field(default_factory=dict, compare=False, repr=False)

    def waits(self, starts: Sequence[int], phases: Iterable[int], line_bytes: int) -> dict[int, float]:
        """Contended samples by phase; ``starts`` are bytes in the object by member position."""
        places = [use.start if use.position is None else starts[use.position] + use.start for use in self.uses]
        return {phase: self._in_phase(places, phase, line_bytes) for phase in phases}

    def _in_phase(self, places: Sequence[int], phase: int, line_bytes: int) -> float:
        """The same in one phase, for uses at bytes ``places`` of the object: it matters only who is with whom."""
        together: dict[int, int] = {}
        bit = 1
        for place in places:
            line = (place + phase) // line_bytes
            together[line] = together.get(line, 0) | bit
            bit <<= 1
        return sum([self.on_line(uses) for uses in together.values()])

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
