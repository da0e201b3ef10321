# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases objects of a record begin: by the slab caches that hold them, else by their alignment alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linesmith.analyzer.geometry import Span, lines_touched, meet, meeting_share, phases
from linesmith.analyzer.geometry.inference import record_alignment, with_inferred_alignment
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, PhaseCount, SlabPlace
from linesmith.analyzer.rules.rule import Side
from linesmith.analyzer.slab import own_cache, slab_places


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two members share a line in ``met`` of ``among`` phases, which is ``share`` (0 … 1) of the objects of ``cache``.

    No ``cache``: objects may begin wherever their alignment allows.
    """

    met: int
    among: int
    share: float
    cache: str = ""

    @property
    def verb(self) -> str:
        """``shares`` where they meet in every phase, else ``can share``."""
        return "shares" if self.met == self.among else "can share"

    @property
    def clause(self) -> str:
        """`` in 3 of 8 phases of ext4_inode_cache``, empty where there is one phase and they meet in it."""
        of = f" of {self.cache}" if self.cache else ""
        return f" in {self.met} of {self.among} phases{of}" if self.among > 1 else ""


@dataclass(frozen=True, slots=True)
class Starts:
    """The ``phases`` (modulo ``line_bytes``) of the objects of one cache, with how many of a slab have each."""

    line_bytes: int
    phases: tuple[PhaseCount, ...]
    cache: str = ""

    def meeting(self, first: Span, second: Span) -> Meeting:
        """In how many phases a byte of ``first`` and one of ``second`` are on one line."""
        weights = {one.phase: float(one.objects) for one in self.phases}
        met = sum(meet(first, second, self.line_bytes, phase) for phase in weights)
        return Meeting(met, len(weights), meeting_share(first, second, self.line_bytes, weights), self.cache)

    def lines(self, span: Span) -> int:
        """The most lines that the span lies on in any phase."""
        return max(len(lines_touched(span.offset + one.phase, span.size, self.line_bytes)) for one in self.phases)


def starts(layout: Layout, side: Side, line_bytes: int = CACHE_LINE_BYTES) -> tuple[Starts, ...]:
    """One for each cache that is known to hold such objects, alone or in others, by name; else one for all starts."""
    found = {
        place.cache.name: Starts(line_bytes, _phases(place, line_bytes), place.cache.name)
        for place in _places(layout, side)
    }
    if found:
        return tuple(found[name] for name in sorted(found))
    granule = record_alignment(with_inferred_alignment(layout))
    return (Starts(line_bytes, tuple(PhaseCount(phase, 1) for phase in phases(granule, line_bytes))),)


def worst_meeting(all_starts: Iterable[Starts], first: Span, second: Span) -> Meeting:
    """The meeting in the cache where most objects have it."""
    return max((one.meeting(first, second) for one in all_starts), key=lambda one: one.share)


def most_lines(layout: Layout, side: Side, span: Span) -> int:
    """The most lines that the span lies on in any phase; offsets alone tell where phases are not known."""
    every = [one for one in starts(layout, side) if one.cache]
    return max((one.lines(span) for one in every), default=len(lines_touched(span.offset, span.size)))


def _places(layout: Layout, side: Side) -> tuple[SlabPlace, ...]:
    """The known ones: that kmalloc() may serve a record is no knowledge of where its objects begin."""
    if not side.slabs:
        return ()
    own = own_cache(layout, side.kernel) is not None
    return tuple(one for one in slab_places(layout, side.containment, side.kernel) if one.path or own)


def _phases(place: SlabPlace, line_bytes: int) -> tuple[PhaseCount, ...]:
    return place.phases if line_bytes == CACHE_LINE_BYTES else place.pair_phases
