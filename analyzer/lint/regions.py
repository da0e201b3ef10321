# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a record lies in one place before and now, and which members can meet on a line.

A region is members of the same bytes, or those that took others' places. ``unshared`` are members that a union laid
over others, and that have bytes of their own now; ``pads`` are arrays that only take room, so that what is in front of
them and what is behind lie on different lines. ``meetings_of`` tells with whom a member can share a line, and in how
many of the objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import Span, line_of
from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.lint.rules.rule import Rule, declared_on
from linesmith.analyzer.lint.starts import PhaseMeeting, Starts, meeting
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, Member, RecordKind, Severity, Violation

# Damaged debug information lays any number of members over one another.
_MOST_PAIRS = 1 << 10
# A pad of another kind holds data: scratch_pad, one_time_pad, key_pad.
_OTHER = r"(?!(\w*_)?(scratch|time|key|note|touch)_pad)"
_NAME = re.compile(rf"_*{_OTHER}(\w+_)?pad(ding)?_?\d*_*", re.IGNORECASE | re.ASCII)
# Fewer bytes stand for what a format reserves more often than for the rest of a line.
_LEAST_BYTES = 16
# Nesting of what somebody names is flat; damaged debug information may go round.
MOST_LEVELS = 16

Cluster = tuple[Named, ...]
_Kinds = tuple[tuple[str, int], ...]
_Ends = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Region:
    """Members ``before`` and ``after`` that belong together; one side is empty where nothing was, or nothing is."""

    before: tuple[Named, ...]
    after: tuple[Named, ...]

    @property
    def added(self) -> int:
        """How many bytes more members lie on."""
        return _bytes(self.after) - _bytes(self.before)


@dataclass(frozen=True, slots=True)
class _LoneClusters:
    """Clusters of one build alone that follow one another, between two regions that both builds have."""

    ends: _Ends
    clusters: tuple[Cluster, ...]


def regions(before: Iterable[Named], after: Iterable[Named]) -> Iterator[Region]:
    """Every member of both builds in one region, in no order; members without bytes are in none.

    What shares bytes in either build is one, and so is what went with what came between the same neighbours. Of these
    a member that is as large and of the same type is the one that went, with another name.
    """
    olds, news = clusters(before), clusters(after)
    roots = _joined(olds, news)
    own, other = roots[: len(olds)], roots[len(olds) :]
    both = set(own) & set(other)
    was, now = _by_root(olds, own), _by_root(news, other)
    yield from (Region(tuple(was[root]), tuple(now[root])) for root in both)
    yield from _replaced(_runs(olds, own, both), _runs(news, other, both))


def clusters(members: Iterable[Named]) -> list[Cluster]:
    """Members that lie on one another, together, by offset."""
    found: list[list[Named]] = []
    end = 0
    for one in sorted((one for one in members if one.span.size), key=lambda one: (one.offset, one.path)):
        if found and one.offset < end:
            found[-1].append(one)
        else:
            found.append([one])
        end = max(end, one.end)
    return [tuple(cluster) for cluster in found]


def _joined(olds: Sequence[Cluster], news: Sequence[Cluster]) -> list[int]:
    """For each cluster, first those of before, the number of the group it is in: that of all that share a name."""
    parents = list(range(len(olds) + len(news)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    named = {one.path: number for number, cluster in enumerate(olds) for one in cluster}
    for number, cluster in enumerate(news, len(olds)):
        for one in cluster:
            if one.path in named:
                parents[root(number)] = root(named[one.path])
    return [root(number) for number in range(len(parents))]


def _by_root(clusters: Sequence[Cluster], roots: Sequence[int]) -> dict[int, list[Named]]:
    found: dict[int, list[Named]] = {}
    for cluster, root in zip(clusters, roots, strict=True):
        found.setdefault(root, []).extend(cluster)
    return found


def _runs(clusters: Sequence[Cluster], roots: Sequence[int], both: set[int]) -> list[_LoneClusters]:
    found: list[_LoneClusters] = []
    last: int | None = None
    open_: list[Cluster] = []
    for cluster, root in zip(clusters, roots, strict=True):
        if root not in both:
            open_.append(cluster)
            continue
        if open_:
            found.append(_LoneClusters((last, root), tuple(open_)))
        last, open_ = root, []
    return [*found, _LoneClusters((last, None), tuple(open_))] if open_ else found


def _replaced(gone: Iterable[_LoneClusters], came: Iterable[_LoneClusters]) -> Iterator[Region]:
    """Runs of both builds with the same neighbour on either side, the ends of the record being neighbours, too."""
    left = dict.fromkeys(gone)
    before, behind = {one.ends[0]: one for one in left}, {one.ends[1]: one for one in left}
    for run in came:
        near = before.get(run.ends[0]), behind.get(run.ends[1])
        went = next((one for one in near if one in left), None)
        if went is not None:
            del left[went]
        yield from _paired(went.clusters if went else (), run.clusters)
    yield from (Region(cluster, ()) for run in left for cluster in run.clusters)


def _paired(gone: Sequence[Cluster], came: Sequence[Cluster]) -> Iterator[Region]:
    waiting: dict[_Kinds, list[Cluster]] = {}
    for cluster in reversed(gone):
        waiting.setdefault(_kinds(cluster), []).append(cluster)
    new = []
    for cluster in came:
        alike = waiting.get(_kinds(cluster))
        if alike:
            yield Region(alike.pop(), cluster)
        else:
            new.append(cluster)
    left = [cluster for alike in waiting.values() for cluster in alike]
    if left and new:
        yield Region(tuple(chain.from_iterable(left)), tuple(chain.from_iterable(new)))
    else:
        yield from (Region((), cluster) for cluster in new)
        yield from (Region(cluster, ()) for cluster in left)


def _kinds(cluster: Cluster) -> _Kinds:
    return tuple((one.member.type, one.span.size) for one in cluster)


def _bytes(members: Iterable[Named]) -> int:
    """How many bytes lie in at least one of them."""
    count = end = 0
    for one in sorted(members, key=lambda one: one.offset):
        count += max(one.end - max(one.offset, end), 0)
        end = max(end, one.end)
    return count


def unshared(before: Mapping[str, Named], after: Mapping[str, Named]) -> dict[str, str]:
    """Each member that left a union, with one that shared its bytes and still is there.

    Of two that parted it is the one that parted from more of the others, else the one that lies farther behind now.
    """
    kept = sorted((before[path] for path in before.keys() & after.keys()), key=lambda one: (one.offset, one.path))
    partners: dict[str, set[str]] = {}
    for first, second in _overlapping(kept):
        if not _overlap(after[first.path], after[second.path]):
            partners.setdefault(first.path, set()).add(second.path)
            partners.setdefault(second.path, set()).add(first.path)
    found: dict[str, str] = {}
    while any(partners.values()):
        path = max(partners, key=lambda one: (len(partners[one]), after[one].offset, one))
        left = partners.pop(path)
        found[path] = min(left)
        for other in left:
            partners[other].discard(path)
    return found


def _overlapping(members: Sequence[Named]) -> list[tuple[Named, Named]]:
    """Pairs of members, ordered by their offsets, that have a byte in common."""
    found: list[tuple[Named, Named]] = []
    for number, one in enumerate(members):
        for other in members[number + 1 :]:
            if other.offset >= one.end or len(found) >= _MOST_PAIRS:
                break
            if _overlap(one, other):
                found.append((one, other))
    return found


def _overlap(one: Named, other: Named) -> bool:
    """Whether both have a byte in common; bit-fields that share one are no union."""
    if one.member.is_bit_field and other.member.is_bit_field:
        return False
    return max(one.offset, other.offset) < min(one.end, other.end)


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
