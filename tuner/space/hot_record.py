# SPDX-License-Identifier: GPL-2.0-or-later
"""The record that is searched, with the heat of all lines of the profile, and what a layout is predicted to cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Finding, Outcome
from linesmith.analyzer.sharing.parts import own_members
from linesmith.tuner.constraints.facts import NO_PREMISES, Premises
from linesmith.tuner.propose.advice import refuse_hopeless
from linesmith.tuner.propose.arrangement import Option
from linesmith.tuner.propose.subject import ContendedRecord, subject
from linesmith.tuner.propose.tradeoff import exposure, left

# What one member without samples that newly meets a writer costs, as a share of all contended samples.
EXPOSED = 0.02
# What a record twice as large costs more: fewer of them fit a cache.
SIZE = 0.02
# What a step more costs, so that of layouts that promise the same the smaller change comes first.
STEP = 0.003
# No layout removes all contention.
LEAST = 0.02


@dataclass(frozen=True, slots=True)
class HotRecord:
    """``leading`` is the record's hottest line, ``lines`` are all of them, one for each of their objects of this type.

    ``subject`` carries the contacts of all of them; ``others`` are the profile's other findings. ``contended`` are the
    samples of the record's lines, at least those that the contacts explain.
    """

    leading: Finding
    lines: tuple[Finding, ...]
    others: tuple[Finding, ...]
    subject: ContendedRecord
    contended: float


def hot_records(
    findings: Sequence[Finding], layouts: Layouts, wanted: str, premises: Premises = NO_PREMISES
) -> Iterator[HotRecord]:
    """Records whose members may be rearranged, hottest first; those called ``wanted`` only, unless it is empty.

    Raises ``NothingToSuggest`` with the reason for the hottest line when there is none.
    """
    name = wanted.split()[-1] if wanted else ""
    holding = [one for one in findings if not name or any(it.type == name for it in one.objects)]
    # Each with its objects of that type first.
    chosen = [replace(one, objects=tuple(sorted(one.objects, key=lambda it: it.type != name))) for one in holding]
    if not chosen:
        held = f"no line of the profile holds {name}" if name else "The profile has no line with a record to rearrange"
        raise NothingToSuggest(f"{held}; `linesmith hot` lists its records")
    reasons: list[NothingToSuggest] = []
    done: set[int | None] = set()
    for leading in chosen:
        layout = leading.objects[0].layout if leading.objects else None
        if layout is None or layout not in done:
            try:
                yield _hot_record(leading, [one for one in chosen if one is not leading], layouts, premises)
                done.add(layout)
            except NothingToSuggest as reason:
                reasons.append(reason)
    if not done:
        raise reasons[0]


def _hot_record(leading: Finding, others: Sequence[Finding], layouts: Layouts, premises: Premises) -> HotRecord:
    first = leading.objects[0] if leading.objects else None
    # Whose members could move has to be known, though it may not be known who meets whom.
    known = first is not None and first.layout is not None and first.outcome is Outcome.RESOLVED
    if not known or (first is not None and is_lock(first.type)):
        refuse_hopeless(leading, layouts)
    same = [one for one in (leading, *others) if any(it.layout == leading.objects[0].layout for it in one.objects)]
    lines = [line for finding in same for line in _by_object(finding, leading.objects[0].layout)]
    target = subject(lines[0], layouts, lines[1:], premises)
    contended = max(sum(contact.weight for contact in target.heat.sampled), sum(one.contended for one in same))
    return HotRecord(leading, tuple(lines), tuple(others), target, contended)


def _by_object(finding: Finding, layout: int | None) -> Iterator[Finding]:
    """The finding once for each object of this layout, which comes first, with the pairs that meet inside it."""
    for target in finding.objects:
        if target.layout == layout:
            rest = (one for one in finding.objects if one is not target)
            own = replace(finding, objects=(target, *rest))
            names = {member.top for member in own_members(own)}
            pairs = tuple(pair for pair in own.triage.pairs if pair.first in names and pair.second in names)
            yield replace(own, triage=replace(own.triage, pairs=pairs))


def estimate(record: HotRecord, option: Option) -> float:
    """What a layout is predicted to cost as a ratio to the layout as it is, below 1 when better.

    The ratio is that of contended samples as ``suggest`` counts them, not of time: it orders what is replayed.
    """
    target = record.subject
    before, after = left(target.now), left(option.cost)
    total = max(record.contended, before, 1.0)
    exposed = exposure(target, option.starts, option.granule)
    larger = option.size / max(target.layout.size, 1) - 1
    further = EXPOSED * exposed + SIZE * larger + STEP * len(option.arrangement.moves)
    return max((total - before + after) / total, LEAST) + further
