# SPDX-License-Identifier: GPL-2.0-or-later
"""Which difference of two builds made contention: members, or variables, that meet on a line and were apart before.

A pair is explained where it can meet at more of the places that its objects have than before: since a member was
added, moved or grew, an object begins at another byte of its line, or a variable has another address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TypeAlias

from linesmith.analyzer.base.elf import ElfSymbols
from linesmith.analyzer.comparison.compare import SHOWN_Z, change_of
from linesmith.analyzer.comparison.sums import Meeting, Place, ProfileSums
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.diff import MemberDiff, RecordDiff, Spot, changes
from linesmith.analyzer.layouts.gaps import Span, line_of, lines_touched, meet, phases
from linesmith.analyzer.layouts.leaves import nameable, named
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Bounds,
    Exposure,
    Fate,
    Layout,
    LayoutBlame,
    LayoutCause,
    MemberPair,
    ProfileChange,
    Recording,
)

# Who waits: both members of a pair, whichever has to, or a member alone; whether for another object or element.
Waits: TypeAlias = tuple[frozenset[Place], bool]
MOST_PUSHES = 3
# Misses of a line, as a share of the upgrades made by fetching its neighbour, from which on it may have caused them.
LEAST_SHARE = 0.05
# Upgrades for nothing, since the other line of the pair was fetched: what a recording counts of adjacent lines.
_PREFETCHED = "prefetch_upgrades"


@dataclass(frozen=True)
class ProfiledBuild:
    """A build with what its profile says; ``symbols`` of its variables."""

    layouts: Layouts
    symbols: ElfSymbols
    sums: ProfileSums
    recording: Recording | None = None

    def layout(self, type_: str) -> Layout | None:
        """The record as it was seen, else the one that most code uses; ``None`` for a plain variable."""
        seen = min(self.sums.of(type_).layouts, default=None)
        return self.layouts.by_id(seen) if seen is not None else next(iter(self.layouts.variants(type_)), None)

    def span(self, place: Place) -> Span | None:
        """Where a member lies in its record."""
        layout = self.layout(place.type)
        found = named(layout, self.layouts, place.member.replace("[]", "")) if layout else None
        return found.span if found else None

    def addresses(self, names: set[str]) -> tuple[int, ...]:
        """Where the variables of these names lie."""
        for name in names - self._known.keys():
            self._known[name] = tuple(one.address for one in self.symbols.objects(name))
        return tuple(address for name in sorted(names) for address in self._known[name])

    @cached_property
    def _known(self) -> dict[str, tuple[int, ...]]:
        """Addresses by name, as far as they were looked up."""
        return {}

    @cached_property
    def upgrades(self) -> int:
        """Upgrades that the fetch of adjacent lines made, where it is simulated."""
        one = self.recording
        return dict(one.counts).get(_PREFETCHED, 0) if one and one.adjacent else 0


@dataclass(frozen=True, slots=True)
class _GainedContention:
    """What a pair has more than before, in accesses of the new run; ``rise`` is what the ``victim`` has, whoever wrote.

    Of exact counts the victim is the pair, and both are one. Samples do not name the writer: where a member waits for
    itself it may wait for another.
    """

    pair: Meeting
    victim: Place | Meeting
    gained: Bounds
    rise: Bounds

    @property
    def row(self) -> Waits:
        """The row of a comparison that it is in."""
        one = self.victim
        if isinstance(one, Meeting):
            return frozenset((one.victim, one.writer)), one.apart
        return frozenset((one,)), False


def unseen(found: ProfileChange) -> frozenset[Waits]:
    """The rows of which nobody knows whether they are new: what they have now the old profile may have had."""
    doubted, known = set[Waits](), set[Waits]()
    for one in (one for held in found.objects for one in held.members):
        places = Place(one.type, one.member), Place(one.writer_type, one.writer)
        row = frozenset(places if one.writer else places[:1]), one.elsewhere
        (doubted if one.change.fate is Fate.UNSEEN else known).add(row)
    return frozenset(doubted - known)


def blame(
    old: ProfiledBuild, new: ProfiledBuild, looked: Exposure, doubted: frozenset[Waits] = frozenset()
) -> LayoutBlame:
    """What explains the contention that the new build has and the old one had not; ``doubted`` rows are ``unseen``."""
    exact = bool(old.recording and new.recording)
    every = list(_exact_gains(old, new, looked) if exact else _sampled_gains(old, new, looked))
    gains = [one for one in every if one.row not in doubted]
    builds = _Builds(old, new)
    causes: dict[tuple[str, tuple[str, ...]], list[_GainedContention]] = {}
    blameless = []
    for one in gains:
        cause = builds.cause(one.pair)
        if cause is None:
            blameless.append(one)
        else:
            causes.setdefault(cause, []).append(one)
    explained = {one.victim for group in causes.values() for one in group}
    unexplained = [one for one in blameless if one.victim not in explained]
    total = _risen(gains)
    upgrades = change_of(old.upgrades, new.upgrades, looked, exact=True) if exact else None
    more = round(new.upgrades - old.upgrades * looked.after / looked.before)
    if upgrades and upgrades.fate in (Fate.NEW, Fate.ROSE):
        total += Bounds(more, more)
        for cause, gain in _adjacent_causes(builds, more):
            causes.setdefault(cause, []).append(gain)
    hidden = [one.sums.of("").contended for one in (old, new)]
    unknown = change_of(hidden[0], hidden[1], looked, exact).fate in (Fate.NEW, Fate.ROSE)
    made = [_cause(subject, differences, group, total) for (subject, differences), group in causes.items()]
    return LayoutBlame(
        total,
        tuple(sorted(made, key=lambda one: (-one.gained.most, -one.gained.least, one.subject))),
        tuple(_named(one.pair) for one in sorted(unexplained, key=lambda one: -one.gained.most)),
        round(hidden[1] - hidden[0] * looked.after / looked.before) if unknown else 0,
        round(_risen(one for one in every if one.row in doubted).most),
    )


def _cause(subject: str, differences: tuple[str, ...], group: list[_GainedContention], total: Bounds) -> LayoutCause:
    gained = Bounds(sum(one.gained.least for one in group), min(_risen(group).most, total.most))
    share = Bounds(gained.least / (total.most or 1), min(1.0, gained.most / (total.least or total.most or 1)))
    ordered = sorted(group, key=lambda one: one.gained.most)
    pairs = {pair.names: pair for pair in (_named(one.pair) for one in ordered)}
    return LayoutCause(subject, differences, tuple(reversed(pairs.values())), gained, share)


def _risen(gains: Iterable[_GainedContention]) -> Bounds:
    """What all victims have more, each counted once."""
    return sum({one.victim: one.rise for one in gains}.values(), Bounds())


def _named(pair: Meeting) -> MemberPair:
    """Both members by name, with their records where these differ."""
    victim, writer = pair.victim, pair.writer
    if victim.type == writer.type:
        return MemberPair(victim.member, f"another {writer.member}" if pair.apart else writer.member)
    return MemberPair(_whole_name(victim), _whole_name(writer))


def _whole_name(place: Place) -> str:
    return place.member if place.member == place.type else f"{place.type}.{place.member}"


def _exact_gains(old: ProfiledBuild, new: ProfiledBuild, looked: Exposure) -> Iterator[_GainedContention]:
    """Pairs that differ by more than runs do, whichever of the two waits."""
    before, after = _unordered(old.sums.meetings), _unordered(new.sums.meetings)
    locks = old.sums.locks | new.sums.locks
    for pair, amount in after.items():
        was = before.get(pair, Bounds()).most
        waited = not locks.isdisjoint((pair.victim, pair.writer))
        if change_of(round(was), round(amount.most), looked, True, waited).fate in (Fate.NEW, Fate.ROSE):
            more = amount.most - was * looked.after / looked.before
            yield _GainedContention(pair, pair, Bounds(more, more), Bounds(more, more))


def _unordered(meetings: Mapping[Meeting, Bounds]) -> dict[Meeting, Bounds]:
    found: dict[Meeting, Bounds] = {}
    for one, amount in meetings.items():
        first, second = sorted((one.victim, one.writer))
        key = Meeting(first, second, one.apart, one.span)
        found[key] = found.get(key, Bounds()) + amount
    return found


def _sampled_gains(old: ProfiledBuild, new: ProfiledBuild, looked: Exposure) -> Iterator[_GainedContention]:
    """Pairs of which a victim waits more, as far as samples tell: 80 % intervals."""
    scale = looked.after / looked.before
    for pair, amount in new.sums.meetings.items():
        counts = [one.sums.of(pair.victim.type).waits.get(pair.victim.member) for one in (old, new)]
        was, now = (one.total() if one else 0 for one in counts)
        if change_of(was, now, looked, exact=False).fate in (Fate.NEW, Fate.ROSE):
            first, last = _counted(Bounds(was, was)), _counted(Bounds(now, now))
            rise = Bounds(max(0.0, last.least - scale * first.most), last.most - scale * first.least)
            before, after = _counted(old.sums.meetings.get(pair, Bounds())), _counted(amount)
            most = min(rise.most, after.most - scale * before.least)
            gained = Bounds(max(0.0, after.least - scale * before.most), max(0.0, most))
            yield _GainedContention(pair, pair.victim, gained, rise)


def _counted(one: Bounds) -> Bounds:
    """Limits of the rate behind counts of samples."""
    return Bounds(max(0.0, one.least - SHOWN_Z * sqrt(one.least)), one.most + SHOWN_Z * sqrt(one.most))


@dataclass(frozen=True)
class _Builds:
    """Both builds, and what of them differs for a pair; a cause is a subject with what differs, in words."""

    old: ProfiledBuild
    new: ProfiledBuild

    def variables(self, type_: str) -> set[str]:
        """The symbols that objects of a type are, in either build; of a plain variable its own."""
        return self.old.sums.of(type_).variables | self.new.sums.of(type_).variables or {type_.replace("[]", "")}

    def address(self, build: ProfiledBuild, place: Place) -> int | None:
        """Where a member of a variable lies; ``None`` where it is no variable, or one of several."""
        found = build.addresses(self.variables(place.type))
        span = build.span(place)
        return found[0] + (span.offset if span else 0) if len(found) == 1 else None

    def starts(self, build: ProfiledBuild, type_: str) -> frozenset[int]:
        """The bytes of a pair of lines with which objects begin: as seen, by their symbols, else as in the other build.

        What neither profile tells is any byte that the alignment allows.
        """
        if seen := build.sums.of(type_).phases:
            return frozenset(seen)
        if found := build.addresses(self.variables(type_)):
            return frozenset(address % ADJACENT_LINE_BYTES for address in found)
        seen = self.old.sums.of(type_).phases | self.new.sums.of(type_).phases
        layout = build.layout(type_)
        granule = max(layout.natural_alignment, layout.alignment or 1) if layout else 1
        return frozenset(seen or phases(granule, ADJACENT_LINE_BYTES))

    def cause(self, pair: Meeting) -> tuple[str, tuple[str, ...]] | None:
        """What made the pair meet; ``None`` where it could meet as often before."""
        layout = self.new.layout(pair.victim.type)
        if pair.victim.type != pair.writer.type:
            return self._of_two(pair)
        if layout is None:
            return None
        if pair.apart or self._meets(self.new, pair) > 2 * self._meets(self.old, pair):
            found = tuple(self._differences(pair, layout))
            return (layout.title, found) if found else None
        return None

    def _meets(self, build: ProfiledBuild, pair: Meeting) -> float:
        """The share of the places of the record's objects in which two members meet: 0 where one is missing.

        Of one member with itself: in which it lies on one line only.
        """
        first, second = build.span(pair.victim), build.span(pair.writer)
        starts = self.starts(build, pair.victim.type)
        if first is None or second is None or not starts:
            return 0.0
        if pair.victim == pair.writer:
            whole = (len(lines_touched(first.offset + start, first.size, pair.span)) == 1 for start in starts)
            return sum(whole) / len(starts)
        return sum(meet(first, second, pair.span, start) for start in starts) / len(starts)

    def _differences(self, pair: Meeting, layout: Layout) -> Iterator[str]:
        """What differs of a record that can matter to a pair of its members."""
        before = self.old.layout(pair.victim.type)
        if before is None:
            yield f"{layout.title} is new"
            return
        diff = next(iter(changes(self.old.layouts, self.new.layouts, iter([(before, layout)]))), None)
        sides = [member.replace("[]", "") for member in dict.fromkeys((pair.victim.member, pair.writer.member))]
        words = list(_moves(diff, sides)) if diff else []
        resized = before.size != layout.size or before.alignment != layout.alignment
        if resized and (pair.apart or not words):
            words.append(f"{before.size} -> {layout.size} bytes, so that objects have other neighbours")
        found = (self.starts(one, pair.victim.type) for one in (self.old, self.new))
        starts = [sorted({start % CACHE_LINE_BYTES for start in one}) for one in found]
        if starts[0] != starts[1]:
            words.append(f"objects begin at byte {_few(starts[1])} of a line, {_few(starts[0])} before")
        yield from words

    def _of_two(self, pair: Meeting) -> tuple[str, tuple[str, ...]] | None:
        """Two variables, or objects of two records, that have come to lie on one line."""
        places = pair.victim, pair.writer
        subject = " and ".join(sorted({place.type for place in places}))
        now, was = ([self.address(build, place) for place in places] for build in (self.new, self.old))
        if None not in now:
            missing = [place.type for place, address in zip(places, was, strict=True) if address is None]
            if missing:
                return subject, (f"{' and '.join(missing)}: not a variable before",)
            if _one_line(now, pair.span) and not _one_line(was, pair.span):
                return subject, (f"{_distance(was)} bytes apart before, {_distance(now)} now: on one line",)
            return None
        sizes = [(build.layout(place.type), place) for place in places for build in (self.old, self.new)]
        words = []
        for (before, place), (after, _) in zip(sizes[::2], sizes[1::2], strict=True):
            if before and after and (before.size, before.alignment) != (after.size, after.alignment):
                words.append(
                    f"{place.type}: {before.size} -> {after.size} bytes, so that objects have other neighbours"
                )
        return (subject, tuple(words)) if words else None

    def neighbours(self, place: Place) -> Iterator[tuple[Place, tuple[str, tuple[str, ...]]]]:
        """Members of the record, or variables, that lie on the other line of the pair now and did not before.

        With each goes what differs.
        """
        layout = self.new.layout(place.type)
        for other in sorted(set(self._beside(self.new, place)) - set(self._beside(self.old, place))):
            next_to = (
                f"{_whole_name(other)} lies on the line next to {_whole_name(place)} now, which is fetched with it"
            )
            subject = " and ".join(sorted({place.type, other.type}))
            words: tuple[str, ...] = ()
            if layout is not None and other.type == place.type:
                subject = layout.title
                words = tuple(self._differences(Meeting(place, other, False, ADJACENT_LINE_BYTES), layout))
            yield other, (subject, (*words, next_to))

    def _beside(self, build: ProfiledBuild, place: Place) -> Iterator[Place]:
        """Every member of the record, or variable, on the other line of the aligned pair that a place is on."""
        span, layout = build.span(place), build.layout(place.type)
        if layout is not None and span is not None:
            for start in self.starts(build, place.type):
                other = line_of(span.offset + start) ^ 1
                for one in nameable(layout, build.layouts):
                    if other in lines_touched(one.offset + start, one.span.size):
                        yield Place(place.type, one.path)
        address = self.address(build, place)
        if address is not None:
            begin = (line_of(address) ^ 1) * CACHE_LINE_BYTES
            own = self.variables(place.type)
            for symbol in build.symbols.variables(begin, begin + CACHE_LINE_BYTES):
                if symbol.name not in own:
                    yield Place(symbol.name, symbol.name)


def _one_line(addresses: Iterable[int | None], span: int) -> bool:
    return len({line_of(one or 0, span) for one in addresses}) == 1


def _distance(addresses: Iterable[int | None]) -> int:
    found = [one or 0 for one in addresses]
    return max(found) - min(found)


def _few(starts: list[int]) -> str:
    return ", ".join(map(str, starts[:MOST_PUSHES])) + (" and others" if len(starts) > MOST_PUSHES else "")


def _moves(diff: RecordDiff, sides: list[str]) -> Iterator[str]:
    """How the members of a pair moved, and which others pushed them there."""
    own = [one for one in diff.members if one.path in sides and one.kinds]
    yield from map(_moved, own)
    ends = [one.new.offset for one in own if one.new and "moved" in one.kinds]
    if not ends:
        return
    resized = {"added", "removed", "grew", "shrank"}
    others = [one for one in diff.members if one.path not in sides and resized & set(one.kinds)]
    pushes = [one for one in others if (where := one.new or one.old) and where.offset <= max(ends)]
    for one in pushes[:MOST_PUSHES]:
        yield f"pushed: {_moved(one)}"
    if len(pushes) > MOST_PUSHES:
        yield f"pushed: {len(pushes) - MOST_PUSHES} more members"


def _moved(one: MemberDiff) -> str:
    old, new = one.old, one.new
    if old is None or new is None:
        spot = new or old
        return f"{one.path} {'added' if new else 'removed'}, {spot.size if spot else 0} bytes at {_spot(spot)}"
    size = f", {old.size} -> {new.size} bytes" if old.size != new.size else ""
    return f"{one.path} {_spot(old)} -> {_spot(new)}{size}" if old.offset != new.offset else f"{one.path}{size}"


def _spot(one: Spot | None) -> str:
    """The byte of the record, by line and byte of the line."""
    offset = one.offset if one else 0
    return f"{offset} (line {line_of(offset)} byte {offset % CACHE_LINE_BYTES})"


def _adjacent_causes(builds: _Builds, more: int) -> Iterator[tuple[tuple[str, tuple[str, ...]], _GainedContention]]:
    """Contended members that have another one next to them now, on the other line of a pair that is fetched whole.

    A recording counts the upgrades that this makes, but not where: no more than a line's misses can be its.
    """
    misses: dict[Place, float] = {}
    for one, amount in builds.new.sums.meetings.items():
        for place in dict.fromkeys((one.victim, one.writer)):
            misses[place] = misses.get(place, 0.0) + amount.most
    for place, count in misses.items():
        for other, cause in builds.neighbours(place) if count >= LEAST_SHARE * more else ():
            pair = Meeting(place, other, False, ADJACENT_LINE_BYTES)
            most = Bounds(0.0, min(more, count))
            yield cause, _GainedContention(pair, pair, most, most)
