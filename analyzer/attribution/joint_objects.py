# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects on all lines of a profile, solved together.

Each line is first solved by itself, with every machine that slabs may have been laid out for. The objects that are sure
then tell the machine, and the types that are not where the rules put them; lines that were not sure, or that
contradict what the others say, are solved again with that. Then what is sure settles some of the rest. Last, of nested
records the one is named that holds what is hot.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from linesmith.analyzer.attribution.evidence import Evidence
from linesmith.analyzer.attribution.line_objects import Ground, ground_of, line_objects, with_misfits
from linesmith.analyzer.attribution.nested import narrowed_all
from linesmith.analyzer.attribution.settling import Objects, is_unsure, placed, settled, sure_objects
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import LineObject, Outcome, Profile, SharedLine
from linesmith.analyzer.slab import Kernel, SlabStarts, machines_with

# How sure the code must be that a record is one more of those of which a variable is known.
NO_OTHER = 0.99


def joint_objects(
    lines: Sequence[SharedLine],
    profile: Profile,
    evidence: Evidence,
    containment: Containment,
    kernel: Kernel | None,
    wanted: str | None = None,
) -> tuple[Objects, ...]:
    """The objects on each of ``lines``, of a ``wanted`` type where that explains a line.

    ``evidence`` is that of the functions of the lines; without a ``kernel`` each line stands for itself.
    """
    starts = None if kernel is None else SlabStarts(containment, kernel, machines_with(cpus_of(profile)))
    ground = ground_of(profile, evidence, containment, starts)
    found = tuple(line_objects(line, ground, wanted) for line in lines)
    if kernel is None:
        found = _beside_variables(lines, found, ground)
    learnt = None if starts is None else starts.learnt(sure_objects(lines, found))
    if starts is not None and learnt is not None and learnt.machines != starts.machines:
        ground = ground_of(profile, evidence, containment, learnt)
        pairs = zip(lines, found, strict=True)
        found = tuple(one if _stands(line, one, learnt) else line_objects(line, ground, wanted) for line, one in pairs)
    told = zip(lines, settled(lines, found, ground, learnt), strict=True)
    named = ((line, narrowed_all(objects, line, containment, wanted)) for line, objects in told)
    return tuple(with_misfits(objects, line, ground) for line, objects in named)


def _beside_variables(lines: Sequence[SharedLine], found: Sequence[Objects], ground: Ground) -> tuple[Objects, ...]:
    """The objects of a program of which some are variables: what is in doubt elsewhere is not taken for more of these.

    A record of which a program has a variable is seldom allocated as well.
    """
    types = {one.type for objects in found for one in objects if one.row is not None and one.type}
    pairs = zip(lines, found, strict=True)
    own = (
        line_objects(line, ground, None) if one[0].asked_for and one[0].type in types else one for line, one in pairs
    )
    return tuple(tuple(_doubted(one, types) for one in objects) for objects in own)


def _doubted(one: LineObject, types: Collection[str]) -> LineObject:
    """The object; in doubt where it is one of these types by the code alone, and that is not as good as sure."""
    if one.origin or one.type not in types or one.outcome is not Outcome.RESOLVED or one.margin >= NO_OTHER:
        return one
    reason = f"the program has a variable that is a {one.type}, and this is no part of it"
    return replace(one, outcome=Outcome.CANNOT_TELL, reason=reason)


def cpus_of(profile: Profile) -> int | None:
    """How many CPUs the profiled machine has, where the profile says it."""
    if profile.recording is not None and profile.recording.nodes:
        return len(profile.recording.nodes)
    return None if profile.sampling is None else profile.sampling.cpus


def _stands(line: SharedLine, objects: Objects, learnt: SlabStarts) -> bool:
    """Whether nothing that was learnt can change the answer."""
    if objects[0].origin or line.address is None:
        return True
    if objects[0].outcome is Outcome.RESOLVED:
        return all(map(learnt.agrees, placed(line, objects)))
    return not is_unsure(objects)
