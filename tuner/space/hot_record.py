# SPDX-License-Identifier: GPL-2.0-or-later
"""The record that is searched, with the heat that all lines of the profile put on its members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry import lines_touched, phases
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lock import is_lock
from linesmith.analyzer.model import Finding, LineObject, Outcome
from linesmith.tuner.advice import refuse_hopeless
from linesmith.tuner.heat import Contact, Heat, Spot
from linesmith.tuner.subject import Subject, subject


@dataclass(frozen=True, slots=True)
class HotRecord:
    """``leading`` is the record's hottest line, ``others`` are the profile's other findings.

    ``subject`` carries the contacts of all of them. ``contended`` are the samples of the record's lines, at least
    those that the contacts explain.
    """

    leading: Finding
    others: tuple[Finding, ...]
    subject: Subject
    contended: float

    @property
    def lines(self) -> tuple[Finding, ...]:
        """The findings on this very record, hottest first."""
        same = (one for one in self.others if one.objects and one.objects[0].layout == self.leading.objects[0].layout)
        return (self.leading, *same)


def hot_records(findings: Sequence[Finding], layouts: Layouts, wanted: str) -> Iterator[HotRecord]:
    """Records whose members may be rearranged, hottest first; those called ``wanted`` only, unless it is empty.

    Raises ``NothingToSuggest`` with the reason for the hottest line when there is none.
    """
    name = wanted.split()[-1] if wanted else ""
    chosen = [foremost(one, name) for one in findings if not name or any(it.type == name for it in one.objects)]
    if not chosen:
        held = f"no line of the profile holds {name}" if name else "The profile holds no line to rearrange a record for"
        raise NothingToSuggest(f"{held}; see `linesmith hot` for what it holds")
    reasons: list[NothingToSuggest] = []
    done: set[int | None] = set()
    for leading in chosen:
        layout = leading.objects[0].layout if leading.objects else None
        if layout is None or layout not in done:
            try:
                yield _hot_record(leading, [one for one in chosen if one is not leading], layouts)
                done.add(layout)
            except NothingToSuggest as reason:
                reasons.append(reason)
    if not done:
        raise reasons[0]


def foremost(finding: Finding, wanted: str) -> Finding:
    """The finding with its objects of type ``wanted`` first."""
    return replace(finding, objects=tuple(sorted(finding.objects, key=lambda one: one.type != wanted)))


def _hot_record(leading: Finding, others: list[Finding], layouts: Layouts) -> HotRecord:
    if not _is_record(leading.objects[0] if leading.objects else None):
        refuse_hopeless(leading, layouts)
    target = subject(leading, layouts, others)
    record = HotRecord(leading, tuple(others), target, 0.0)
    heats = [target.heat]
    for other in record.lines[1:]:
        seen = subject(other, layouts, (one for one in (leading, *others) if one is not other))
        heats += [seen.heat] if seen.layout.id == target.layout.id and seen.base == target.base else []
    heat = _together(heats)
    explained = sum(contact.weight for contact in heat.sampled)
    contended = max(explained, sum(one.contended for one in record.lines))
    return replace(record, subject=replace(target, heat=heat), contended=contended)


def _is_record(target: LineObject | None) -> bool:
    """Whether it is known whose members could move, though it may not be known who meets whom."""
    known = target is not None and target.layout is not None and target.outcome is Outcome.RESOLVED
    return known and target is not None and not is_lock(target.type)


def _together(heats: Sequence[Heat]) -> Heat:
    """All contacts in one heat; the phase is known when all lines agree on it."""
    found: dict[frozenset[Spot], Contact] = {}
    for contact in sorted(_contacts(heats), key=lambda one: not one.sampled):
        key = frozenset((contact.first, contact.second))
        known = found.get(key)
        if known is None:
            found[key] = contact
        elif contact.sampled:
            found[key] = replace(known, weight=known.weight + contact.weight)
    phase = heats[0].phase if len({heat.phase for heat in heats}) == 1 else None
    return replace(heats[0], contacts=tuple(found.values()), phase=phase)


def _contacts(heats: Iterable[Heat]) -> Iterator[Contact]:
    for heat in heats:
        yield from heat.contacts


def straddling(target: Subject, spot: Spot, starts: Sequence[int], granule: int) -> float:
    """Share of the possible phases in which the spot lies on two lines, in the phase of the profile if it is known."""
    heat = target.heat
    phase = heat.phase if granule == heat.granule else None
    tried = phases(granule, heat.line_bytes) if phase is None else (phase,)
    first = starts[spot.member] + spot.start
    return sum(len(lines_touched(first + one, spot.size, heat.line_bytes)) > 1 for one in tried) / len(tried)
