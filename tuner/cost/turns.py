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

from linesmith.tuner.cost.uses import Agent, Use


@dataclass(frozen=True, slots=True)
class Turns:
    """The ``agents`` of a record, whose parts lie at ``uses``; ``scale`` turns fetches into contended samples."""

    uses: tuple[Use, ...]
    agents: tuple[Agent, ...]
    scale: float = 1.0
    _known: dict[tuple[int, ...], float] = field(default_factory=dict, compare=False, repr=False)

    def waits(self, starts: Sequence[int], phases: Iterable[tuple[int, float]], line_bytes: int) -> float:
        """Contended samples of objects with these phases, each with its share of the objects.

        ``starts`` are bytes in the object by member position.
        """
        places = [use.start if use.position is None else starts[use.position] + use.start for use in self.uses]
        return sum(share * self._on([(at + phase) // line_bytes for at in places]) for phase, share in phases)

    def _on(self, lines: Sequence[int]) -> float:
        """The same for uses that lie on these lines: it matters only who is with whom."""
        first: dict[int, int] = {}
        key = tuple(first.setdefault(line, place) for place, line in enumerate(lines))
        if key not in self._known:
            self._known[key] = self.scale * fetches(self.agents, key)
        return self._known[key]


def fetches(agents: Sequence[Agent], lines: Sequence[int]) -> float:
    """Turns in which agents have to fetch a line; ``lines`` are those of the uses."""
    users: dict[int, list[tuple[int, float, float]]] = {}
    for agent in agents:
        for line, (turns, stores) in _turns(agent, lines).items():
            users.setdefault(line, []).append((agent.cpus, turns, stores))
    return sum(_fetched(using) for using in users.values())


def _turns(agent: Agent, lines: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Turns in which the agent touches each line, and in which it stores there.

    Of all parts on a line only the first one that a turn touches waits; so waits add up, and stores do not.
    """
    found: dict[int, list[float]] = {}
    for part in agent.parts:
        line = found.setdefault(lines[part.use], [0.0, 0.0, 0.0])
        line[0] += part.waits
        line[1] = max(line[1], part.stores)
        line[2] = max(line[2], part.reads)
    return {line: (max(waits, stores, reads), stores) for line, (waits, stores, reads) in found.items()}


def _fetched(users: Sequence[tuple[int, float, float]]) -> float:
    """Fetches of one line: on each CPU, turns before which another CPU has stored."""
    stored = sum(stores for _, _, stores in users)
    found = 0.0
    for cpus, turns, stores in users:
        others = stored - stores / cpus
        if others > 0:
            found += turns * others / (others + turns / cpus)
    return found
