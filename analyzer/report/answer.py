# SPDX-License-Identifier: GPL-2.0-or-later
"""What a candidate gains and costs, as rows: phases in which members meet, memory, coherence steps, a replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import gcd

from linesmith.analyzer.base.text import listed, per_cent
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    Churn,
    CoherenceStep,
    Finding,
    HolderChange,
    Judgement,
    MemoryUse,
    PhaseProof,
    Residual,
    Sharded,
    SlabBasis,
    StepTable,
)
from linesmith.analyzer.report.candidate import MOST_PAIRS, Saving, saved
from linesmith.analyzer.report.findings import count_range
from linesmith.analyzer.report.prose import WIDTH, counted, cut, in_columns, prose, widest

MOST_PLACES = 3
MOST_FUNCTIONS = 4
MOST_CACHES = 2
MOST_HOLDERS = 2


def answer_rows(candidate: Candidate) -> Iterator[tuple[str, str]]:
    """What the replay consists of, and where the members still meet: all in full."""
    yield from labelled("replayed", judged_rows(candidate.judgement))
    yield from labelled("together", meeting_rows(candidate))


def saved_words(saving: Saving | None, counted_as: str, whole: str) -> str:
    """``0.65% of the misses of the profile (80% interval 0.61% to 0.68%): 1,553 of 240,711``, net of what is added."""
    if saving is None:
        return "nothing is known"
    low, high = (f"{one}%" for one in saving.bounds)
    counts = f"{saving.before - saving.after:,.0f} of {saving.whole:,.0f}"
    return f"{per_cent(saving.share)}% of the {counted_as} of the {whole} (80% interval {low} to {high}): {counts}"


def size_words(candidate: Candidate) -> str:
    """``192 -> 256 bytes, 3 -> 4 lines``."""
    before, after = candidate.before, candidate.after
    if before.size == after.size:
        return f"{after.size:,} bytes, {counted(candidate.lines, 'line')} (unchanged)"
    return f"{before.size:,} -> {after.size:,} bytes, {lines(before)} -> {counted(candidate.lines, 'line')}"


def churn_words(churn: Churn) -> str:
    """``1 member moves, a diff of 2 lines``."""
    moved = f"{counted(churn.members, 'member')} {'moves' if churn.members == 1 else 'move'}"
    return f"{moved}, a diff of {counted(churn.lines, 'line')}"


def labelled(label: str, rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The rows, the first with the label."""
    for place, row in enumerate(rows):
        yield "" if place else label, row


def of_contended(finding: Finding) -> str:
    """``of 1,036 contended loads``; a recording counts more accesses than those that found the line modified."""
    count = max(finding.contended, finding.cost.contended)
    return f"of {count:,} contended {'accesses' if finding.simulated else 'loads'}"


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
    """What the objects cost in each slab cache, the costliest first; unchanged ones together."""
    pairs = list(zip(before, after, strict=False))
    changed = [pair for pair in pairs if slabs_differ(*pair)]
    changed.sort(key=lambda pair: pair[1].pages_per_1000 / pair[0].pages_per_1000, reverse=True)
    for old, new in changed[:MOST_CACHES]:
        mib = [f"{use.bytes_per_100000 / (1 << 20):,.1f}" for use in (old, new)]
        pages = f"{old.pages_per_1000:,} -> {counted(new.pages_per_1000, 'page')} for 1,000 objects"
        yield f"{old.cache}: {pages}, {mib[0]} -> {mib[1]} MiB for 100,000 ({old.basis.value})"
    if len(changed) > MOST_CACHES:
        yield f"and {counted(len(changed) - MOST_CACHES, 'more cache')}"
    same = [old for old, new in pairs if not slabs_differ(old, new)]
    if same:
        names = (f"{use.cache}{' (assumed)' * (use.basis is SlabBasis.ASSUMED)}" for use in same)
        yield f"unchanged in slabs of {listed(names, MOST_CACHES)}"


def slabs_differ(old: MemoryUse, new: MemoryUse) -> bool:
    """Whether the objects need other slabs than before."""
    return (old.stride, old.order, old.pages_per_1000) != (new.stride, new.order, new.pages_per_1000)


def meeting_rows(candidate: Candidate) -> list[str]:
    """For each pair in how many phases it shares a line, now and then, by the size of the line.

    Where it still does, the places follow at which objects are known to lie. None where no pair was sampled.
    """
    pairs = [list(group) for _, group in groupby(candidate.residuals, lambda one: (one.first, one.second))]
    sizes = list(dict.fromkeys(one.line_bytes for one in candidate.residuals))
    table = [["phases on one line of", *(f"{size} bytes" for size in sizes)]]
    table += [
        [f"{group[0].first} and {group[0].second}", *(_now_and_then(one, candidate) for one in group)]
        for group in pairs[:MOST_PAIRS]
    ]
    widths = widest(table)
    rows = [in_columns(table[0], widths).rstrip()]
    for cells, group in zip(table[1:], pairs, strict=False):
        rows.append(in_columns(cells, widths).rstrip())
        # At the usual line only: pairs of lines are fetched together on some machines, and at times.
        usual = [one for one in group if one.line_bytes == CACHE_LINE_BYTES]
        rows += [f"  of the objects {where}" for one in usual if (where := by_place(one, candidate.proofs))]
    if len(pairs) > MOST_PAIRS:
        rows.append(f"… and {len(pairs) - MOST_PAIRS} more pairs; --format json has them")
    return rows if pairs else []


def _now_and_then(residual: Residual, candidate: Candidate) -> str:
    steps, size = candidate.steps, residual.line_bytes
    old, new = share_of_phases(residual.before, size, steps[0]), share_of_phases(residual.after, size, steps[1])
    return f"{old.removesuffix(' phases')} -> {new.removesuffix(' phases')}"


def share_of_phases(share: float, line_bytes: int, step: int) -> str:
    """A share of phases as a count of those there are where objects start at multiples of ``step`` bytes."""
    if share in (0.0, 1.0):
        return "always" if share else "never"
    count = line_bytes // gcd(line_bytes, step)
    met = share * count
    return f"{met:.0f} of {count} phases" if met == round(met) else f"{share:.0%} of the phases"


def by_place(residual: Residual, proofs: Sequence[PhaseProof]) -> str:
    """In how many of the objects of each cache the pair still meets, most first; empty where it never does.

    Of caches that are alike one is named, and how many more there are: ``100% in inode_cache and 2 others``.
    """
    if not residual.after:
        return ""
    pair = residual.first, residual.second, residual.line_bytes
    known = [one for one in proofs if one.place and (one.first, one.second, one.line_bytes) == pair]
    caches = Counter(one.place.partition(",")[0] for one in known)
    grouped: dict[str, list[str]] = {}
    for one in sorted(known, key=lambda one: -one.share):
        cache = one.place.partition(",")[0]
        where = one.place.replace(", ", ".") if caches[cache] > 1 else cache
        grouped.setdefault(f"{one.share:.0%}" if one.together else "none", []).append(where)
    parts = []
    for share, (first, *others) in grouped.items():
        more = f" and {counted(len(others), 'other')}" if others else ""
        parts.append(f"{share} in {first}{more}")
    more = f", {len(parts) - MOST_PLACES} more" if len(parts) > MOST_PLACES else ""
    return f"{', '.join(parts[:MOST_PLACES])}{more}"


# Coherence steps as a table: what each access finds on the line, in the layout as it is and then.

# Columns for who does what, and at least for the function's name.
MOST_ACCESS = 44
LEAST_FUNCTION = 12
# What the layout is called that is compared with the one as it is.
THEN = "candidate"
LEGEND = (
    "line: from the one in which the object starts; AB: how the caches of CPU A and B hold it then (M modified, "
    "E exclusive, S shared, I invalid); cycles that the access waits, * only for where the members lie."
)


def step_rows(tables: Sequence[StepTable], accesses: str, columns: int = WIDTH) -> list[str]:
    """A table of two accesses for each sharing, heaviest first; none without tables.

    ``accesses`` are those that each sharing is a part of. What is found stands behind each access, or below it for
    want of room.
    """
    if not tables:
        return []
    width = min(MOST_ACCESS, max(len(_access(step)) for one in tables for step in one.before))
    found = max(len(THEN), *(len(step.what) for one in tables for step in (*one.before, *one.after)))
    now, after = tables[0].before[0], tables[0].after[0]
    fits = len(f"  {now.cpu}  {_access(now):<{width}}  {_result(now, found)}  {_result(after, found)}") <= columns
    first = f"{'access':<{width}}  {'line AB now':<{found + 8}} cycles " if fits else f"{'access':<{len(THEN)}}"
    last = f"line AB {THEN}" if fits else "line AB"
    shown = tables[0]
    later = f", then {shown.phase_after}" if shown.phase_after != shown.phase else ""
    why = f"why: an object that starts {shown.phase} bytes into its line{later}"
    rows = [why, f"     {first}  {last:<{found + 8}} cycles"]
    for one in tables:
        rows.append(prose(sharing_title(one, accesses), "  ", "    ", columns))
        for now, after in zip(one.before, one.after, strict=True):
            if fits:
                access = f"  {now.cpu}  {_access(now):<{width}}"
                rows.append(f"{access}  {_result(now, found)}  {_result(after, found)}".rstrip())
                continue
            rows.append(f"  {now.cpu}  {_access(now)}")
            for when, step in (("now", now), (THEN, after)):
                rows.append(f"     {when:<{len(THEN)}}  {_result(step, found)}".rstrip())
    notes = dict.fromkeys((LEGEND, *(note for one in tables for note in one.notes)))
    return [*rows, *(prose(text, "  ", "  ", columns) for text in notes)]


def sharing_title(one: StepTable, accesses: str) -> str:
    """Who waits for whom, how often of all ``accesses``, and whether a layout changes it."""
    other = "itself" if one.writer == one.victim else one.writer
    stays = "" if any(step.needless for step in one.before) else ", which no layout changes"
    return f"{one.victim} waits for stores to {other}: {count_range(one.contended)} {accesses}{stays}"


def _access(step: CoherenceStep) -> str:
    """Who does what; of a long function the beginning."""
    does = f" {'writes' if step.writes else 'reads'} {step.member}"
    function, room = step.function or "somebody", max(MOST_ACCESS - len(does), LEAST_FUNCTION)
    return cut(function, room) + does


def _result(step: CoherenceStep, width: int) -> str:
    states = "".join(state.value for _, state in step.states)
    return f"{step.line:>4} {states} {step.what:<{width}} {step.cycles or '-':>6}{'*' if step.needless else ' '}"


def judged_rows(found: Judgement) -> Iterator[str]:
    """What the net consists of: lines, pairs, the whole profile; how much was replayed, then what to doubt."""
    if found.refusal:
        yield found.refusal
        return
    if found.runs:
        yield f"all lines of the record: {found.before:,.0f} -> {found.after:,.0f}"
    for line in found.lines:
        yield f"line of {listed(line.members, MOST_FUNCTIONS)}: {line.before:,.0f} -> {line.after:,.0f}"
    for pair in found.pairs:
        sharing = "true" if pair.true_sharing else "false"
        yield f"{pair.victim} by stores to {pair.writer} ({sharing} sharing): {pair.before:,.0f} -> {pair.after:,.0f}"
    if found.runs:
        phases = f", mean of {found.phases} phases" if found.phases > 1 else ""
        lines = f", lines of {found.line_bytes} bytes" if found.line_bytes != CACHE_LINE_BYTES else ""
        runs = f" in {found.runs} runs" if found.runs > 1 else ""
        yield f"{found.accesses:,} accesses to {counted(found.objects, 'object')}{runs}{phases}{lines}"
    yield from (f"but {remark}" for remark in found.remarks)


def sharded_rows(sharded: Sharded) -> Iterator[str]:
    """What is split, what that saves at best, and what has to be true for it."""
    yield f"shard {', '.join(sharded.members)} of {sharded.type}: {sharded.ways} copies, chosen by {sharded.by}"
    found = sharded.judgement
    yield f"  {'saves':<12}{found.refusal or saved_words(saved(found), 'misses', 'profile')}"
    for place, row in enumerate(judged_rows(found) if not found.refusal else ()):
        yield f"  {'' if place else 'replayed':<12}{row}"
    yield "  - The best case: every access goes to one copy; what walks all of them, or finds another's, costs more."
