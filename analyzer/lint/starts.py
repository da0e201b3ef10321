# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases objects of a record begin: by the slab caches that hold them, else by their alignment alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.layouts.alignment import record_alignment, with_inferred_alignment
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.gaps import Span, lines_touched, meet, phases
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, PhaseCount
from linesmith.analyzer.slab.allocation import Kernel, own_cache
from linesmith.analyzer.slab.starts import slab_places


@dataclass(frozen=True, slots=True)
class PhaseMeeting:
    """Two members share a line in ``met`` of the ``among`` phases that objects have, those of all ``caches`` together.

    ``share`` (0 … 1) of the objects have it in the cache that has it most. No ``caches``: objects may begin wherever
    their alignment allows.
    """

    met: int
    among: int
    share: float
    caches: tuple[str, ...] = ()

    @property
    def verb(self) -> str:
        """``shares`` where they meet in every phase, else ``can share``."""
        return "shares" if self.met == self.among else "can share"

    @property
    def clause(self) -> str:
        """`` in 3 of 8 phases of ext4_inode_cache``, empty where they meet in all of them."""
        if self.met == self.among:
            return ""
        of = "".join(f" of {one}" for one in self.caches)
        if len(self.caches) > 1:
            of = f" of its {len(self.caches)} caches"
        return f" in {self.met} of {self.among} phases{of}"


@dataclass(frozen=True, slots=True)
class Starts:
    """The ``phases`` (modulo ``line_bytes``) of the objects of one cache, with how many of a slab have each."""

    line_bytes: int
    phases: tuple[PhaseCount, ...]
    cache: str = ""

    def meeting_phases(self, first: Span, second: Span) -> frozenset[int]:
        """The phases in which a byte of ``first`` and one of ``second`` are on one line."""
        return frozenset(one.phase for one in self.phases if meet(first, second, self.line_bytes, one.phase))

    def share(self, met: frozenset[int]) -> float:
        """How many of the objects begin in one of these phases, 0 … 1."""
        return sum(one.objects for one in self.phases if one.phase in met) / sum(one.objects for one in self.phases)

    def lines(self, span: Span) -> int:
        """The most lines that the span lies on in any phase."""
        return max(len(lines_touched(span.offset + one.phase, span.size, self.line_bytes)) for one in self.phases)


class KnownStarts:
    """The starts of the records of one build, each worked out when it is first asked for: rule after rule asks.

    ``containment`` are the records that slab caches of the ``kernel`` serve, and what these hold; without a kernel
    objects come from no slabs.
    """

    def __init__(self, containment: Containment, kernel: Kernel | None) -> None:
        self._containment = containment
        self._kernel = kernel
        self._known: dict[tuple[int, int], tuple[Layout, tuple[Starts, ...]]] = {}

    def of(self, layout: Layout, line_bytes: int = CACHE_LINE_BYTES) -> tuple[Starts, ...]:
        """One for each cache that is known to hold such objects, alone or in others, by name; else one for all starts.

        Another order of a record's members has its id, too.
        """
        known = self._known.get((layout.id, line_bytes))
        if known is None or known[0] is not layout:
            known = self._known[layout.id, line_bytes] = layout, self._computed(layout, line_bytes)
        return known[1]

    def _computed(self, layout: Layout, line_bytes: int) -> tuple[Starts, ...]:
        found: dict[str, Counter[int]] = {}
        if self._kernel is not None:
            # That kmalloc() may serve a record is no knowledge of where its objects begin.
            own = own_cache(layout, self._kernel) is not None
            for place in slab_places(layout, self._containment, self._kernel):
                if place.path or own:
                    served = place.phases if line_bytes == CACHE_LINE_BYTES else place.pair_phases
                    counted = found.setdefault(place.cache.name, Counter())
                    counted.update({one.phase: one.objects for one in served})
        if found:
            return tuple(Starts(line_bytes, _counts(found[name]), name) for name in sorted(found))
        granule = record_alignment(with_inferred_alignment(layout))
        return (Starts(line_bytes, _counts(Counter(phases(granule, line_bytes)))),)


def meeting(all_starts: Sequence[Starts], first: Span, second: Span) -> PhaseMeeting:
    """How two members of one object meet in all the places where such objects are."""
    among = len({phase.phase for one in all_starts for phase in one.phases})
    caches = tuple(one.cache for one in all_starts if one.cache)
    line_bytes = all_starts[0].line_bytes
    ends = first.offset + first.size, second.offset + second.size
    if max(first.offset - ends[1], second.offset - ends[0]) >= line_bytes:
        return PhaseMeeting(0, among, 0.0, caches)
    met = [one.meeting_phases(first, second) for one in all_starts]
    share = max(one.share(known) for one, known in zip(all_starts, met, strict=True))
    return PhaseMeeting(len(frozenset[int]().union(*met)), among, share, caches)


def _counts(counted: Counter[int]) -> tuple[PhaseCount, ...]:
    return tuple(PhaseCount(phase, counted[phase]) for phase in sorted(counted))


def most_lines(all_starts: Sequence[Starts], span: Span) -> int:
    """The most lines that the span lies on in any phase; offsets alone tell where phases are not known."""
    known = (one.lines(span) for one in all_starts if one.cache)
    return max(known, default=len(lines_touched(span.offset, span.size)))
