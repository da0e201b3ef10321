# SPDX-License-Identifier: GPL-2.0-or-later
"""What each access of a run costs: the MESI protocol over whole lines, with caches that never evict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from fixes.execution import Event, node_of

from linesmith.analyzer.model import CACHE_LINE_BYTES


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
