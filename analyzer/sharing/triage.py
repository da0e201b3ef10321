# SPDX-License-Identifier: GPL-2.0-or-later
"""The diagnosis of a line: which members meet, who writes, and whether moving members can help.

Rules in the order in which they are reported: false sharing (two top-level members, one line, one of them
written), lock contention (a lock's own words carry the contention: moving it is a band-aid), true sharing
(one member carries it; straddling, where it lies on two hot lines), adjacent-line sharing (no writer here, one in the
other half of the 128-byte pair), no writer seen. Several can hold at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from linesmith.analyzer.attribution.lock import waits_for_lock
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import (
    CacheLine,
    ConflictPair,
    Finding,
    LineMember,
    LineObject,
    Profile,
    SharingCost,
    Triage,
    TriageKind,
)
from linesmith.analyzer.sharing.parts import OF_LINE, Blame, blames, false_misses, own_members, top_names

# A pair below this share of a line's contended loads is noise of the sampling.
PAIR_SHARE = 0.01
# A member that carries this share of the line's contention is what the line is about.
MAIN_SHARE = 0.5
# Objects of a line that are named.
MOST_OBJECTS = 4
# Pairs of members in the sentence, and blames among the reasons.
MOST_PAIRS = 3
MOST_BLAMES = 3
# Functions that take a lock, in the sentence.
MOST_CALLERS_TOLD = 4


@dataclass(frozen=True, slots=True)
class TopMember:
    """Everything seen on one member of the outermost record, its nested members added up."""

    name: str
    members: tuple[LineMember, ...]

    @property
    def contended(self) -> int:
        """Contended loads on the member."""
        return sum(function.contended for member in self.members for function in member.functions)

    @property
    def writes(self) -> int:
        """Stores sampled on the member."""
        return sum(member.writes for member in self.members)

    @property
    def lock(self) -> bool:
        """Whether a part of the member that was touched belongs to a lock."""
        return any(member.lock for member in self.members)

    @property
    def written(self) -> bool:
        """Whether somebody writes the member, sampled or inferred."""
        return any(member.written for member in self.members)

    @property
    def doubted(self) -> bool:
        """Whether it is uncertain that what was sampled is this member at all."""
        return all(member.doubted for member in self.members)

    @property
    def begin(self) -> int | None:
        """Where the object begins that the member is of, counted from the line; ``None`` where that is not known."""
        return self.members[0].begin

    @property
    def elements(self) -> tuple[str, ...]:
        """The elements of an array that were touched (``v[0]``, ``v[3]``); one name for what is no array."""
        return tuple(dict.fromkeys(member.path.partition(".")[0] for member in self.members))

    @property
    def between_elements(self) -> bool:
        """Whether different elements of one array meet on the line, one of them written."""
        return len(self.elements) > 1 and "[" in self.elements[0] and self.written and not self.lock

    @property
    def within(self) -> tuple[str, str] | None:
        """The part that most wait on and nobody writes, and the one next to it in the same element that is written."""
        read = [one for one in self.members if not one.written]
        waiting = {one.path: sum(function.contended for function in one.functions) for one in read}
        if self.lock or not read or 2 * sum(waiting.values()) < self.contended or not self.contended:
            return None
        victim = max(read, key=lambda one: waiting[one.path])
        element = victim.path.partition(".")[0]
        beside = [one for one in self.members if one.written and one.path.partition(".")[0] == element]
        return (victim.path, max(beside, key=lambda one: one.writes).path) if beside else None

    @property
    def taken_by(self) -> str:
        """Who came to it and how often, behind a colon; ``""`` where that is not known."""
        counts = Counter[str]()
        for member in self.members:
            for path in member.callers:
                counts[path.functions[0]] += path.count
        names = (f"{name} {count / self.contended:.0%}" for name, count in counts.most_common())
        return f": {listed(names, MOST_CALLERS_TOLD)}" if counts else ""

    @property
    def is_one_place(self) -> bool:
        """Whether those who wait on the member wait for stores to the same words, as far as the samples show."""
        return not self.between_elements and self.within is None

    @property
    def waited_for(self) -> bool:
        """Whether a function that waits for a lock was seen here."""
        names = (function.name for member in self.members for function in member.functions)
        return self.lock and any(waits_for_lock(name) for name in names)


# What a recording had no room for that may hide stores.
_DROPPED = ("dropped_lines", "dropped_contended", "dropped_accesses")


def infer_writers(members: Sequence[LineMember], profile: Profile) -> tuple[LineMember, ...]:
    """Mark members that must be written although no store was sampled (AMD IBS tags an atomic update a load).

    A recording for which there was room has every store: what its code may write besides, it did not.
    """
    if profile.recording is not None and not any(dict(profile.recording.counts).get(name) for name in _DROPPED):
        return tuple(replace(one, write_inferred="") if one.write_inferred else one for one in members)
    sampled = any(member.writes or member.write_inferred for member in members)
    if sampled or not any(event.startswith("ibs_") for event in profile.events):
        return tuple(members)
    reason = "IBS counts an atomic update as a load, and a HITM needs a writer"
    return tuple(
        replace(one, write_inferred=reason) if any(f.contended for f in one.functions) else one for one in members
    )


def triage(
    line: CacheLine,
    objects: Sequence[LineObject],
    members: Sequence[LineMember],
    profile: Profile,
    straddler: str = "",
    unseen: Sequence[LineMember] = (),
) -> Triage:
    """Diagnose one line; ``members`` as ``line_members`` and ``infer_writers`` gave them.

    ``straddler`` is the member that ``straddling`` found; ``unseen`` are members that only conflicts name.
    """
    tops = top_members(members, objects)
    blamed = blames(line.conflicts, {**top_names(unseen, objects), **top_names(members, objects)})
    locks = frozenset(top.name for top in tops if top.lock)
    seen = _Contention(
        tops,
        _own_contention(blamed, locks) if blamed else {top.name: top.contended for top in tops},
        sum(one.misses for one in blamed) or sum(top.contended for top in tops) or 1,
        frozenset(top.name for top in tops if top.written) | {one.writer for one in blamed},
        _recorded_pairs(blamed, tops) if blamed else _conflict_pairs(tops),
        frozenset(frozenset((one.victim, one.writer)) for one in blamed if not one.misses)
        - {frozenset((one.victim, one.writer)) for one in blamed if one.misses},
    )
    # The prefetcher fetches both halves of a 128-byte pair.
    halves = [one for one in profile.lines if line.address is not None and one.address == line.address ^ 64]
    kinds = seen.kinds(len(objects) > 1, line.bytes == 64 and any(one.stores for one in halves))
    sentence = seen.sentence(kinds, max(seen.total, line.contended))
    if straddler and seen.is_main(straddler):
        kinds = (TriageKind.STRADDLE, *kinds)
        sentence = f"{straddler} lies on this line and on another hot one, so both travel; {sentence}"
    reasons = (*_reasons(tops, line, profile), *_blame_reasons(blamed), *_writer_reasons(kinds, halves, profile))
    return Triage(kinds, seen.pairs, sentence, (*reasons, *_object_reasons(tops, objects)))


@dataclass(frozen=True, slots=True)
class _Contention:
    """The members of a line, and of its ``total`` contended accesses those that no layout removes by member (``own``).

    ``written`` are the names of those that somebody writes, ``pairs`` those that meet, ``behind`` those of which a miss
    for another member hides that they meet.
    """

    tops: tuple[TopMember, ...]
    own: Mapping[str, int]
    total: int
    written: frozenset[str]
    pairs: tuple[ConflictPair, ...]
    behind: frozenset[frozenset[str]]

    def is_main(self, name: str) -> bool:
        """Whether the line is about this member."""
        return self.own.get(name, 0) >= MAIN_SHARE * self.total

    def kinds(self, several: bool, buddy_written: bool) -> tuple[TriageKind, ...]:
        """What is wrong, main thing first; ``several`` objects lie on the line."""
        kinds = []
        main = [top for top in self.tops if self.is_main(top.name)]
        if self.pairs or any(top.within for top in main) or any(top.between_elements for top in self.tops):
            kinds.append(TriageKind.FALSE_SHARING)
        if any(top.waited_for or (top.lock and top.name in self.written) for top in main):
            kinds.append(TriageKind.LOCK_CONTENTION)
        elif any(top.name in self.written and top.is_one_place for top in main):
            kinds.append(TriageKind.TRUE_SHARING)
        if not self.written:
            kinds.append(TriageKind.ADJACENT_LINE if buddy_written else TriageKind.NO_WRITER)
        if several:
            kinds.append(TriageKind.SEVERAL_OBJECTS)
        return tuple(kinds) if self.tops and kinds else (TriageKind.UNKNOWN,)

    def sentence(self, kinds: Sequence[TriageKind], contended: int) -> str:
        """The diagnosis in words; shares are of the ``contended`` accesses of the line."""
        parts = []
        if TriageKind.FALSE_SHARING in kinds:
            doubted = frozenset(top.name for top in self.tops if top.doubted)
            for pair in self.pairs[:MOST_PAIRS]:
                other = pair.second if pair.writer == pair.first else pair.first
                names = (f"{name} (?)" if name in doubted else name for name in (other, pair.writer))
                words = "{} shares the line with {}, but nobody waits for it: it comes with another member's miss"
                words = words if pair.names in self.behind else "false sharing of {} with {}, which is written"
                parts.append(words.format(*names))
        for top in self.tops:
            part, main = f"{top.name} ({self.own.get(top.name, 0) / contended:.0%} of the line)", self.is_main(top.name)
            if top.between_elements:
                elements = ", ".join(top.elements)
                parts.append(f"false sharing between {elements}: pad or align the elements of {top.name}")
            if TriageKind.LOCK_CONTENTION in kinds and top.lock and main:
                parts.append(f"lock contention on {part}, which moving members does not remove{top.taken_by}")
            if top.within and main:
                victim, writer = top.within
                remedy = "only another layout of their own record parts them"
                parts.append(f"false sharing of {victim} with {writer}, which is written: {remedy}")
            if TriageKind.TRUE_SHARING in kinds and top.name in self.written and top.is_one_place and main:
                parts.append(f"true sharing on {part}, which no layout removes")
        if TriageKind.NO_WRITER in kinds:
            parts.append("only reads were seen: the writer is unknown")
        if TriageKind.ADJACENT_LINE in kinds:
            parts.append("no writer on this line, but in the other half of its 128-byte pair: adjacent-line sharing")
        return "; ".join(parts) or "nothing certain can be said about this line"


def top_members(members: Sequence[LineMember], objects: Sequence[LineObject] = ()) -> tuple[TopMember, ...]:
    """Members added up by the outermost record's member, most contended first; bare words of a lock are one lock."""
    names = top_names(members, objects)
    grouped: dict[str, list[LineMember]] = {}
    for member in members:
        grouped.setdefault(names[member.offset], []).append(member)
    tops = [TopMember(name, tuple(group)) for name, group in grouped.items()]
    return tuple(sorted(tops, key=lambda top: (-top.contended, -top.writes, top.name)))


def doubted(finding: Finding) -> frozenset[str]:
    """Names of the members that pairs of the line are about, though it is uncertain that they were sampled."""
    return frozenset(top.name for top in top_members(finding.members, finding.objects) if top.doubted)


def mostly_doubted(finding: Finding) -> bool:
    """Whether most of what members cost each other is that of some that may be others in the build of the report."""
    perhaps = doubted(finding).intersection(one.top for one in own_members(finding))
    contended = [0.0, 0.0]
    for one in finding.cost.sharings:
        if one.victim.member != one.writer.member:
            contended[not perhaps.isdisjoint(sharing_members(one))] += one.contended.most
    return contended[True] > contended[False]


def sharing_members(one: SharingCost) -> set[str]:
    """The members of which the two sides are elements, or parts on one line."""
    return {side.member.partition("[")[0].partition(OF_LINE)[0] for side in (one.victim, one.writer)}


def _conflict_pairs(tops: Sequence[TopMember]) -> tuple[ConflictPair, ...]:
    """Pairs of members of which one is written, heaviest first.

    The weight is what the meeting can explain: contended loads of the other member, and of the writer too
    when both are written. Then the writer is the one for whose stores the other waits most.
    """
    total = sum(top.contended for top in tops)
    pairs = []
    for one, other in combinations(tops, 2):
        if one.written or other.written:
            victim, writer = max(((one, other), (other, one)), key=lambda pair: _waits(*pair))
            weight = victim.contended + (writer.contended if victim.written else 0)
            first, second = sorted((one, other), key=lambda top: min(member.offset for member in top.members))
            if weight > 0 and weight >= PAIR_SHARE * total:
                pairs.append(ConflictPair(first.name, second.name, writer.name, weight))
    return tuple(sorted(pairs, key=lambda pair: (-pair.weight, pair.first, pair.second)))


def _waits(victim: TopMember, writer: TopMember) -> tuple[bool, int, int]:
    """How probable it is that one member waits for stores to the other; without any sampled the hottest is written."""
    return writer.written, victim.contended * writer.writes, writer.contended


def _recorded_pairs(told: Sequence[Blame], tops: Sequence[TopMember]) -> tuple[ConflictPair, ...]:
    """Pairs that were seen to take the line from each other for nothing, heaviest first: counted, not guessed."""
    places = {top.name: min(member.offset for member in top.members) for top in tops}
    total = sum(one.misses for one in told)
    pairs = []
    for names, weight in false_misses(told).items():
        if weight > 0 and weight >= PAIR_SHARE * total:
            first, second = sorted(names, key=lambda name: (places.get(name, 0), name))
            blamed = [one for one in told if one.victim != one.writer and {one.victim, one.writer} == names]
            # Who waits most, as in the table of who waits for whom.
            worst = max(blamed, key=lambda one: (one.false > 0, one.misses, one.false_shadowed))
            pairs.append(ConflictPair(first, second, worst.writer, weight))
    return tuple(sorted(pairs, key=lambda pair: (-pair.weight, pair.first, pair.second)))


def _own_contention(told: Sequence[Blame], locks: Collection[str] = ()) -> dict[str, int]:
    """Misses by member that no layout removes: the member's own bytes had been written elsewhere.

    The words of one lock stay together, so what they do to each other stays too.
    """
    own: dict[str, int] = {}
    for one in told:
        together = one.victim == one.writer and one.victim in locks
        own[one.victim] = own.get(one.victim, 0) + one.misses - (0 if together else one.false)
    return own


def _blame_reasons(told: Sequence[Blame]) -> Iterator[str]:
    for one in [one for one in told if one.misses][:MOST_BLAMES]:
        misses = f"{one.misses:,} miss{'es' if one.misses > 1 else ''} on {one.victim} ({one.victim_function})"
        share = f"{one.false / one.misses:.0%} false sharing"
        yield f"{misses} after {one.writer} was written ({one.writer_function}), {share}"
    least = max(1.0, PAIR_SHARE * sum(one.misses for one in told))
    behind = [one for one in told if one.false_shadowed >= least and one.victim != one.writer]
    for one in sorted(behind, key=lambda one: -one.false_shadowed)[:MOST_BLAMES]:
        accesses = f"{one.false_shadowed:,} access{'es' * (one.false_shadowed != 1)} to {one.victim}"
        yield (
            f"{accesses} ({one.victim_function}) came just behind such a miss and would miss in its place, after"
            f" {one.writer} was written"
        )


def _writer_reasons(kinds: Sequence[TriageKind], halves: Sequence[CacheLine], profile: Profile) -> tuple[str, ...]:
    """Where the writer of a line without one may be; ``halves`` are the other halves of its 128-byte pair."""
    buddy = next(iter(halves), None)
    if TriageKind.ADJACENT_LINE in kinds and buddy:
        return (f"line {buddy.rank}, the other half of this 128-byte pair, is written ({buddy.stores} stores)",)
    if TriageKind.NO_WRITER not in kinds:
        return ()
    half = f"line {buddy.rank}, the other half of its 128-byte pair, is hot too; " if buddy else ""
    if profile.recording:
        return (f"{half}no store to it was recorded since it was first contended",)
    elsewhere = "either the writer was not sampled, or it writes the other half of the 128-byte pair"
    return (f"{half}{elsewhere}, or clean lines were forwarded between caches, which some CPUs count as HITM",)


def _reasons(tops: Sequence[TopMember], line: CacheLine, profile: Profile) -> tuple[str, ...]:
    reasons = []
    if not line.stores and not profile.recording:
        reasons.append("no store was sampled on this line: writers are inferred, or not known")
    for top in tops:
        inferred = {member.write_inferred for member in top.members} - {""}
        if inferred and not top.writes:
            reasons.append(f"{top.name} is written: {'; '.join(sorted(inferred))}")
    same = sum(1 for one in profile.lines if one.address is not None and one.address == line.address)
    if same > 1:
        reasons.append(f"this address stands {same} times in the profile: the same address in several processes")
    return tuple(reasons)


def _object_reasons(tops: Sequence[TopMember], objects: Sequence[LineObject]) -> tuple[str, ...]:
    """That a line holds several objects, and whether one of them makes another one wait."""
    if len(objects) < 2:
        return ()
    places = listed((f"{one.type or one.variable or 'an object'} at {one.start:#x}" for one in objects), MOST_OBJECTS)
    written = {top.begin for top in tops if top.written}
    waiting = {top.begin for top in tops if top.contended}
    between = any(one != other for one in written for other in waiting)
    remedy = "; aligning each to a line parts them, which moving members does not" if between else ""
    return (f"{len(objects)} objects lie on this line: {places}{remedy}",)
