# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members can meet on a line, and in how many of the objects.

``pads`` are arrays that only take room, so that what is in front of them and what is behind lie on different lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import Span, line_of
from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.lint.rules.rule import Rule, declared_on
from linesmith.analyzer.lint.starts import PhaseMeeting, Starts, meeting
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, Member, RecordKind, Severity, Violation

# A pad of another kind holds data: scratch_pad, one_time_pad, key_pad.
_OTHER = r"(?!(\w*_)?(scratch|time|key|note|touch)_pad)"
_NAME = re.compile(rf"_*{_OTHER}(\w+_)?pad(ding)?_?\d*_*", re.IGNORECASE | re.ASCII)
# Fewer bytes stand for what a format reserves more often than for the rest of a line.
_LEAST_BYTES = 16
# Nesting of what somebody names is flat; damaged debug information may go round.
MOST_LEVELS = 16


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
    member: Named, others: Iterable[Named], every: tuple[Starts, ...], allowed: float = 0.0
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


def meeting_violation(
    rule: Rule, layout: Layout, found: MemberMeetings, message: str, advice: str, share: float | None = None
) -> Violation:
    """The violation by those who meet: a note where the base had it in as many of its objects (``share``)."""
    known = share is not None and share >= found.worst.share
    return rule.broken(
        layout,
        f"{message}, as before" if known else message,
        member=found.member.path,
        subject=found.key[1],
        advice=advice,
        figures=(Figure("objects", None if share is None else 100 * share, 100 * found.worst.share, "percent"),),
        severity=Severity.NOTE if known else rule.severity,
        line=declared_on(found.member, layout),
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
