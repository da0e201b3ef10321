# SPDX-License-Identifier: GPL-2.0-or-later
"""A line of a report of another build, as far as it says something of this build's layout.

Members that the code does not confirm may be others there. Where the record is laid out otherwise, members that met
there need not meet here. What is left are pairs that lie on one line in this build too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from linesmith.analyzer.attribution.line_objects import NO_OTHER
from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.alignment import record_alignment
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import ConflictPair, Finding, LineMember, LineObject
from linesmith.analyzer.sharing.parts import own_members

_OTHERWISE = "for the kernel that was profiled, give its own ELF file"


def meeting_here(finding: Finding, layouts: Layouts) -> Finding:
    """The finding with the members and pairs that meet in this build as well; others are returned as they are.

    Raises ``NothingToSuggest`` if there are pairs, and none of them does.
    """
    target = finding.objects[0] if finding.objects else None
    own = own_members(finding)
    if target is None or target.layout is None:
        return finding
    # A record that is sure and laid out as here: what is in doubt of its members is said with the candidate.
    unsure = target.margin < NO_OTHER and any(one.doubted for one in own)
    if not target.ways and not unsure:
        return finding
    sure = {one: one.object_offset or 0 for one in own if not one.doubted}
    known = _between(finding, {one.top for one in sure})
    if finding.triage.pairs and not known:
        places = ", ".join(f"{one.offset:#x}" for one in own if one.doubted)
        raise NothingToSuggest(
            f"Line {finding.rank}: which members of {target.type} are at {places} is unknown in this build, "
            f"so there is no pair to separate; {_OTHERWISE}."
        )
    start = _start(finding, target, sure, layouts) if target.ways else target.start
    here = {one for one, place in sure.items() if 0 <= place + start < finding.bytes}
    pairs = _between(finding, {one.top for one in here})
    if known and not pairs:
        names = {name for pair in known for name in (pair.first, pair.second)}
        where = dict.fromkeys(f"{one.top} at {place:#x}" for one, place in sure.items() if one.top in names)
        raise NothingToSuggest(
            f"Line {finding.rank}: in this build the members of {target.type} that meet in the report lie on different "
            f"lines ({', '.join(where)}), so there is no pair to part; {_OTHERWISE}."
        )
    others = [one for one in finding.members if one not in own]
    moved = [replace(one, offset=sure[one] + start, moved=0) for one in here]
    names = {one.top for one in here}
    sharings = [one for one in finding.cost.sharings if {one.victim.member, one.writer.member} <= names]
    return replace(
        finding,
        objects=(replace(target, start=start, phase=start % finding.bytes, ways=()), *finding.objects[1:]),
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
