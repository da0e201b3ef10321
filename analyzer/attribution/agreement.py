# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the address of an access and the instruction that made it name the same member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from linesmith.analyzer.attribution.code_touches import CodeTouches, Sampled, touching_leaves
from linesmith.analyzer.attribution.evidence import Evidence
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import Access, Agreement, LineObject, SharedLine

_ANY_KIND = Sampled(loaded=False, stored=False)


def agreements(
    line: SharedLine, objects: Sequence[LineObject], evidence: Evidence, containment: Containment
) -> tuple[tuple[Agreement, int], ...]:
    """The accesses of a line by who told what they met; the counts add up to all of them.

    Empty where no instruction of the profile is known at all, as in a report of another build.
    """
    if not evidence.instructions:
        return ()
    counts = Counter(agreement(access, objects, evidence, containment) for access in line.accesses)
    return tuple((one, counts[one]) for one in Agreement if counts[one])


def agreement(access: Access, objects: Sequence[LineObject], evidence: Evidence, containment: Containment) -> Agreement:
    """Who told what one access met."""
    touches = instruction_of(access, evidence)
    placed = _named_by_address(access, objects)
    if touches is None:
        return Agreement.NEITHER if placed is None else Agreement.BY_ADDRESS
    if placed is None:
        return Agreement.BY_INSTRUCTION
    return Agreement.CONFIRMED if agrees(touches, access, placed, containment) else Agreement.DISAGREE


def instruction_of(access: Access, evidence: Evidence) -> CodeTouches | None:
    """What the instruction of the access touches, if that is known."""
    return None if access.code_address is None else evidence.instructions.get(access.code_address)


def agrees(touches: CodeTouches, access: Access, one: LineObject, containment: Containment) -> bool:
    """Whether what the code touches is what the object has at the place of the access."""
    if one.layout is None or access.offset is None:
        return False
    return bool(touching_leaves(touches, _ANY_KIND, one.layout, access.offset - one.start, containment))


def disagreeing(
    accesses: Sequence[Access], objects: Sequence[LineObject], evidence: Evidence, containment: Containment
) -> tuple[str, ...]:
    """What the instructions of these accesses touch (``struct page.flags``) and the objects have not there."""
    touched: list[str] = []
    for access in accesses:
        found = instruction_of(access, evidence)
        if found is not None and not any(agrees(found, access, one, containment) for one in objects):
            touched += found.places
    return tuple(place for place, _ in Counter(touched).most_common())


def _named_by_address(access: Access, objects: Sequence[LineObject]) -> LineObject | None:
    """The object that holds the access, where a snapshot names its type."""
    for one in objects:
        inside = access.offset is not None and 0 <= access.offset - one.start < (one.size or 0)
        if one.by_address and inside:
            return one
    return None
