# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects on a line: by address where a snapshot knows it, else by what the code of its accesses touches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linesmith.analyzer.addresses.object_map import ObjectMap
from linesmith.analyzer.attribution.attribute import attribute, attribute_as, attribute_begun, attribute_to
from linesmith.analyzer.attribution.doubts import ill_fitting, misfit_words
from linesmith.analyzer.attribution.evidence import Evidence
from linesmith.analyzer.attribution.hypotheses import Hypothesis, within
from linesmith.analyzer.attribution.identify import identify
from linesmith.analyzer.attribution.likelihood import clues_of
from linesmith.analyzer.attribution.neighbours import Neighbourhood
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import LineObject, Outcome, Profile, SharedLine
from linesmith.analyzer.slab import SlabStarts

_IN_KERNEL = "the kernel, but the ELF file is a program; give the kernel's vmlinux instead of it for such lines"


@dataclass(frozen=True, slots=True)
class Ground:
    """What is known of the lines of a profile: by the code, by a snapshot, by the lines that are close."""

    evidence: Evidence
    containment: Containment
    objects: ObjectMap
    neighbourhood: Neighbourhood
    kernel: bool


def ground_of(
    profile: Profile, evidence: Evidence, containment: Containment, starts: SlabStarts | None = None
) -> Ground:
    """What is known of the lines of the profile.

    ``evidence`` is that of their functions, ``starts`` what the slabs of a kernel leave possible.
    """
    kernel = is_kernel(containment.layouts)
    own = (_own(line, kernel) for line in profile.lines)
    neighbourhood = Neighbourhood(own, evidence, containment, starts)
    return Ground(evidence, containment, ObjectMap(profile.areas), neighbourhood, kernel)


def line_objects(line: SharedLine, ground: Ground, wanted: str | None) -> tuple[LineObject, ...]:
    """The objects on a line, the one that explains most first; of a ``wanted`` type where that explains it."""
    own = _own(line, ground.kernel)
    if line.accesses and not own.accesses:
        return (_elsewhere(ground.kernel),)
    known = ground.evidence, ground.containment, ground.neighbourhood
    if identified := identify(own, ground.objects, *known, wanted):
        return identified
    return attribute(own, *known) if wanted is None else attribute_as(wanted, own, *known)


def reaching(one: Hypothesis, line: SharedLine, ground: Ground) -> LineObject | None:
    """An object that is sure elsewhere, on a line that it reaches onto, if it explains that line too."""
    if one.start + ground.containment.layouts.by_id(one.layout).size <= 0:
        return None
    return attribute_to(one, _own(line, ground.kernel), ground.evidence, ground.containment, ground.neighbourhood)


def begun(one: Hypothesis, line: SharedLine, ground: Ground) -> LineObject | None:
    """A part that is sure on the line behind, on the line where it begins, if that line is about it."""
    if not 0 <= one.start < line.bytes:
        return None
    return attribute_begun(one, _own(line, ground.kernel), ground.evidence, ground.containment)


def with_misfits(objects: tuple[LineObject, ...], line: SharedLine, ground: Ground) -> tuple[LineObject, ...]:
    """The objects of a line; of those that only code tells with what hardly fits them, as a reason."""
    own = _own(line, ground.kernel)
    return tuple(one if one.origin else _with_misfits(one, own, ground) for one in objects)


def _with_misfits(one: LineObject, own: SharedLine, ground: Ground) -> LineObject:
    if one.layout is None or one.outcome is not Outcome.RESOLVED:
        return one
    place = Hypothesis(one.layout, one.start)
    held, _ = within(clues_of(own.accesses, ground.evidence), place, ground.containment)
    misfits = ill_fitting(place, held, ground.containment)
    against = misfit_words(misfits) if misfits else ""
    reason, doubt = ("; ".join(filter(None, (said, against))) for said in (one.reason, one.doubt))
    return replace(one, reason=reason, doubt=doubt, misfits=misfits)


def is_kernel(layouts: Layouts) -> bool:
    """Whether the layouts are those of a Linux kernel: only a kernel has a task_struct with a thread_info."""
    tasks = layouts.variants("task_struct")
    return any(member.name in ("thread_info", "stack") for task in tasks for member in task.members)


def _elsewhere(kernel: bool) -> LineObject:
    place = "user space, but the ELF file is a kernel" if kernel else _IN_KERNEL
    outcome = Outcome.USER_SPACE if kernel else Outcome.NO_EVIDENCE
    return LineObject("", None, 0, 0, 0.0, outcome, reason=f"every access comes from {place}")


def _own(line: SharedLine, kernel: bool) -> SharedLine:
    """The line with the accesses of kernel code for a kernel, of other code for a program."""
    return replace(line, accesses=tuple(access for access in line.accesses if access.kernel in (kernel, None)))
