# SPDX-License-Identifier: GPL-2.0-or-later
"""One interleaved run of a scenario's roles, the same for every layout and every use, and what each access costs.

Each CPU repeats turns of its roles. At every moment a CPU is drawn and makes its next few accesses: as many as a
geometric distribution says, because others come between the accesses of a function, though not between all of them.
Costs are those of the MESI protocol over whole lines, with caches that never evict.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from random import Random

from fixes.scenario import Kind, Object, Role, Scenario, ScenarioError, Touch
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render

from linesmith.analyzer.model import CACHE_LINE_BYTES

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


def interleaved(scenario: Scenario, spots: Mapping[str, Spot], accesses: int = ACCESSES, seed: int = 0) -> list[Event]:
    """``accesses`` of a run; ``spots`` are those of the members by path. Scenario and seed decide everything."""
    draw = Random(f"{scenario.name} {seed}")  # noqa: S311 - a repeatable course, no secret
    roles = _by_cpu(scenario)
    course = _Course(scenario, spots, draw, defaultdict(deque))
    running = [course.turns(cpu, mine) for cpu, mine in enumerate(roles)]
    speeds = [sum(role.share for role in mine) for mine in roles]
    events: list[Event] = []
    while len(events) < accesses:
        (cpu,) = draw.choices(range(len(running)), speeds)
        events += _slice(running[cpu], draw)
    return events[:accesses]


def _slice(running: Iterator[Event | None], draw: Random) -> Iterator[Event]:
    """The next accesses of one CPU, up to where it has to wait."""
    while (event := next(running)) is not None:
        yield event
        if draw.random() < HANDOVER:
            return


def _by_cpu(scenario: Scenario) -> list[list[Role]]:
    everywhere = [role for role in scenario.role if role.cpus is None]
    mine = [[role, *everywhere] for role in scenario.role if role.cpus for _ in range(role.cpus)]
    return mine or [everywhere for _ in range(scenario.cpus)]


@dataclass(frozen=True, slots=True)
class _Course:
    """What all CPUs of a run share; ``queues`` are the CPUs that came to a lock, the one that holds it first."""

    scenario: Scenario
    spots: Mapping[str, Spot]
    draw: Random
    queues: dict[tuple[str, int], deque[int]]

    def turns(self, cpu: int, roles: Sequence[Role]) -> Iterator[Event | None]:
        """The accesses of a CPU without end; ``None`` where it gives way."""
        while True:
            (role,) = self.draw.choices(roles, [role.share for role in roles])
            target = self._object(role, cpu)
            if role.lock:
                yield from self._locked(role, cpu, target)
            else:
                yield from self._done(role.does, cpu, target)

    def _locked(self, role: Role, cpu: int, target: int) -> Iterator[Event | None]:
        """A turn under a lock that works as the queued locks of x86 do.

        Who finds it held has tried to take it, which writes its word all the same. The first in the queue looks at the
        word until it is free, and takes it.
        """
        before, taking, under = role.parts
        queue = self.queues[role.lock, target]
        yield from self._done(before, cpu, target)
        queue.append(cpu)
        if len(queue) > 1:
            yield from self._done(taking if role.waits else (), cpu, target)
            while queue[0] != cpu:
                yield from self._done(role.waits if queue[1] == cpu else (), cpu, target)
                yield None
            taking = role.taken_late
        yield from self._done(taking, cpu, target)
        yield from self._done(under, cpu, target)
        queue.popleft()
        yield None  # whoever waits may be next

    def _done(self, touches: Sequence[Touch], cpu: int, target: int) -> Iterator[Event]:
        for touch in touches:
            for _ in range(_times(touch.often, self.draw)):
                yield Event(cpu, touch.function, touch.kind, self.spots[touch.member], target)

    def _object(self, role: Role, cpu: int) -> int:
        if role.object is Object.ANY:
            return self.draw.randrange(self.scenario.objects.count)
        return cpu % self.scenario.objects.count if role.object is Object.OWN else 0


def _times(often: float, draw: Random) -> int:
    """``often`` on average: its whole part always, once more with the probability of the rest."""
    whole = int(often)
    return whole + (draw.random() < often - whole)


class Source(Enum):
    """Where an access found its line."""

    OWN = auto()
    SHARED = auto()
    MODIFIED_NEAR = auto()
    MODIFIED_FAR = auto()
    MEMORY = auto()

    @property
    def modified(self) -> bool:
        """Whether another CPU had written the line: a HITM."""
        return self in (Source.MODIFIED_NEAR, Source.MODIFIED_FAR)


@dataclass(slots=True)
class _Line:
    holders: set[int] = field(default_factory=set)
    owner: int | None = None


def sources(events: Iterable[Event], starts: Sequence[int]) -> Iterator[tuple[Event, int, Source]]:
    """Each event with its address and its source; object ``n`` begins at ``starts[n]``.

    An access that crosses a line counts on the line where it begins.
    """
    lines: dict[int, _Line] = {}
    for event in events:
        address = starts[event.object] + event.spot.offset
        line = lines.setdefault(address // CACHE_LINE_BYTES, _Line())
        yield event, address, _source(line, event.cpu)
        _touch(line, event)


def _source(line: _Line, cpu: int) -> Source:
    if cpu in line.holders:
        return Source.OWN
    if line.owner is not None:
        return Source.MODIFIED_NEAR if node_of(line.owner) == node_of(cpu) else Source.MODIFIED_FAR
    return Source.SHARED if line.holders else Source.MEMORY


def _touch(line: _Line, event: Event) -> None:
    if event.kind.writes:
        line.holders, line.owner = {event.cpu}, event.cpu
    else:
        line.owner = line.owner if line.owner == event.cpu else None
        line.holders.add(event.cpu)


def modified_loads(events: Iterable[Event], starts: Sequence[int]) -> int:
    """How many accesses that read found the line modified by another CPU."""
    return sum(source.modified for _, _, source in sources(events, starts))


# One in so many accesses that could be sampled is.
PERIOD = 10
# Hits in the own cache that take longer than the threshold: the address was not in the TLB, the port was busy.
SLOW_HITS = 0.02
# Where the kernel ran, seen from its ELF file: KASLR moves it by multiples of 2 MiB.
SLIDE = 0x0EA0_0000
CYCLES = {Source.OWN: 40, Source.SHARED: 75, Source.MODIFIED_NEAR: 140, Source.MODIFIED_FAR: 380, Source.MEMORY: 290}

Code = Mapping[tuple[str, str, Kind], int]


@dataclass(slots=True)
class _Row:
    code: int
    near: int = 0
    far: int = 0
    other: int = 0
    hits: int = 0
    misses: int = 0
    cpus: set[int] = field(default_factory=set)
    cycles: dict[Source, list[int]] = field(default_factory=lambda: defaultdict(list))

    @property
    def shown(self) -> int:
        """HITM and stores; perf leaves out rows with neither."""
        return self.near + self.far + self.hits + self.misses


def report(events: Sequence[Event], starts: Sequence[int], code: Code, seed: int = 0) -> str:
    """The text of the report; ``code`` are instructions by function, member and kind, ``seed`` chooses the samples.

    Raises ``ScenarioError`` when no line is contended.
    """
    draw = Random(seed)  # noqa: S311 - a repeatable choice of samples, no secret
    lines: dict[int, dict[tuple[int, str, int], _Row]] = defaultdict(dict)
    for event, address, source in sources(events, starts):
        place = code[event.function, event.spot.member, event.kind] + SLIDE
        rows = lines[address // CACHE_LINE_BYTES * CACHE_LINE_BYTES]
        row = rows.setdefault((address % CACHE_LINE_BYTES, event.function, place), _Row(place))
        _sample(row, event, source, draw)
    shown = [LineSpec(address, _specs(rows)) for address, rows in lines.items() if _hitm(rows.values())]
    if not shown:
        raise ScenarioError("no line is contended, so perf would show none")
    return render(ReportSpec(tuple(sorted(shown, key=lambda line: (-sum(line.totals(2)), line.address)))))


def _hitm(rows: Iterable[_Row]) -> int:
    return sum(row.near + row.far for row in rows)


def _sample(row: _Row, event: Event, source: Source, draw: Random) -> None:
    """An atomic update is both a load and a store to the hardware's counters."""
    slow = source is not Source.OWN or draw.random() < SLOW_HITS
    if event.kind is not Kind.STORE and slow and draw.random() * PERIOD < 1:
        row.near += source is Source.MODIFIED_NEAR
        row.far += source is Source.MODIFIED_FAR
        row.other += not source.modified
        row.cycles[source].append(round(CYCLES[source] * draw.uniform(0.7, 1.5)))
        row.cpus.add(event.cpu)
    if event.kind.writes and draw.random() * PERIOD < 1:
        row.hits += source is Source.OWN
        row.misses += source is not Source.OWN
        row.cpus.add(event.cpu)


def _specs(rows: Mapping[tuple[int, str, int], _Row]) -> tuple[RowSpec, ...]:
    """Rows as perf orders them: most HITM first."""
    shown = [(key, row) for key, row in rows.items() if row.shown]
    shown.sort(key=lambda pair: (-pair[1].far - pair[1].near, pair[0]))
    return tuple(_spec(offset, function, row) for (offset, function, _), row in shown)


def _spec(offset: int, function: str, row: _Row) -> RowSpec:
    others = [cycle for source, cycles in row.cycles.items() if not source.modified for cycle in cycles]
    return RowSpec(
        offset,
        (row.far, row.near, row.hits, row.misses, 0),
        row.code,
        function,
        "[kernel.kallsyms]",
        "",
        cycles=(_mean(row.cycles[Source.MODIFIED_FAR]), _mean(row.cycles[Source.MODIFIED_NEAR]), _mean(others)),
        records=row.shown + row.other,
        cpus=len(row.cpus),
        nodes=tuple(sorted({node_of(cpu) for cpu in row.cpus})),
    )


def _mean(cycles: Sequence[int]) -> int:
    return round(sum(cycles) / len(cycles)) if cycles else 0
