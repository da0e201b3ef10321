# SPDX-License-Identifier: GPL-2.0-or-later
"""What a line costs, by the way its profile was taken, and what share of the profile a layout can remove."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from linesmith.analyzer.model import Bounds, Finding, LineCost, LineMember, LineObject, Profile, SharedLine
from linesmith.analyzer.sharing.conflict_cost import sampled_cost
from linesmith.analyzer.sharing.parts import Part, part_names, parts
from linesmith.analyzer.sharing.recorded_cost import recorded_cost


def line_cost(
    line: SharedLine,
    objects: Sequence[LineObject],
    members: Sequence[LineMember],
    profile: Profile,
    buddies: Sequence[Part],
    waited: float,
    unseen: Sequence[LineMember] = (),
) -> LineCost:
    """The cost of one line; ``members`` as ``line_members`` and ``infer_writers`` gave them.

    ``buddies`` are the parts of the other line of its 128-byte pair, ``waited`` is ``profile_waited`` of the profile;
    ``unseen`` are members that only conflicts name.
    """
    here = parts(line.accesses, members, objects, line.bytes)
    if line.conflicts:
        cost = recorded_cost(line, here, {**part_names(unseen, objects), **part_names(members, objects)})
    else:
        cost = sampled_cost(line, here, buddies, _rated(here, profile))
    return replace(cost, share=_share(cost, line, waited))


def by_removable(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by the share of the profile that a layout can remove at most, then at least, then by their rank."""
    return tuple(sorted(found, key=lambda one: (-one.cost.share.most, -one.cost.share.least, one.rank)))


def _rated(here: Sequence[Part], profile: Profile) -> bool:
    """Whether sampled stores tell how often each part is written; IBS counts atomic updates among the loads."""
    ibs = any(event.startswith("ibs_") for event in profile.events)
    hidden = ibs and any(part.inferred and not part.stores for part in here)
    return any(part.stores for part in here) and not hidden


def _share(cost: LineCost, line: SharedLine, waited: float) -> Bounds:
    """Of all cycles of the profile; where its lines cannot be compared, of the line's own share."""
    most = Bounds(
        max(cost.removable_cycles.least, cost.adjacent_cycles.least),
        max(cost.removable_cycles.most, cost.adjacent_cycles.most),
    )
    if line.nominal and line.share is not None:
        return most.times(line.share / cost.waited) if cost.waited else Bounds()
    return most.times(1 / waited) if waited else Bounds()
