# SPDX-License-Identifier: GPL-2.0-or-later
"""The diagnosis of a line: which members meet, who writes, and whether moving members can help.

Rules in the order in which they are told: false sharing (two top-level members, one line, one of them
written), lock contention (a lock's own words carry the contention: moving it is a band-aid), true sharing
(one member carries it; straddling, where it lies on two hot lines), adjacent-line sharing (no writer here, one in the
other half of the 128-byte pair), no writer seen. Several can hold at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.attribution.lock import waits_for_lock
from linesmith.analyzer.model import (
    ConflictPair,
    Finding,
    LineMember,
    LineObject,
    Profile,
    SharedLine,
    Triage,
    TriageKind,
)
from linesmith.analyzer.sharing.accounts import Blame, blames, false_misses
from linesmith.analyzer.sharing.parts import top_names

# A pair below this share of a line's contended loads is noise of the sampling.
PAIR_SHARE = 0.01
# A member that carries this share of the line's contention is what the line is about.
MAIN_SHARE = 0.5
# Objects of a line that are told.
MOST_OBJECTS = 4
# Blames that are told as reasons.
MOST_BLAMES = 3


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
        """Whether it is in doubt that what was sampled is this member at all."""
        return all(member.doubted for member in self.members)

    @property
    def begin(self) -> int | None:
        """Where the object begins that the member is of, counted from the line; ``None`` where that is not known."""
        first = self.members[0]
        return None if first.object_offset is None else first.offset - first.object_offset

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
        """The part that most wait on and nobody writes, and the one beside it in the same element that is written."""
        read = [one for one in self.members if not one.written]
        waiting = {one.path: sum(function.contended for function in one.functions) for one in read}
        if self.lock or not read or 2 * sum(waiting.values()) < self.contended or not self.contended:
            return None
        victim = max(read, key=lambda one: waiting[one.path])
        element = victim.path.partition(".")[0]
        beside = [one for one in self.members if one.written and one.path.partition(".")[0] == element]
        return (victim.path, max(beside, key=lambda one: one.writes).path) if beside else None

    @property
    def waited_for(self) -> bool:
        """Whether a function that waits for a lock was seen here."""
        names = (function.name for member in self.members for function in member.functions)
        return self.lock and any(waits_for_lock(name) for name in names)


def _is_one_place(top: TopMember) -> bool:
    """Whether those who wait on the member wait for stores to the same words, as far as the samples show."""
    return not top.between_elements and top.within is None


# What a recording had no room for that may hide stores.
_DROPPED = ("dropped_lines", "dropped_contended", "dropped_accesses")


def infer_writers(members: Sequence[LineMember], profile: Profile) -> tuple[LineMember, ...]:
    """Mark members that must be written although no store was sampled (AMD IBS tags an atomic update a load).

    A recording for which there was room has every store: what its code may write besides, it did not.
    """
    if profile.recording is not None and not any(dict(profile.recording.counts).get(name) for name in _DROPPED):
        return tuple(replace(one, write_inferred="") if one.write_inferred else one for one in members)
    sampled = any(member.writes or member.write_inferred for member in members)
    ibs = any(event.startswith("ibs_") for event in profile.events)
    if sampled or not ibs:
        return tuple(members)
    reason = "IBS counts an atomic update as a load, and a HITM needs a writer"
    return tuple(
        replace(one, write_inferred=reason) if any(f.contended for f in one.functions) else one for one in members
    )


def triage(
    line: SharedLine,
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
    told = blames(line.conflicts, {**top_names(unseen, objects), **top_names(members, objects)})
    pairs = recorded_pairs(told, tops) if told else conflict_pairs(tops)
    locks = frozenset(top.name for top in tops if top.lock)
    own = own_contention(told, locks) if told else {top.name: top.contended for top in tops}
    total = sum(one.misses for one in told) or sum(top.contended for top in tops) or 1
    buddy = _writing_buddy(line, profile)
    written = frozenset(top.name for top in tops if top.written) | {one.writer for one in told}
    kinds = _kinds(tops, own, total, written, pairs, objects, buddy)
    if straddler and own.get(straddler, 0) >= MAIN_SHARE * total:
        kinds = (TriageKind.STRADDLE, *kinds)
    reasons = (*_reasons(tops, line, profile), *_blame_reasons(told), *_writer_reasons(kinds, line, profile))
    reasons += _object_reasons(tops, objects)
    shares = {name: count / max(total, line.contended) for name, count in own.items()}
    main = frozenset(name for name, count in own.items() if count >= MAIN_SHARE * total)
    sentence = _sentence(kinds, tops, shares, main, written, pairs)
    if TriageKind.STRADDLE in kinds:
        sentence = f"{straddler} lies on this line and on another hot one, so both travel; {sentence}"
    return Triage(kinds, pairs, sentence, reasons)


def top_members(members: Sequence[LineMember], objects: Sequence[LineObject] = ()) -> tuple[TopMember, ...]:
    """Members added up by the outermost record's member, most contended first; bare words of a lock are one lock."""
    names = top_names(members, objects)
    grouped: dict[str, list[LineMember]] = {}
    for member in members:
        grouped.setdefault(names[member.offset], []).append(member)
    tops = [TopMember(name, tuple(group)) for name, group in grouped.items()]
    return tuple(sorted(tops, key=lambda top: (-top.contended, -top.writes, top.name)))


def doubted(finding: Finding) -> frozenset[str]:
    """Names of the members that pairs of the line are told of, though it is in doubt that they were sampled."""
    return frozenset(top.name for top in top_members(finding.members, finding.objects) if top.doubted)


def conflict_pairs(tops: Sequence[TopMember]) -> tuple[ConflictPair, ...]:
    """Pairs of members of which one is written, heaviest first.

    The weight is what the meeting can explain: contended loads of the other member, and of the writer too
    when both are written.
    """
    total = sum(top.contended for top in tops)
    pairs = []
    for index, one in enumerate(tops):
        for other in tops[index + 1 :]:
            pair = _pair(one, other)
            if pair and pair.weight > 0 and pair.weight >= PAIR_SHARE * total:
                pairs.append(pair)
    return tuple(sorted(pairs, key=lambda pair: (-pair.weight, pair.first, pair.second)))


def recorded_pairs(told: Sequence[Blame], tops: Sequence[TopMember]) -> tuple[ConflictPair, ...]:
    """Pairs that were seen to take the line from each other for nothing, heaviest first: counted, not guessed."""
    places = {top.name: min(member.offset for member in top.members) for top in tops}
    total = sum(one.misses for one in told)
    pairs = []
    for names, weight in false_misses(told).items():
        if weight > 0 and weight >= PAIR_SHARE * total:
            first, second = sorted(names, key=lambda name: (places.get(name, 0), name))
            pairs.append(ConflictPair(first, second, _blamed_most(told, names), weight))
    return tuple(sorted(pairs, key=lambda pair: (-pair.weight, pair.first, pair.second)))


def own_contention(told: Sequence[Blame], locks: Collection[str] = ()) -> dict[str, int]:
    """Misses by member that no layout removes: the member's own bytes had been written elsewhere.

    The words of one lock stay together, so what they do to each other stays too.
    """
    own: dict[str, int] = {}
    for one in told:
        together = one.victim == one.writer and one.victim in locks
        own[one.victim] = own.get(one.victim, 0) + one.misses - (0 if together else one.false)
    return own


def _blamed_most(told: Sequence[Blame], names: frozenset[str]) -> str:
    blamed = [one for one in told if one.victim != one.writer and {one.victim, one.writer} == names]
    return max(blamed, key=lambda one: one.false + one.false_shadowed).writer


def _blame_reasons(told: Sequence[Blame]) -> tuple[str, ...]:
    missed = [one for one in told if one.misses][:MOST_BLAMES]
    least = max(1.0, PAIR_SHARE * sum(one.misses for one in told))
    behind = [one for one in told if one.false_shadowed >= least and one.victim != one.writer]
    behind.sort(key=lambda one: -one.false_shadowed)
    return (*(_miss_words(one) for one in missed), *(_shadow_words(one) for one in behind[:MOST_BLAMES]))


def _miss_words(one: Blame) -> str:
    misses = f"{one.misses:,} miss{'es' if one.misses > 1 else ''} on {one.victim} ({one.victim_function})"
    return (
        f"{misses} after {one.writer} was written ({one.writer_function}), {one.false / one.misses:.0%} false sharing"
    )


def _shadow_words(one: Blame) -> str:
    accesses = f"{one.false_shadowed:,} access{'es' * (one.false_shadowed != 1)} to {one.victim}"
    return (
        f"{accesses} ({one.victim_function}) came just behind such a miss and would miss in its place, after"
        f" {one.writer} was written"
    )


def _pair(one: TopMember, other: TopMember) -> ConflictPair | None:
    if not (one.written or other.written):
        return None
    writer, victim = _writer_first(one, other)
    weight = victim.contended + (writer.contended if victim.written else 0)
    first, second = sorted((one, other), key=lambda top: min(member.offset for member in top.members))
    return ConflictPair(first.name, second.name, writer.name, weight)


def _writer_first(one: TopMember, other: TopMember) -> tuple[TopMember, TopMember]:
    strength = [(top.writes, top.written) for top in (one, other)]
    return (one, other) if strength[0] >= strength[1] else (other, one)


def _kinds(
    tops: Sequence[TopMember],
    own: Mapping[str, int],
    total: int,
    written: Collection[str],
    pairs: Sequence[ConflictPair],
    objects: Sequence[LineObject],
    buddy: SharedLine | None,
) -> tuple[TriageKind, ...]:
    half = MAIN_SHARE * total
    kinds = []
    inside = [top for top in tops if top.within and own.get(top.name, 0) >= half]
    if pairs or inside or any(top.between_elements for top in tops):
        kinds.append(TriageKind.FALSE_SHARING)
    if any(top.waited_for and own.get(top.name, 0) >= half for top in tops):
        kinds.append(TriageKind.LOCK_CONTENTION)
    elif any(top.name in written and _is_one_place(top) and own.get(top.name, 0) >= half for top in tops):
        kinds.append(TriageKind.TRUE_SHARING)
    if not written:
        kinds.append(TriageKind.ADJACENT_LINE if buddy else TriageKind.NO_WRITER)
    if len(objects) > 1:
        kinds.append(TriageKind.SEVERAL_OBJECTS)
    return tuple(kinds) if tops and kinds else (TriageKind.UNKNOWN,)


def _writing_buddy(line: SharedLine, profile: Profile) -> SharedLine | None:
    """The other half of the 128-byte pair, if stores were sampled on it (the prefetcher fetches both)."""
    if line.address is None or line.bytes != 64:
        return None
    wanted = line.address ^ 64
    found = (one for one in profile.lines if one.address == wanted and one.stores)
    return next(found, None)


def _writer_reasons(kinds: Sequence[TriageKind], line: SharedLine, profile: Profile) -> tuple[str, ...]:
    """Where the writer of a line without one may be."""
    buddy = next((one for one in profile.lines if line.address is not None and one.address == line.address ^ 64), None)
    if TriageKind.ADJACENT_LINE in kinds and buddy:
        return (f"line {buddy.rank}, the other half of this 128-byte pair, is written ({buddy.stores} stores)",)
    if TriageKind.NO_WRITER not in kinds:
        return ()
    half = f"line {buddy.rank}, the other half of its 128-byte pair, is hot too; " if buddy else ""
    if profile.recording:
        return (f"{half}no store to it was recorded since it was first contended",)
    elsewhere = "either the writer was not sampled, or it writes the other half of the 128-byte pair"
    return (f"{half}{elsewhere}, or clean lines were forwarded between caches, which some CPUs count as HITM",)


def _reasons(tops: Sequence[TopMember], line: SharedLine, profile: Profile) -> tuple[str, ...]:
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
    listed = ", ".join(f"{one.type or one.variable or 'an object'} at {one.start:#x}" for one in objects[:MOST_OBJECTS])
    more = f" and {len(objects) - MOST_OBJECTS} more" if len(objects) > MOST_OBJECTS else ""
    written = {top.begin for top in tops if top.written}
    waiting = {top.begin for top in tops if top.contended}
    between = any(one != other for one in written for other in waiting)
    remedy = "; aligning each to a line parts them, which moving members does not" if between else ""
    return (f"{len(objects)} objects lie on this line: {listed}{more}{remedy}",)


def _sentence(
    kinds: Sequence[TriageKind],
    tops: Sequence[TopMember],
    shares: Mapping[str, float],
    main: Collection[str],
    written: Collection[str],
    pairs: Sequence[ConflictPair],
) -> str:
    """The diagnosis in words; ``shares`` are of the line's contended accesses, ``main`` what the line is about."""
    parts = []
    if TriageKind.FALSE_SHARING in kinds:
        doubted = frozenset(top.name for top in tops if top.doubted)
        parts += [_pair_words(pair, doubted) for pair in pairs[:3]]
    for top in tops:
        part = f"{top.name} ({shares.get(top.name, 0):.0%} of the line)"
        if top.between_elements:
            parts.append(f"false sharing between {', '.join(top.elements)}: pad or align the elements of {top.name}")
        if TriageKind.LOCK_CONTENTION in kinds and top.waited_for and top.name in main:
            parts.append(f"lock contention on {part}, which moving members does not remove")
        if top.within and top.name in main:
            victim, writer = top.within
            remedy = "only another layout of their own record parts them"
            parts.append(f"false sharing of {victim} with {writer}, which is written: {remedy}")
        if TriageKind.TRUE_SHARING in kinds and top.name in written and _is_one_place(top) and top.name in main:
            parts.append(f"true sharing on {part}, which no layout removes")
    if TriageKind.NO_WRITER in kinds:
        parts.append("only reads were seen: the writer is unknown")
    if TriageKind.ADJACENT_LINE in kinds:
        parts.append("no writer on this line, but in the other half of its 128-byte pair: adjacent-line sharing")
    return "; ".join(parts) or "nothing certain can be said about this line"


def _pair_words(pair: ConflictPair, doubted: Collection[str]) -> str:
    other = pair.second if pair.writer == pair.first else pair.first
    named, written = (f"{name} (?)" if name in doubted else name for name in (other, pair.writer))
    return f"false sharing of {named} with {written}, which is written"
