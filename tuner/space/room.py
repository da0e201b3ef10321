# SPDX-License-Identifier: GPL-2.0-or-later
"""What a record has no room for: alignments that are out of the question because it may not grow."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry.placement import round_up
from linesmith.analyzer.model import CACHE_LINE_BYTES, Move, MoveKind
from linesmith.tuner.space.companies import hottest
from linesmith.tuner.space.composition import Choice, composed
from linesmith.tuner.space.dimensions import MOST_ALIGNED
from linesmith.tuner.space.hot_record import HotRecord


def room_wanted(record: HotRecord, growth: int) -> tuple[str, int] | None:
    """The hot member that could begin a cache line if the record grew by so many bytes, the fewest that any needs.

    ``None`` where alignments are searched, as a record that is ``growth`` bytes larger can be of whole lines, and where
    none would help.
    """
    size = record.subject.layout.size
    if round_up(size, CACHE_LINE_BYTES) <= size + growth:
        return None
    return min(_needed(record), key=lambda one: one[1], default=None)


def _needed(record: HotRecord) -> Iterator[tuple[str, int]]:
    """The bytes that each alignment to a line takes which the space would have, were there room."""
    target = record.subject
    for atom in hottest(record)[:MOST_ALIGNED] if target.may_resize else ():
        name = target.parts[atom].members[0].name
        choice = Choice(f"{CACHE_LINE_BYTES} bytes", (Move(MoveKind.ALIGN, name, align=CACHE_LINE_BYTES),))
        try:
            option = composed(target, [choice], growth=1 << 20)
        except NothingToSuggest:
            continue
        if option.arrangement.aligned:
            yield name, option.size - target.layout.size
