# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``perf c2c report`` would show of a run: few of its accesses, the slow loads and the stores alone.

Loads are sampled when they take longer than the threshold of ``perf c2c record`` (30 cycles), which hits in the
own cache seldom do; stores however long they take. Of the rows perf shows those with a HITM or a store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from fixes.execution import Event, Source, node_of, sources
from fixes.scenario import Kind, ScenarioError
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render

from linesmith.analyzer.model import CACHE_LINE_BYTES

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
