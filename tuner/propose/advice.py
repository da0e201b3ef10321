# SPDX-License-Identifier: GPL-2.0-or-later
"""Where moving members cannot win: the reason, and what can be done instead.

A line of a report of another build counts as far as it says something of this build's layout. Members that the code
does not confirm may be others there. Where the record is laid out otherwise, members that met there need not meet here.
What is left are pairs that lie on one line in this build too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from linesmith.analyzer.attribution.line_objects import NO_OTHER
from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import record_alignment
from linesmith.analyzer.layouts.placement import visible_places
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    ConflictPair,
    Finding,
    LineMember,
    LineObject,
    Outcome,
    TriageKind,
)
from linesmith.analyzer.sharing.parts import is_of_each, own_members
from linesmith.analyzer.sharing.triage import mostly_doubted, sharing_members, top_members
from linesmith.tuner.propose.meetings import cost
from linesmith.tuner.propose.subject import ContendedRecord

SHARD = "shard the lock with what it protects (per CPU or per node)"
SHORTEN = "shorten what is done under it, or read before taking it"
TWO_ARRAYS = "make two arrays of it, one of what is written and one of what is only read"
OWN_VARIABLES = "give each thread or CPU a variable of its own, and add up on reading"
STORE_LESS = "store to it less often"
SPLIT = "count per CPU and add up on reading"
READ_FIRST = "read before writing, so that an unchanged value is not stored again"
ALTERNATIVES: dict[TriageKind, tuple[str, ...]] = {
    TriageKind.LOCK_CONTENTION: (SHARD, SHORTEN, "use a smaller or a fairer lock"),
    TriageKind.TRUE_SHARING: (f"a counter: {SPLIT}", f"a flag: {READ_FIRST}", "a list or tree: shard or shorten it"),
    TriageKind.FALSE_SHARING: (READ_FIRST, "move one of them into an object of its own"),
    TriageKind.ADJACENT_LINE: ("align the written line to 128 bytes", "measure with the adjacent-line prefetcher off"),
    TriageKind.SEVERAL_OBJECTS: ("align each object to a cache line where it is allocated",),
    TriageKind.STRADDLE: ("align the member to its size",),
    TriageKind.NO_WRITER: ("record stores too (perf c2c record -e ldlat-loads,ldlat-stores)",),
    TriageKind.UNKNOWN: ("record again with offsets and symbols",),
}
REASONS: dict[TriageKind, str] = {
    TriageKind.LOCK_CONTENTION: "the contention is on one lock, and its words stay together wherever it is moved",
    TriageKind.TRUE_SHARING: "the contention is on one member that all CPUs really share",
    TriageKind.FALSE_SHARING: "no two members that meet here can be separated",
    TriageKind.ADJACENT_LINE: "no member of this line is written, only the other half of its 128-byte pair",
    TriageKind.SEVERAL_OBJECTS: "the members that meet belong to different objects",
    TriageKind.STRADDLE: "the hot member itself lies on two lines",
    TriageKind.NO_WRITER: "nobody was seen writing on the line, so nothing says what to separate",
    TriageKind.UNKNOWN: "which members meet on its hottest line is not known",
}
# Diagnoses of which nothing follows, neither that moving members helps nor that it does not.
UNDECIDED = frozenset({TriageKind.NO_WRITER, TriageKind.UNKNOWN})
# What to do about a line without a writer where stores were sampled, or all of them recorded.
SAMPLE_MORE = (
    "record longer, or more stores (perf c2c record -c PERIOD), of which some were sampled but none on this line",
    "see who may write its members (`linesmith access FILE --type TYPE`)",
)
RECORD_LONGER = ("begin to record earlier, or record longer: all stores since the line was first contended were seen",)

MOST_CONSTRAINTS = 3
# Structs that may hold a type are named if there are no more.
MOST_CONTAINERS = 3
_OTHERWISE = "for the kernel that was profiled, give its own ELF file"


def meeting_here(finding: Finding, layouts: Layouts) -> Finding:
    """The finding with the members and pairs that meet in this build as well; others are returned as they are.

    Raises ``NothingToSuggest`` if there are pairs, and none of them does, or if most meet a member that is not known.
    """
    target = finding.objects[0] if finding.objects else None
    own = own_members(finding)
    if target is None or target.layout is None:
        return finding
    sure = {one: one.object_offset or 0 for one in own if not one.doubted}
    known = _between(finding, {one.top for one in sure})
    unsure = target.margin < NO_OTHER and len(sure) < len(own)
    nothing = not known and (target.ways or unsure)
    if finding.triage.pairs and (nothing or mostly_doubted(finding)):
        places = ", ".join(f"{one.offset:#x}" for one in own if one.doubted)
        otherwise = (
            f"the report's build lays out {target.type} otherwise, and which members it has at {places} is not known"
        )
        perhaps = f"what was accessed at {places} does not fit the members that {target.type} has there"
        why = otherwise if target.ways or unsure else perhaps
        raise NothingToSuggest(
            f"Line {finding.rank}: {why}, so whether its members share falsely is not known; {_OTHERWISE}."
        )
    # A record that is sure and laid out as here: what is uncertain of its members is stated with the candidate.
    if not target.ways and not unsure:
        return finding
    start = _start(finding, target, sure, layouts) if target.ways else target.start
    here = {one for one, place in sure.items() if 0 <= place + start < finding.bytes}
    pairs = _between(finding, {one.top for one in here})
    if known and not pairs:
        names = {name for pair in known for name in (pair.first, pair.second)}
        where = dict.fromkeys(f"{one.top} at {place:#x}" for one, place in sure.items() if one.top in names)
        raise NothingToSuggest(
            f"Line {finding.rank}: in this build the members of {target.type} that meet in the report lie on different "
            f"lines ({', '.join(where)}), so there is no pair to separate; {_OTHERWISE}."
        )
    others = [one for one in finding.members if one not in own]
    moved = [replace(one, offset=sure[one] + start, moved=0) for one in here]
    names = {one.top for one in here}
    sharings = [one for one in finding.cost.sharings if sharing_members(one) <= names]
    return replace(
        finding,
        objects=(replace(target, start=start, ways=()), *finding.objects[1:]),
        members=tuple(sorted((*moved, *others), key=lambda one: one.offset)),
        triage=replace(finding.triage, pairs=pairs),
        cost=replace(finding.cost, sharings=tuple(sharings)),
    )


def _between(finding: Finding, names: set[str]) -> tuple[ConflictPair, ...]:
    return tuple(pair for pair in finding.triage.pairs if {pair.first, pair.second} <= names)


def _start(finding: Finding, target: LineObject, places: Mapping[LineMember, int], layouts: Layouts) -> int:
    """Where the object must begin so that most of what meets in the report does in this build, too."""
    step = record_alignment(layouts.by_id(target.layout or 0))

    def met(start: int) -> int:
        names = {one.top for one, place in places.items() if 0 <= place + start < finding.bytes}
        return sum(pair.weight for pair in _between(finding, names))

    first = -(max(places.values(), default=0) // step) * step
    return max(range(first, finding.bytes, step), key=lambda start: (met(start), start == target.start))


def refuse_hopeless(finding: Finding, layouts: Layouts) -> None:
    """Raise ``NothingToSuggest`` when the finding names no pair of members that an order could part."""
    where = f"Line {finding.rank}"
    target = finding.objects[0] if finding.objects else None
    if target is not None and target.variable:
        raise _refuse_variable(finding, target)
    if target is None or target.layout is None:
        raise NothingToSuggest(f"{where}: {_unknown_object(finding)}.")
    layout = layouts.by_id(target.layout)
    # A part of an object that is larger than a line has members to move, too.
    part = target.outcome is Outcome.INNER_TYPE_ONLY and layout.size > CACHE_LINE_BYTES
    if not part and target.outcome is not Outcome.RESOLVED:
        raise NothingToSuggest(f"{where}: {_unknown_object(finding)}.")
    places = visible_places(layout, layouts)
    if is_lock(target.type):
        met = next((pair for pair in finding.triage.pairs if {pair.first, pair.second} - {target.type, *places}), None)
        if met is not None and TriageKind.LOCK_CONTENTION not in finding.triage.kinds:
            reason = f"{met.reader} and {met.writer} are different objects"
            raise _refusal(finding, TriageKind.SEVERAL_OBJECTS, reason)
        raise _refusal(finding, TriageKind.LOCK_CONTENTION, f"the object is a {target.type}, a lock itself")
    if not finding.triage.pairs:
        # The array of the object whose elements disturb each other.
        tops = [top.name for top in top_members(finding.members, finding.objects) if top.between_elements]
        array = next((one for one in layout.members if one.name in tops and one.dimensions), None)
        if array is not None:
            number = prod(array.dimensions)
            raise _refuse_row(finding, array.name, array.size // number if number else 0, number, TWO_ARRAYS)
        kind = finding.triage.kinds[0] if finding.triage.kinds else TriageKind.UNKNOWN
        if kind is TriageKind.UNKNOWN and finding.cost.exact and not finding.cost.removable.most:
            why = "who takes over an object fetches its line, whatever the order. Instead: reuse it on one CPU"
            raise NothingToSuggest(f"{where}: moving members does not help, because {why}.")
        raise _refusal(finding, kind, REASONS[kind])
    if not any(pair.first in places and pair.second in places for pair in finding.triage.pairs):
        pair = finding.triage.pairs[0]
        names = (f"what is at {one} of the line" if one[0].isdigit() else one for one in (pair.first, pair.second))
        reason = f"{' and '.join(names)} are not both members of one {layout.title}"
        raise _refusal(finding, TriageKind.SEVERAL_OBJECTS, reason)


def _refuse_variable(finding: Finding, target: LineObject) -> NothingToSuggest:
    """A variable that is no record, or elements of an array of such."""
    row = target.row
    if row is not None and sum(one.row == row for one in finding.objects) > 1:
        return _refuse_row(finding, row.name, row.stride, row.count, OWN_VARIABLES)
    kind = finding.triage.kinds[0] if finding.triage.kinds else TriageKind.UNKNOWN
    reason = f"{target.variable} is a variable without members"
    if kind in UNDECIDED:
        return _refusal(finding, kind, reason)
    if kind is TriageKind.LOCK_CONTENTION:
        return _refusal(finding, kind, f"{target.variable} is a lock itself")
    less = "align it to a line of its own, or store to it less often" if len(finding.objects) > 1 else STORE_LESS
    return NothingToSuggest(f"Line {finding.rank}: moving members does not help, because {reason}. Instead: {less}.")


def _refuse_row(finding: Finding, name: str, each: int, number: int, otherwise: str) -> NothingToSuggest:
    """``number`` elements of ``each`` so many bytes, of which some disturb each other; ``otherwise`` helps as well."""
    line = -(-each // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
    sizes = f" ({each} -> {line} bytes each, {each * number:,} -> {line * number:,} in all)" if each else ""
    return NothingToSuggest(
        f"Line {finding.rank}: moving members does not help, because elements of {name} meet. Instead: align each"
        f" element to a line{sizes}; or {otherwise}."
    )


def _unknown_object(finding: Finding) -> str:
    if not finding.objects:
        return "no object is known for it, so there is nothing to rearrange"
    target = finding.objects[0]
    said = f" ({target.reason})" if target.reason and target.outcome is not Outcome.NO_TYPE else ""
    if target.outcome is Outcome.INNER_TYPE_ONLY:
        held = f", perhaps of {', '.join(target.containers)}" if 0 < len(target.containers) <= MOST_CONTAINERS else ""
        return f"only the inner type {target.type}{held} is known, not the struct whose members could move{said}"
    return f"the record on its lines could not be identified{said}, so there is nothing to rearrange"


def _refusal(finding: Finding, kind: TriageKind, reason: str) -> NothingToSuggest:
    instead = ALTERNATIVES[kind]
    if kind is TriageKind.NO_WRITER and (finding.simulated or finding.stores_sampled):
        instead = RECORD_LONGER if finding.simulated else SAMPLE_MORE
    of_each = any(is_of_each(one.origin, one.type, one.variable) for one in finding.objects[:1])
    others = "; ".join(one for one in instead if SPLIT not in one or not of_each)
    if kind in UNDECIDED:
        said = f"it is not known whether moving members helps, because {reason}. To find out: {others}."
    else:
        said = f"moving members does not help, because {reason}. Instead: {others}."
    return NothingToSuggest(f"Line {finding.rank}: {said}")


def nothing_helps(finding: Finding, target: ContendedRecord) -> NothingToSuggest:
    """Why the search over ``target`` came back empty."""
    joined = [one for one in target.heat.sampled if target.owners[one.first.member] == target.owners[one.second.member]]
    if not target.heat.sampled:
        return _refusal(finding, TriageKind.TRUE_SHARING, REASONS[TriageKind.TRUE_SHARING])
    if len(joined) == len(target.heat.sampled):
        names = f"{joined[0].first.name} and {joined[0].second.name}"
        part = target.parts[target.owners[joined[0].first.member]]
        run = f"the run of {len(part.members)} members from {part.name} on"
        whole = run if len(part.members) > 1 else f"one union or record with {part.name}"
        reason = f"{names} are parts of {whole}, which moves as a whole"
        return _refusal(finding, TriageKind.FALSE_SHARING, reason)
    if cost(target.heat, target.starts, target.heat.granule).anywhere == 0:
        names = " and ".join(sorted({spot.name for one in target.heat.sampled for spot in (one.first, one.second)}))
        reason = f"{names} are on different lines of {target.layout.title} already: the profile is of another build"
        return _refusal(finding, TriageKind.UNKNOWN, reason)
    few = "; ".join(str(one) for one in target.freedom.constraints[:MOST_CONSTRAINTS])
    reason = f"no legal order of {target.layout.title} costs less{f' ({few})' if few else ''}"
    return _refusal(finding, TriageKind.FALSE_SHARING, reason)
