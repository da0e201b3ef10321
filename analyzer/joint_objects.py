# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects on all lines of a profile, solved together.

Each line is first solved by itself, with every machine that slabs may have been laid out for. The objects that are sure
then tell the machine, and the types that are not where the rules put them; lines that were not sure, or that
contradict what the others say, are solved again with that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.evidence import Evidence
from linesmith.analyzer.line_objects import ground_of, line_objects
from linesmith.analyzer.model import LineObject, Outcome, Profile, SharedLine
from linesmith.analyzer.slab import Kernel, PlacedStart, SlabStarts, machines_with

_UNSURE = (Outcome.CANNOT_TELL, Outcome.INNER_TYPE_ONLY)

Objects = tuple[LineObject, ...]


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
    learnt = None if starts is None else starts.learnt(_sure(lines, found))
    if starts is None or learnt is None or learnt.machines == starts.machines:
        return found
    ground = ground_of(profile, evidence, containment, learnt)
    pairs = zip(lines, found, strict=True)
    return tuple(one if _stands(line, one, learnt) else line_objects(line, ground, wanted) for line, one in pairs)


def cpus_of(profile: Profile) -> int | None:
    """How many CPUs the profiled machine has, where the profile says it."""
    if profile.recording is not None and profile.recording.nodes:
        return len(profile.recording.nodes)
    return None if profile.sampling is None else profile.sampling.cpus


def _sure(lines: Sequence[SharedLine], found: Sequence[Objects]) -> Iterable[PlacedStart]:
    """The objects that are sure by what their functions touch; of others a snapshot knows better."""
    for line, objects in zip(lines, found, strict=True):
        if line.address is not None and objects[0].outcome is Outcome.RESOLVED and not objects[0].origin:
            yield from _placed(line, objects)


def _placed(line: SharedLine, objects: Objects) -> Iterable[PlacedStart]:
    if line.address is not None and objects[0].layout is not None:
        yield PlacedStart(objects[0].layout, line.address + objects[0].start)


def _stands(line: SharedLine, objects: Objects, learnt: SlabStarts) -> bool:
    """Whether nothing that was learnt can change the answer."""
    if objects[0].origin or line.address is None:
        return True
    if objects[0].outcome is Outcome.RESOLVED:
        return all(map(learnt.agrees, _placed(line, objects)))
    return objects[0].outcome not in _UNSURE
