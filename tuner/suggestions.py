# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates for a whole profile: each record once, for its hottest line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, Finding
from linesmith.tuner.candidates import proposal
from linesmith.tuner.premises import NO_PREMISES, Premises

# More than a handful for one line helps nobody to decide.
MOST_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What can be done about one line: candidates, the first recommended, or the reason why there are none.

    ``declined`` is a sentence why no candidate is recommended, empty where one is.
    """

    finding: Finding
    candidates: tuple[Candidate, ...]
    refusal: str = ""
    declined: str = ""


def suggestions(
    found: Sequence[Finding], layouts: Layouts, limit: int = MOST_CANDIDATES, premises: Premises = NO_PREMISES
) -> tuple[Suggestion, ...]:
    """The ``answers``; raises ``NothingToSuggest``, with the reason for the hottest line, when none has a candidate."""
    given = answers(found, layouts, limit, premises)
    if not any(answer.candidates for answer in given):
        raise NothingToSuggest(reasons(given))
    return given


def answers(
    found: Sequence[Finding], layouts: Layouts, limit: int = MOST_CANDIDATES, premises: Premises = NO_PREMISES
) -> tuple[Suggestion, ...]:
    """One suggestion per record, for its hottest line; a line without candidates tells why.

    ``limit`` is the number of candidates for one record.
    """
    given: list[Suggestion] = []
    for finding in found:
        if not any(_tells(answer, finding) for answer in given):
            given.append(_suggestion(finding, found, layouts, limit, premises))
    return tuple(given)


def _tells(answer: Suggestion, finding: Finding) -> bool:
    """Whether an answer for another line of the same record holds for this one: candidates have all lines in view."""
    mine, theirs = (one.objects[0].layout if one.objects else None for one in (finding, answer.finding))
    if mine is None or mine != theirs:
        return False
    same = _meeting(finding) == _meeting(answer.finding)
    whole = any(one.before.id == mine for one in answer.candidates)
    return whole or (same and bool(_meeting(finding)))


def _meeting(finding: Finding) -> frozenset[str]:
    return frozenset(name for pair in finding.triage.pairs for name in (pair.first, pair.second))


def first_candidates(answers: Sequence[Suggestion], limit: int) -> tuple[Suggestion, ...]:
    """The same answers with ``limit`` candidates in all, so that the numbers of those that stay do not change."""
    kept: list[Suggestion] = []
    for answer in answers:
        candidates = answer.candidates[:limit]
        limit -= len(candidates)
        if candidates or not answer.candidates:
            kept.append(replace(answer, candidates=candidates))
    return tuple(kept)


def _suggestion(
    finding: Finding, found: Sequence[Finding], layouts: Layouts, limit: int, premises: Premises
) -> Suggestion:
    others = [one for one in found if one is not finding]
    try:
        made = proposal(finding, layouts, limit, others, premises)
    except NothingToSuggest as refusal:
        return Suggestion(finding, (), str(refusal))
    return Suggestion(finding, made.candidates, declined=made.declined)


def reasons(answers: Sequence[Suggestion]) -> str:
    """Why none of the answers has a candidate, in a sentence or two."""
    if not answers:
        return "The profile holds no line to suggest anything for."
    more = len(answers) - 1
    return answers[0].refusal + (f" ({more} more lines have no candidate either.)" if more else "")
