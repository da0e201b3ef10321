# SPDX-License-Identifier: GPL-2.0-or-later
"""What a candidate gains and costs, as rows of a label and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from linesmith.analyzer.geometry import lines
from linesmith.analyzer.model import (
    Candidate,
    CoAccess,
    Finding,
    HolderChange,
    MemoryUse,
    Optimality,
    ReplayedSaving,
    SlabBasis,
)
from linesmith.analyzer.report.cost import count_range
from linesmith.analyzer.report.counting import counted
from linesmith.analyzer.report.meeting import meeting_rows
from linesmith.analyzer.report.savings import saved

MOST_FUNCTIONS = 4
MOST_CACHES = 3
MOST_HOLDERS = 3


def answer_rows(
    candidate: Candidate, finding: Finding, replayed: ReplayedSaving | None = None
) -> Iterator[tuple[str, str]]:
    """Gain first, beside what was ``replayed``, then what it costs, then where the members still meet."""
    yield from _gain(candidate, finding, replayed)
    yield "size", _size(candidate)
    yield from _labelled("holders", holder_rows(candidate.holders))
    yield from _labelled("memory", memory_rows(candidate.costs[0].memory, candidate.costs[1].memory))
    yield from _lines(candidate)
    yield from _labelled("together", meeting_rows(candidate))
    if candidate.churn.members:
        yield "change", _churn(candidate)
    if candidate.optimality:
        yield "packing", _optimality(candidate.optimality)


def _labelled(label: str, rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    for place, row in enumerate(rows):
        yield "" if place else label, row


def _gain(candidate: Candidate, finding: Finding, replayed: ReplayedSaving | None) -> Iterator[tuple[str, str]]:
    """What is saved of the contended accesses to the record, with limits; and elsewhere, where that differs."""
    gain, saving = saved(candidate, replayed), candidate.saving
    counted = "accesses" if finding.simulated else "loads"
    if not saving.before:
        yield "saves", f"{gain.text} contended {counted} that the meeting explains"
        return
    chance = f"; up to {saving.noise:,.0f} may be chance" if saving.noise >= 1 else ""
    yield "saves", f"{gain.certainty} {gain.text} contended {counted} of the record ({gain.limits_text}){chance}"
    of = f"{gain.certainty} {saving.likely_cycles:,.0f} of {saving.cycles_before:,.0f}"
    yield "cycles", f"{of} ({saving.cycles.least:,.0f} to {saving.cycles.most:,.0f}){_basis(finding)}"
    before, after = candidate.costs
    if abs(before.likely - saving.before) >= 1:
        yield "everywhere", f"{before.likely:,.0f} -> {after.likely:,.0f} {counted}, over all places of the objects"
    if before.adjacent.most or after.adjacent.most:
        pairs = "where pairs of 128 bytes are fetched together"
        yield "adjacent", f"{count_range(before.adjacent)} -> {count_range(after.adjacent)} more, {pairs}"


def contended(finding: Finding) -> int:
    """Contended accesses of the line; a recording counts more than those that found it modified."""
    return max(finding.contended, finding.cost.contended)


def _basis(finding: Finding) -> str:
    if finding.cost.exact:
        return ", counted with assumed latencies"
    return ", as sampled" if finding.cost.timed else ", latencies assumed"


def _size(candidate: Candidate) -> str:
    before, after = candidate.before, candidate.after
    if before.size == after.size:
        return f"{after.size} bytes, {counted(candidate.lines, 'line')} (unchanged)"
    return f"{before.size} -> {after.size} bytes, {lines(before)} -> {counted(candidate.lines, 'line')}"


def holder_rows(holders: Sequence[HolderChange]) -> Iterator[str]:
    """What becomes of the records around the changed one: the costliest by name."""
    for one in holders[:MOST_HOLDERS]:
        yield f"{one.record} {one.before:,} -> {one.after:,} bytes{_in_slabs(one)}"
    if len(holders) > MOST_HOLDERS:
        yield f"and {counted(len(holders) - MOST_HOLDERS, 'more record')}"


def _in_slabs(one: HolderChange) -> str:
    """How many objects a slab of its cache holds, where it has one."""
    if one.memory is None:
        return ""
    before, after = one.memory
    if before.order == after.order:
        held = f"{before.objects_per_slab} -> {after.objects_per_slab} objects"
        return f", {held} in {counted(1 << after.order, 'page')} of {after.cache}"
    sides = (f"{use.objects_per_slab} in {counted(1 << use.order, 'page')}" for use in one.memory)
    return f", {' -> '.join(sides)} of {after.cache}"


def memory_rows(before: Sequence[MemoryUse], after: Sequence[MemoryUse]) -> Iterator[str]:
    """What the objects cost in each slab cache, the costliest first; where nothing changes is told together."""
    pairs = list(zip(before, after, strict=False))
    same = [_named(old) for old, new in pairs if _cost(old) == _cost(new)]
    changed = sorted((pair for pair in pairs if _cost(pair[0]) != _cost(pair[1])), key=_share_more, reverse=True)
    for old, new in changed[:MOST_CACHES]:
        yield f"{old.cache}: {_spent(old, new)} ({old.basis.value})"
    if len(changed) > MOST_CACHES:
        yield f"and {counted(len(changed) - MOST_CACHES, 'more cache')}"
    if same:
        more = f" and {len(same) - MOST_CACHES} more" if len(same) > MOST_CACHES else ""
        yield f"unchanged in slabs of {', '.join(same[:MOST_CACHES])}{more}"


def _named(use: MemoryUse) -> str:
    """The cache, and whether it is only assumed that objects come from it."""
    return f"{use.cache} (assumed)" if use.basis is SlabBasis.ASSUMED else use.cache


def _cost(use: MemoryUse) -> tuple[int, int, int]:
    return use.stride, use.order, use.pages_per_1000


def _share_more(pair: tuple[MemoryUse, MemoryUse]) -> float:
    old, new = pair
    return new.pages_per_1000 / old.pages_per_1000


def _spent(old: MemoryUse, new: MemoryUse) -> str:
    mib = [f"{use.bytes_per_100000 / (1 << 20):,.1f}" for use in (old, new)]
    pages = f"{old.pages_per_1000:,} -> {counted(new.pages_per_1000, 'page')} for 1,000 objects"
    return f"{pages}, {mib[0]} -> {mib[1]} MiB for 100,000"


def _lines(candidate: Candidate) -> Iterator[tuple[str, str]]:
    gain = candidate.predicted
    if gain.hot_lines_before != gain.hot_lines_after:
        yield "hot lines", f"{gain.hot_lines_before:.3g} -> {gain.hot_lines_after:.3g} lines hold the members seen hot"
    before = {one.function: one for one in candidate.costs[0].co_access}
    changed = [one for one in candidate.costs[1].co_access if _differs(before.get(one.function), one)]
    for place, one in enumerate(changed[:MOST_FUNCTIONS]):
        yield (
            "" if place else "functions",
            f"{one.function} touches {before[one.function].lines:.3g} -> {one.lines:.3g} lines",
        )


def _differs(before: CoAccess | None, after: CoAccess) -> bool:
    return before is not None and abs(before.lines - after.lines) > 0.005


def _churn(candidate: Candidate) -> str:
    churn = candidate.churn
    moved = f"{counted(churn.members, 'member')} {'moves' if churn.members == 1 else 'move'}"
    return f"{moved}, a diff of {counted(churn.lines, 'line')} ({candidate.strategy.value})"


def _optimality(one: Optimality) -> str:
    if one.proven:
        return "proven: no legal order of the members is predicted to cost less"
    return f"costs {one.cost:,.0f} as predicted; no legal order costs less than {one.bound:,.0f}"
