# SPDX-License-Identifier: GPL-2.0-or-later
"""What lines cost by the type on them: of a thousand inodes each line is cool, and all of them are the problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Bounds, Finding, Outcome
from linesmith.analyzer.sharing.parts import OF_LINE

MOST_PAIRS = 3


@dataclass(frozen=True, slots=True)
class TypeTotal:
    """All findings about one type or variable (``""``: object not known), added up.

    ``pairs`` are different members of which one waits for the other, those that may cost most cycles first.
    """

    type: str
    lines: int
    contended: int
    cycles: float
    removable: Bounds
    removable_cycles: Bounds
    share: Bounds
    pairs: tuple[tuple[str, str], ...]


def type_totals(found: Iterable[Finding]) -> tuple[TypeTotal, ...]:
    """One total for each type, by the share of the profile that a layout can remove at most."""
    grouped: dict[str, list[Finding]] = {}
    for finding in found:
        grouped.setdefault(type_of(finding), []).append(finding)
    totals = (_total(type_, group) for type_, group in grouped.items())
    return tuple(sorted(totals, key=lambda one: (-one.share.most, -one.contended, one.type)))


def type_of(finding: Finding) -> str:
    """The record or variable on the line; ``""`` where it is not known or no sure answer."""
    first = finding.objects[0] if finding.objects else None
    if first is None or not (first.variable or first.outcome in (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY)):
        return ""
    return first.type or first.variable


def place_of(finding: Finding) -> tuple[str, int] | None:
    """The type and the byte of the object with which the line begins: lines of one place are alike."""
    return (type_of(finding), -finding.objects[0].start) if type_of(finding) else None


def _total(type_: str, group: Sequence[Finding]) -> TypeTotal:
    nothing = Bounds()
    return TypeTotal(
        type_,
        len(group),
        sum(one.contended for one in group),
        sum(one.cost.waited for one in group),
        sum((one.cost.removable for one in group), nothing),
        sum((one.cost.removable_cycles for one in group), nothing),
        sum((one.cost.share for one in group), nothing),
        _pairs(group) if type_ else (),
    )


def _pairs(group: Iterable[Finding]) -> tuple[tuple[str, str], ...]:
    cycles: Counter[tuple[str, str]] = Counter()
    for finding in group:
        for sharing in finding.cost.sharings:
            first, second = sorted(
                name.partition(OF_LINE)[0] for name in (sharing.victim.member, sharing.writer.member)
            )
            if first != second:
                cycles[first, second] += round(sharing.cycles.most)
    return tuple(pair for pair, count in cycles.most_common(MOST_PAIRS) if count)
