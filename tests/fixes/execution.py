# SPDX-License-Identifier: GPL-2.0-or-later
"""One interleaved run of a scenario's roles: the same accesses in the same order for every layout and every use.

Each CPU repeats turns of its roles. At every moment a CPU is drawn and makes its next few accesses: as many as a
geometric distribution says, because others come between the accesses of a function, though not between all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from zlib import crc32

from fixes.scenario import Kind, Object, Role, Scenario

ACCESSES = 120_000
# How likely another CPU goes on after an access.
HANDOVER = 0.3
NODES = 2
MOST_BYTES = 8


@dataclass(frozen=True, slots=True)
class Spot:
    """Bytes of the record that an access touches."""

    member: str
    offset: int
    width: int


@dataclass(frozen=True, slots=True)
class Event:
    """One access by ``cpu`` to ``spot`` of object number ``object``."""

    cpu: int
    function: str
    kind: Kind
    spot: Spot
    object: int


def node_of(cpu: int) -> int:
    """CPUs alternate between the nodes, so that every role has some on each."""
    return cpu % NODES


def interleaved(scenario: Scenario, spots: Mapping[str, Spot], accesses: int = ACCESSES) -> list[Event]:
    """``accesses`` of a run; ``spots`` are those of the members by path. The same scenario gives the same run."""
    draw = Random(crc32(scenario.name.encode()))  # noqa: S311 - a repeatable course, no secret
    roles = _by_cpu(scenario)
    running = [_turns(cpu, mine, scenario, spots, draw) for cpu, mine in enumerate(roles)]
    speeds = [sum(role.share for role in mine) for mine in roles]
    events: list[Event] = []
    while len(events) < accesses:
        (cpu,) = draw.choices(range(len(running)), speeds)
        events.append(next(running[cpu]))
        while draw.random() > HANDOVER:
            events.append(next(running[cpu]))
    return events[:accesses]


def _by_cpu(scenario: Scenario) -> list[list[Role]]:
    everywhere = [role for role in scenario.roles if role.cpus is None]
    mine = [[role, *everywhere] for role in scenario.roles if role.cpus for _ in range(role.cpus)]
    return mine or [everywhere for _ in range(scenario.cpus)]


def _turns(
    cpu: int, roles: Sequence[Role], scenario: Scenario, spots: Mapping[str, Spot], draw: Random
) -> Iterator[Event]:
    while True:
        (role,) = draw.choices(roles, [role.share for role in roles])
        target = _object(role, cpu, scenario.objects.count, draw)
        for touch in role.touches:
            for _ in range(_times(touch.often, draw)):
                yield Event(cpu, touch.function, touch.kind, spots[touch.member], target)


def _object(role: Role, cpu: int, count: int, draw: Random) -> int:
    if role.object is Object.ANY:
        return draw.randrange(count)
    return cpu % count if role.object is Object.OWN else 0


def _times(often: float, draw: Random) -> int:
    """``often`` on average: its whole part always, once more with the probability of the rest."""
    whole = int(often)
    return whole + (draw.random() < often - whole)
