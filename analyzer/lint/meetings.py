# SPDX-License-Identifier: GPL-2.0-or-later
"""Where objects of a record begin in their lines, which members can meet there, and in how many of the objects.

Objects begin where the slab caches that hold them let them, else where their alignment does. ``pads`` are arrays that
only take room, so that what is in front of them and what is behind lie on different lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.gaps import (
    Span,
    line_of,
    lines_touched,
    meet,
    phases,
    record_alignment,
    with_inferred_alignment,
)
from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member, PhaseCount, RecordKind
from linesmith.analyzer.slab.allocation import Kernel, own_cache
from linesmith.analyzer.slab.starts import slab_places

# A pad of another kind holds data: scratch_pad, one_time_pad, key_pad.
_OTHER = r"(?!(\w*_)?(scratch|time|key|note|touch)_pad)"
_NAME = re.compile(rf"_*{_OTHER}(\w+_)?pad(ding)?_?\d*_*", re.IGNORECASE | re.ASCII)
# Fewer bytes stand for what a format reserves more often than for the rest of a line.
_LEAST_BYTES = 16
# Nesting of what somebody names is flat; damaged debug information may go round.
MOST_LEVELS = 16


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
class CachePhases:
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
        self._known: dict[tuple[int, int], tuple[Layout, tuple[CachePhases, ...]]] = {}

    def of(self, layout: Layout, line_bytes: int = CACHE_LINE_BYTES) -> tuple[CachePhases, ...]:
        """One for each cache that is known to hold such objects, alone or in others, by name; else one for all starts.

        Another order of a record's members has its id, too.
        """
        known = self._known.get((layout.id, line_bytes))
        if known is None or known[0] is not layout:
            known = self._known[layout.id, line_bytes] = layout, self._computed(layout, line_bytes)
        return known[1]

    def _computed(self, layout: Layout, line_bytes: int) -> tuple[CachePhases, ...]:
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
            return tuple(CachePhases(line_bytes, _counts(found[name]), name) for name in sorted(found))
        granule = record_alignment(with_inferred_alignment(layout))
        return (CachePhases(line_bytes, _counts(Counter(phases(granule, line_bytes)))),)


def meeting(all_starts: Sequence[CachePhases], first: Span, second: Span) -> PhaseMeeting:
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


def most_lines(all_starts: Sequence[CachePhases], span: Span) -> int:
    """The most lines that the span lies on in any phase; offsets alone tell where phases are not known."""
    known = (one.lines(span) for one in all_starts if one.cache)
    return max(known, default=len(lines_touched(span.offset, span.size)))


def pads(layout: Layout) -> Iterator[Member]:
    """The members called a padding that fill a line, or reach to the end of one, with others in front and behind."""
    if layout.kind is not RecordKind.STRUCT:
        return
    for place, one in enumerate(layout.members):
        fills = one.size >= CACHE_LINE_BYTES or (one.size >= _LEAST_BYTES and one.end % CACHE_LINE_BYTES == 0)
        if one.dimensions and one.record is None and fills and _NAME.fullmatch(one.name):
            behind = any(other.size and not _NAME.fullmatch(other.name) for other in layout.members[place + 1 :])
            if place and behind:
                yield one


@dataclass(frozen=True, slots=True)
class MemberMeetings:
    """``member`` can meet each of the ``others`` (names); ``worst`` is the meeting that most objects have."""

    member: Named
    others: tuple[str, ...]
    worst: PhaseMeeting

    @property
    def key(self) -> tuple[str, str]:
        """Who meets whom, whatever the figures are."""
        return self.member.path, ", ".join(self.others)

    @property
    def meetings(self) -> frozenset[frozenset[str]]:
        """The pairs that meet, whichever of both is looked from."""
        return frozenset(frozenset((self.member.path, other)) for other in self.others)

    def with_(self, other: MemberMeetings) -> MemberMeetings:
        """What two elements of an array meet, each once, the worse of their meetings first."""
        worse, better = sorted((self, other), key=lambda one: -one.worst.share)
        return replace(worse, others=tuple(dict.fromkeys((*worse.others, *better.others))))


def meetings_of(
    member: Named, others: Iterable[Named], every: tuple[CachePhases, ...], allowed: float = 0.0
) -> MemberMeetings | None:
    """Those that meet the member in more than the ``allowed`` share of objects; names of its own bytes do not count."""
    apart = (one for one in others if one.end <= member.offset or member.end <= one.offset)
    met = [(one.path, meeting(every, member.span, one.span)) for one in apart]
    many = [(path, found) for path, found in met if found.share > allowed]
    if not many:
        return None
    return MemberMeetings(
        member, tuple(path for path, _ in many), max((one for _, one in many), key=lambda one: one.share)
    )


def other_members(
    layout: Layout, layouts: Layouts, own: Sequence[Named], path: str = "", base: int = 0, levels: int = MOST_LEVELS
) -> Iterator[Named]:
    """The members that lie on no byte of ``own``; a record that holds one of these is looked into."""
    for one in nameable(layout, layouts):
        here = Named(path + one.path, base + one.base, one.member, Span(base + one.offset, one.span.size))
        inside = [other for other in own if here.offset < other.end and other.offset < here.end]
        if not inside:
            if here.span.size:
                yield here
        elif one.member.record is not None and levels and all(_is_part(other, here) for other in inside):
            inner = layouts.by_id(one.member.record)
            yield from other_members(inner, layouts, own, f"{here.path}.", here.offset, levels - 1)


def _is_part(inner: Named, outer: Named) -> bool:
    """Whether ``inner`` is a part of ``outer``, and no other name of all of it."""
    return outer.offset <= inner.offset and inner.end <= outer.end and inner.span.size < outer.span.size


def listed(names: Sequence[str], most: int = 4) -> str:
    """``a, b and c``; of more than ``most`` names the rest is counted."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def way(old: Named, new: Named) -> str:
    """``went from byte 64 (line 1) to byte 8 (line 0)``, or where it stays."""
    was, now = (f"byte {one.offset} (line {line_of(one.offset)})" for one in (old, new))
    return f"stays at {now}" if was == now else f"went from {was} to {now}"
