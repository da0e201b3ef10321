# SPDX-License-Identifier: GPL-2.0-or-later
"""The record that is searched, with the heat that all lines of the profile put on its members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Finding, LineObject, Outcome
from linesmith.analyzer.sharing.own_members import own_members
from linesmith.tuner.advice import refuse_hopeless
from linesmith.tuner.premises import NO_PREMISES, Premises
from linesmith.tuner.space.disturbances import Disturbance, disturbances
from linesmith.tuner.space.touches import Neighbours, Touch, neighbours, touches
from linesmith.tuner.subject import Subject, subject


@dataclass(frozen=True, slots=True)
class HotRecord:
    """``leading`` is the record's hottest line, ``lines`` are all of them, one for each of their objects of this type.

    ``subject`` carries the contacts of all of them, ``disturbances`` also what stands in for them; ``others`` are the
    profile's other findings. ``contended`` are the samples of the record's lines, at least those that the contacts
    explain.
    """

    leading: Finding
    lines: tuple[Finding, ...]
    others: tuple[Finding, ...]
    subject: Subject
    disturbances: tuple[Disturbance, ...]
    touches: tuple[Touch, ...]
    neighbours: tuple[Neighbours, ...]
    contended: float


def hot_records(
    findings: Sequence[Finding], layouts: Layouts, wanted: str, premises: Premises = NO_PREMISES
) -> Iterator[HotRecord]:
    """Records whose members may be rearranged, hottest first; those called ``wanted`` only, unless it is empty.

    Raises ``NothingToSuggest`` with the reason for the hottest line when there is none.
    """
    name = wanted.split()[-1] if wanted else ""
    chosen = [_foremost(one, name) for one in findings if not name or any(it.type == name for it in one.objects)]
    if not chosen:
        held = f"no line of the profile holds {name}" if name else "The profile holds no line to rearrange a record for"
        raise NothingToSuggest(f"{held}; see `linesmith hot` for what it holds")
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


def _foremost(finding: Finding, wanted: str) -> Finding:
    """The finding with its objects of type ``wanted`` first."""
    return replace(finding, objects=tuple(sorted(finding.objects, key=lambda one: one.type != wanted)))


def _hot_record(leading: Finding, others: Sequence[Finding], layouts: Layouts, premises: Premises) -> HotRecord:
    if not _is_known(leading.objects[0] if leading.objects else None):
        refuse_hopeless(leading, layouts)
    same = [one for one in (leading, *others) if any(it.layout == leading.objects[0].layout for it in one.objects)]
    lines = [line for finding in same for line in _by_object(finding, leading.objects[0].layout)]
    target = subject(lines[0], layouts, lines[1:], premises)
    heat = target.heat
    contended = max(sum(contact.weight for contact in heat.sampled), sum(one.contended for one in same))
    met = tuple(pair for finding in same for pair in neighbours(finding, heat, target.layout.size))
    return HotRecord(
        leading,
        tuple(lines),
        tuple(others),
        target,
        disturbances(heat, lines),
        touches(heat, lines, target.starts),
        met,
        max(contended, sum(pair.weight for pair in met)),
    )


def _is_known(target: LineObject | None) -> bool:
    """Whether it is known whose members could move, though it may not be known who meets whom."""
    known = target is not None and target.layout is not None and target.outcome is Outcome.RESOLVED
    return known and target is not None and not is_lock(target.type)


def _by_object(finding: Finding, layout: int | None) -> Iterator[Finding]:
    """The finding once for each object of this layout, which comes first, with the pairs that meet inside it."""
    for target in finding.objects:
        if target.layout == layout:
            rest = (one for one in finding.objects if one is not target)
            yield _inside(replace(finding, objects=(target, *rest)))


def _inside(finding: Finding) -> Finding:
    names = {member.top for member in own_members(finding)}
    pairs = tuple(pair for pair in finding.triage.pairs if pair.first in names and pair.second in names)
    return replace(finding, triage=replace(finding.triage, pairs=pairs))
