# SPDX-License-Identifier: GPL-2.0-or-later
"""Shrinking: a large lock beside its data becomes a small one, and both fit fewer lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linesmith.analyzer.geometry import lines
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, StructuralAdvice, StructureKind, TriageKind
from linesmith.tuner.placement import refusal
from linesmith.tuner.structure.case import Case, accessors
from linesmith.tuner.structure.memory import Allocation
from linesmith.tuner.structure.reshape import at, explained, shrunk, with_member

# Bytes of a small lock: a word with a bit to wait on.
SMALL_LOCK = 8


def shrinking(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for a contended lock larger than a word, when with a word its record takes less room."""
    lock = case.finding.lock
    member = case.member(lock.name) if lock else None
    known = TriageKind.LOCK_CONTENTION in case.kinds and member is not None and member.name == (lock and lock.name)
    if lock is None or member is None or not known or member.size <= SMALL_LOCK or refusal(case.layout):
        return
    for one in made_smaller(case.layout, case.home, lock.name, SMALL_LOCK):
        after = one.after[0]
        if after.size < case.layout.size and lines(after) < lines(case.layout):
            reasons = (f"{case.share(lock.name):.0%} of the line's contended accesses waited on {lock.name}",)
            yield replace(one, reasons=reasons, accessors=accessors(case, (lock.name,)))


def made_smaller(layout: Layout, home: Allocation, name: str, size: int) -> Iterator[StructuralAdvice]:
    """The member called ``name`` with ``size`` bytes at its place; raises ``StructureRefused``."""
    whole = explained(layout)
    position = at(layout, name)
    after = with_member(whole, position, shrunk(whole.members[position], size))
    old = layout.members[position].size
    yield StructuralAdvice(
        StructureKind.SHRINK,
        layout.name,
        (name,),
        f"{name} of {layout.title} with {size} bytes instead of {old}: {layout.size} -> {after.size} bytes, "
        f"{lines(layout)} -> {lines(after)} lines of {CACHE_LINE_BYTES}",
        before=(layout,),
        after=(after,),
        memory_before=home.now(layout),
        memory_after=home.then(after),
        notes=(f"What does the work of {layout.members[position].type} in {size} bytes is to be written first.",),
    )
