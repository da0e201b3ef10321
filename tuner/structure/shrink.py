# SPDX-License-Identifier: GPL-2.0-or-later
"""Shrinking: a large lock beside its data becomes a small one, so that who takes it fetches one line, not two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.errors import StructureRefused
from linesmith.analyzer.geometry import lines
from linesmith.analyzer.model import CACHE_LINE_BYTES, Finding, Layout, StructuralAdvice, StructureKind, TriageKind
from linesmith.analyzer.sharing.own_members import own_members
from linesmith.tuner.structure.case import Case, accessors
from linesmith.tuner.structure.memory import Allocation
from linesmith.tuner.structure.reshape import at, explained, shrunk, with_member

# Bytes of a small lock: a word with a bit to wait on.
SMALL_LOCK = 8
# A line that less of the lock's contention falls on does not matter.
SECOND_SHARE = 0.1


def shrinking(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for a contended lock that costs two lines: it lies on both, or fills one and its data is on another."""
    lock = case.finding.lock
    if lock is None or TriageKind.LOCK_CONTENTION not in case.kinds:
        return
    member = next((one for one in case.layout.members if one.name == lock.name), None)
    if member is None or member.size <= SMALL_LOCK:
        return
    guarded = [one.member for one in lock.members]
    reasons = (*_two_lines(case, lock.name), *_data_apart(case, member.size, guarded))
    if not reasons:
        return
    try:
        smaller = tuple(made_smaller(case.layout, case.home, lock.name, SMALL_LOCK))
    except StructureRefused:
        return
    for one in smaller:
        stays = "Who waits for the lock still does: what goes is the second line that travels with it."
        yield replace(one, reasons=reasons, accessors=accessors(case, (lock.name,)), notes=(stays, *one.notes))


def _object(finding: Finding) -> int | None:
    """The address of the line's first object."""
    return None if finding.address is None else finding.address + finding.objects[0].start


def _lines_of(case: Case) -> list[Finding]:
    """All lines of the profile that hold the same object."""
    address = _object(case.finding)
    return [case.finding, *(one for one in case.same[1:] if address is not None and _object(one) == address)]


def _contended(finding: Finding, names: Sequence[str]) -> int:
    return sum(one.contended for member in own_members(finding) if member.top in names for one in member.functions)


def _two_lines(case: Case, name: str) -> Iterator[str]:
    """Whether words of the lock were contended on more than one line of the object."""
    counts = [_contended(one, (name,)) for one in _lines_of(case)]
    hot = [count for count in counts if count and count >= SECOND_SHARE * sum(counts)]
    if len(hot) > 1:
        told = " and ".join(f"{count:,}" for count in hot)
        yield f"{name} lies on {len(hot)} lines, and all of them are fought for: {told} contended accesses"


def _data_apart(case: Case, size: int, guarded: Sequence[str]) -> Iterator[str]:
    """Whether what the lock protects was contended on another line, and would fit beside a small one."""
    members = [one for one in case.layout.members if one.name in guarded]
    away = [one for one in _lines_of(case)[1:] if _contended(one, guarded) >= SECOND_SHARE * case.finding.contended]
    data = sum(one.size for one in members)
    if away and data + SMALL_LOCK <= CACHE_LINE_BYTES < data + size:
        names = ", ".join(one.name for one in members)
        yield f"{names}, which it protects, are contended on another line: beside {size} bytes of lock is no room"


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
