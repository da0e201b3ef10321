# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes out of a report what is accepted: suppressed for a reason until a day, or known since a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase

from linesmith.analyzer.lint.baseline import NO_BASELINE, Baseline, Key
from linesmith.analyzer.lint.misnamed import unknown_rule
from linesmith.analyzer.model import Accepted, LintReport, Suppression, Violation
from linesmith.analyzer.rules import RULES, Rule, suppression_expired, suppression_unused

IN_THE_BASELINE = "known since the baseline"
_EXPIRED = "take it out, or give it another day and reason"
_UNUSED = "take it out, so that it accepts nothing that comes later"
_MISNAMED = "write the name of a rule; `linesmith explain` lists them"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Suppressions, a baseline, and the day on which a suppression is held against its date.

    ``judged`` tells whether a suppression could have met a violation, had there been one; only then can it be called
    unused.
    """

    suppressions: tuple[Suppression, ...]
    today: date
    baseline: Baseline = NO_BASELINE
    judged: Callable[[Suppression], bool] = lambda _: False


def settled(report: LintReport, acceptance: Acceptance) -> LintReport:
    """The report with what is accepted set apart, and with a violation for each suppression to look after.

    An expired suppression accepts nothing. The baseline accepts violations of either kind.
    """
    suppressed = tuple(_suppressed(report.violations, acceptance))
    met = {one.by for one in suppressed}
    left = set(report.violations) - {one.violation for one in suppressed}
    every = [one for one in report.violations if one in left] + list(_stale(report, acceptance, met))
    known = tuple(_known(every, acceptance.baseline))
    rest = (one for one in every if not acceptance.baseline.reasons.keys() & set(one.keys))
    accepted = sorted((*suppressed, *known), key=lambda one: one.violation.order)
    return replace(
        report,
        violations=tuple(sorted(rest, key=lambda one: one.order)),
        accepted=tuple(accepted),
        remarks=(
            *report.remarks,
            *_dead(report, acceptance, {key for one in (*report.violations, *every) for key in one.keys}),
        ),
    )


def _suppressed(violations: Iterable[Violation], acceptance: Acceptance) -> Iterator[Accepted]:
    """Each violation that a suppression meets, with the first one that does."""
    good = [one for one in acceptance.suppressions if not _expired(one, acceptance.today)]
    for violation in violations:
        found = next((one for one in good if _meets(one, violation)), None)
        if found is not None:
            yield Accepted(violation, found.reason, found.place)


def _known(violations: Iterable[Violation], baseline: Baseline) -> Iterator[Accepted]:
    for one in violations:
        key = next((key for key in one.keys if key in baseline.reasons), None)
        if key is not None:
            yield Accepted(one, baseline.reasons[key] or IN_THE_BASELINE, baseline.name)


def _dead(report: LintReport, acceptance: Acceptance, met: set[Key]) -> Iterator[str]:
    """A sentence on the entries of the baseline that nothing meets; of two builds no run finds all there was."""
    rules = {rule.name for rule in RULES}
    dead = [
        (rule, title)
        for rule, title, member, subject in acceptance.baseline.reasons
        if (rule, title, member, subject) not in met
        and (
            rule not in rules
            or (not report.base and acceptance.judged(Suppression(rule, title.rpartition(" ")[2], "")))
        )
    ]
    if dead:
        (rule, title), *more = sorted(dead)
        entries = f"{len(dead)} entries" if more else "an entry"
        first = f"{rule} of {title}{', …' if more else ''}"
        yield f"{acceptance.baseline.name} has {entries} that nothing meets ({first}): --write-baseline leaves them out"


def _stale(report: LintReport, acceptance: Acceptance, met: set[str]) -> Iterator[Violation]:
    for one in acceptance.suppressions:
        if _expired(one, acceptance.today):
            message = f"the suppression of {_accepting(one)} expired on {one.expires}; its reason was: {one.reason}"
            yield from _about(one, suppression_expired.RULE, (message, _EXPIRED), report)
        elif unknown := unknown_rule(one):
            message = f"the suppression of {_accepting(one)} accepts nothing: {unknown}"
            yield from _about(one, suppression_unused.RULE, (message, _MISNAMED), report)
        elif one.place not in met and acceptance.judged(one):
            message = f"the suppression of {_accepting(one)} meets no violation; its reason is: {one.reason}"
            yield from _about(one, suppression_unused.RULE, (message, _UNUSED), report)


def _about(one: Suppression, rule: Rule, said: tuple[str, str], report: LintReport) -> Iterator[Violation]:
    """A violation with the sentence and the advice that are ``said``."""
    message, advice = said
    if rule.name in report.rules:
        file, _, line = one.place.rpartition(":")
        yield Violation(
            rule=rule.name,
            severity=rule.severity,
            type=one.record,
            message=message,
            subject=_accepting(one),
            advice=advice,
            file=file or None,
            line=int(line) if line.isdecimal() else None,
        )


def _accepting(one: Suppression) -> str:
    """``isolation-* for tail``: what it accepts of its record."""
    return one.rule if one.member == "*" else f"{one.rule} for {one.member}"


def _expired(one: Suppression, today: date) -> bool:
    """The day named is the last one on which it holds."""
    return one.expires is not None and one.expires < today


def _meets(one: Suppression, violation: Violation) -> bool:
    names = (violation.type, violation.type.rpartition(" ")[2])
    return (
        fnmatchcase(violation.rule, one.rule)
        and any(fnmatchcase(name, one.record) for name in names)
        and any(fnmatchcase(member, one.member) for member in (violation.member, violation.was or violation.member))
    )
