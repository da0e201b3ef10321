# SPDX-License-Identifier: GPL-2.0-or-later
"""From a profile and the layouts of an ELF file to findings: attribute every line, then diagnose it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from linesmith.analyzer.attribute import attribute, attribute_as
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.evidence import Evidence, gather
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.line_members import line_members
from linesmith.analyzer.model import (
    Finding,
    LineMember,
    LineObject,
    Operand,
    Outcome,
    Profile,
    SharedLine,
    Touched,
)
from linesmith.analyzer.triage import infer_writers, triage


def findings(
    profile: Profile,
    layouts: Layouts,
    touched: Sequence[Touched],
    operands: Sequence[Operand] = (),
    wanted: str | None = None,
) -> tuple[Finding, ...]:
    """One finding per line of the profile, in its order.

    ``touched`` and ``operands`` are what ``dwarf.touched`` and ``dwarf.operands`` say of the functions that
    ``evidence.functions_asked`` names; without operands the answer is less sure. Lines that could be of several
    types are taken for ``wanted`` ones where that explains them.
    """
    evidence = gather(touched, operands, layouts)
    containment = Containment(layouts)
    return tuple(_finding(line, profile, evidence, containment, wanted) for line in profile.lines)


def is_kernel(layouts: Layouts) -> bool:
    """Whether the layouts are those of a Linux kernel: only a kernel has a task_struct with a thread_info."""
    tasks = layouts.variants("task_struct")
    return any(member.name in ("thread_info", "stack") for task in tasks for member in task.members)


def _finding(
    line: SharedLine, profile: Profile, evidence: Evidence, containment: Containment, wanted: str | None
) -> Finding:
    objects = _objects(line, profile, evidence, containment, wanted)
    total = sum(other.contended for other in profile.lines) or 1
    members = infer_writers(line_members(line, objects, evidence, containment), profile)
    return Finding(
        line.rank,
        line.address,
        line.share if line.share is not None else line.contended / total,
        line.contended,
        line.stores,
        objects,
        members,
        triage(line, objects, members, profile),
        line.bytes,
        _outcomes(line, members, objects),
    )


def _objects(
    line: SharedLine, profile: Profile, evidence: Evidence, containment: Containment, wanted: str | None
) -> tuple[LineObject, ...]:
    """Attribute with the accesses whose code can be in this ELF file."""
    kernel = is_kernel(containment.layouts)
    own = _own(line, kernel)
    if line.accesses and not own.accesses:
        place = "user space, but the ELF file is a kernel" if kernel else "the kernel, but the ELF file is a program"
        outcome = Outcome.USER_SPACE if kernel else Outcome.NO_EVIDENCE
        return (LineObject("", None, 0, 0, 0.0, outcome, reason=f"every access comes from {place}"),)
    neighbours = [_own(other, kernel) for other in profile.lines if other is not line]
    if wanted is not None:
        return attribute_as(wanted, own, evidence, containment, neighbours)
    return attribute(own, evidence, containment, neighbours)


def _own(line: SharedLine, kernel: bool) -> SharedLine:
    """The line with the accesses of kernel code for a kernel, of other code for a program."""
    return replace(line, accesses=tuple(access for access in line.accesses if access.kernel in (kernel, None)))


def _outcomes(
    line: SharedLine, members: Sequence[LineMember], objects: Sequence[LineObject]
) -> tuple[tuple[Outcome, int], ...]:
    """Accesses by outcome; the counts add up to the accesses of the line."""
    placed = {member.offset for member in members if member.object_offset is not None}
    counts: Counter[Outcome] = Counter()
    for access in line.accesses:
        known = access.offset in placed
        counts[objects[0].outcome if known or objects[0].layout is None else Outcome.CANNOT_TELL] += 1
    return tuple(sorted(counts.items()))
