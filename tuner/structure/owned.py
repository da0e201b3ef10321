# SPDX-License-Identifier: GPL-2.0-or-later
"""Small objects that disturb their neighbours in the slab: each can lie in the record that points to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from linesmith.analyzer.attribution.lock import has_lock
from linesmith.analyzer.errors import StructureRefused
from linesmith.analyzer.geometry import flatten
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Finding, Layout, StructuralAdvice, TriageKind
from linesmith.tuner.structure.case import Case, accessors
from linesmith.tuner.structure.coldness import functions_by_member
from linesmith.tuner.structure.embedding import Pulling
from linesmith.tuner.structure.memory import Allocation
from linesmith.tuner.structure.pull_in import pulled_in

# Fewer contended accesses between neighbours are noise.
LEAST_BETWEEN = 30
# What an object has that several others hold or find by a list.
_SHARED = re.compile(r"refcount|refcnt|kref|list_head|hlist|llist|rb_node")


def pulling_in(case: Case) -> Iterator[StructuralAdvice]:
    """Advice to pull a small object into the only record that points to such, when neighbours were seen to meet.

    It is given once, at the first line that holds such objects.
    """
    if any(one.rank < case.finding.rank for one in case.same):
        return
    if TriageKind.SEVERAL_OBJECTS not in case.kinds or case.layout.size >= CACHE_LINE_BYTES:
        return
    lines = [one for one in case.same if TriageKind.SEVERAL_OBJECTS in one.triage.kinds]
    between = sum(_between(one) for one in lines)
    owner = _owner(case)
    if between < LEAST_BETWEEN or owner is None or _shared(case.layout, case.ground.layouts):
        return
    record, pointer = owner
    reasons = (
        _disturbed(case.layout, len(lines), between),
        f"{pointer} of {record.title} is the only member of any record that points to one",
    )
    yield from _advice(case, record, pointer, reasons)


def _disturbed(layout: Layout, lines: int, between: float) -> str:
    held = f"{lines} line{'s' if lines > 1 else ''} with several {layout.title} of {layout.size} bytes"
    return f"{held}: at most {between:,.0f} contended accesses wait for a store to a neighbour"


def _between(finding: Finding) -> float:
    """Contended accesses of a line that waited, at most, for stores to another object."""
    names = [(one.victim.member, one.writer.member, one.contended.most) for one in finding.cost.sharings]
    return sum(most for victim, writer, most in names if (" of the " in victim) != (" of the " in writer))


def _owner(case: Case) -> tuple[Layout, str] | None:
    """The only record with a member that points to such an object, and that member."""
    found = case.ground.pointers_to(case.layout.name)
    names = {(record.name, member) for record, member in found if record.name != case.layout.name}
    return found[0] if len(names) == 1 and found[0][0].name else None


def _shared(layout: Layout, layouts: Layouts) -> bool:
    """Whether the object is counted or listed, so that it may outlive the record or belong to several."""
    outside = [leaf for leaf in flatten(layout, layouts) if not has_lock(record for record, _ in leaf.chain[1:])]
    return any(_SHARED.search(f"{leaf.path} {leaf.chain}") for leaf in outside)


def _advice(case: Case, record: Layout, pointer: str, reasons: tuple[str, ...]) -> Iterator[StructuralAdvice]:
    """The object as it is, then smaller or with cold members behind it."""
    base = case.ground
    home = Allocation(base.premises.kernel, base.containment)
    functions = functions_by_member(record, base.layouts, base.accesses)
    try:
        ways = tuple(pulled_in(record, base.layouts, home, Pulling(pointer), functions))
    except StructureRefused:
        return
    reached = accessors(replace(case, layout=record), (pointer,))
    for one in dict.fromkeys((ways[0], ways[-1])):
        yield replace(one, reasons=reasons, accessors=reached, notes=(*one.notes, *_instead(home, case.layout)))


def _instead(home: Allocation, target: Layout) -> Iterator[str]:
    """What it costs to keep the object where it is, alone on its line."""
    for use in home.of_another(target, CACHE_LINE_BYTES):
        yield (
            f"Aligned to a line where it is, {target.title} takes {use.stride} bytes: {use.pages_per_1000} pages for"
            " 1,000 of them."
        )
