# SPDX-License-Identifier: GPL-2.0-or-later
"""What a record has no room for: alignments that are out of the question because it may not grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry.placement import round_up
from linesmith.analyzer.model import CACHE_LINE_BYTES, Move, MoveKind
from linesmith.tuner.search import Option
from linesmith.tuner.space.companies import hottest
from linesmith.tuner.space.composition import Choice, composed
from linesmith.tuner.space.dimensions import MOST_ALIGNED, MOST_GROWTH
from linesmith.tuner.space.hot_record import HotRecord
from linesmith.tuner.subject import Subject


@dataclass(frozen=True, slots=True)
class Room:
    """``member`` could begin a cache line if ``record`` grew by so many ``bytes``: the one searched, or a holder."""

    member: str
    record: str
    bytes: int

    def told(self, searched: str, growth: int) -> str:
        """Why no alignment of the record ``searched``, which may grow by ``growth`` bytes, was looked at."""
        held, of_holder = ("", "") if self.record == searched else (" and what holds it", f" of {self.record}")
        allowed = f"may grow by no more than {growth} bytes" if growth else "may not grow"
        place = f"{self.member} at the start of a line takes {self.bytes} bytes more{of_holder}"
        return f"no alignment was searched, for {searched}{held} {allowed}: {place} (growth = {self.bytes} in [search])"


def room_wanted(record: HotRecord, growth: int) -> Room | None:
    """The hot member that takes the fewest bytes more to begin a cache line.

    ``None`` where alignments are searched, as a record that is ``growth`` bytes larger can be of whole lines and what
    holds it has room for them, and where none would help.
    """
    target = record.subject
    if target.grown(round_up(target.layout.size, CACHE_LINE_BYTES), CACHE_LINE_BYTES) <= growth:
        return None
    return min(_needed(record), key=lambda one: one.bytes, default=None)


def _needed(record: HotRecord) -> Iterator[Room]:
    """What each alignment to a line takes which the space would have, were there room."""
    target = record.subject
    for atom in hottest(record)[:MOST_ALIGNED] if target.may_resize else ():
        name = target.parts[atom].members[0].name
        choice = Choice(f"{CACHE_LINE_BYTES} bytes", (Move(MoveKind.ALIGN, name, align=CACHE_LINE_BYTES),))
        try:
            option = composed(target, [choice], growth=MOST_GROWTH)
        except NothingToSuggest:
            continue
        if option.arrangement.aligned:
            yield _room(target, name, option)


def _room(target: Subject, member: str, option: Option) -> Room:
    more = option.size - target.layout.size
    largest = target.holders.largest(option.granule, more)
    if largest is None or largest.after - largest.before <= more:
        return Room(member, target.title, more)
    return Room(member, largest.record, largest.after - largest.before)
