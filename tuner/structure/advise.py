# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural advice for findings, each piece given once; a finding without evidence gets none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Finding, StructuralAdvice, StructureKind
from linesmith.tuner.constraints.facts import NO_PREMISES, Premises
from linesmith.tuner.structure.case import AdvicePremises, Case, case_of, ground
from linesmith.tuner.structure.embedding import pulling_in
from linesmith.tuner.structure.locks import counting_apart, sharding, shrinking
from linesmith.tuner.structure.readers import pushing_out, reading_copies, reading_first

Rule = Callable[[Case], Iterator[StructuralAdvice]]

# Of a line: the cheap changes of code first, then those of the layout, then those that change how the object is used.
RULES: tuple[Rule, ...] = (reading_first, counting_apart, reading_copies, shrinking, pushing_out, sharding)
# Of all lines with such objects together.
RECORD_RULES: tuple[Rule, ...] = (pulling_in,)

# Less than this of the profile's contention, or fewer contended accesses, are noise.
LEAST_SHARE = 0.002
LEAST_CONTENDED = 30


@dataclass(frozen=True, slots=True)
class AdvisedFinding:
    """A finding with the advice that was first found there."""

    finding: Finding
    advice: tuple[StructuralAdvice, ...]


def advise(
    found: Sequence[Finding],
    layouts: Layouts,
    premises: Premises = NO_PREMISES,
    accesses: AccessMap | None = None,
) -> tuple[AdvisedFinding, ...]:
    """The advice for all findings of a profile, each piece at the hottest line it holds for.

    ``accesses`` is the access map of the same ELF file; without one most rules say nothing.
    """
    known: set[tuple[StructureKind, str, tuple[str, ...]]] = set()
    answers = []
    base = ground(layouts, premises, accesses)
    for finding in found:
        others = [one for one in found if one is not finding]
        fresh = [one for one in _ruled(finding, others, base) if (one.kind, one.type, one.members) not in known]
        known.update((one.kind, one.type, one.members) for one in fresh)
        if fresh:
            answers.append(AdvisedFinding(finding, tuple(fresh)))
    return tuple(answers)


def _ruled(finding: Finding, others: Sequence[Finding], base: AdvicePremises) -> tuple[StructuralAdvice, ...]:
    """What the rules say of a line that is more than noise, or of a record whose lines together are."""
    case = case_of(finding, others, base)
    if case is None or not _counts(case.same):
        return ()
    alone = RULES if _counts((finding,)) else ()
    return tuple(one for rule in (*alone, *RECORD_RULES) for one in rule(case))


def _counts(found: Sequence[Finding]) -> bool:
    enough = sum(one.contended for one in found) >= LEAST_CONTENDED
    return enough and sum(one.share for one in found) >= LEAST_SHARE
