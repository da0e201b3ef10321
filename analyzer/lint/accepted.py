# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes out of a report what is accepted: suppressed for a reason until a day, or known since a baseline.

A baseline is a file of violations that are known and accepted, so that only new ones count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase

import msgspec

from linesmith.analyzer.base.errors import BaselineError
from linesmith.analyzer.base.text import did_you_mean
from linesmith.analyzer.lint.rules.catalogue import RULES
from linesmith.analyzer.lint.rules.of_file import SUPPRESSION_EXPIRED, SUPPRESSION_UNUSED
from linesmith.analyzer.model import Accepted, LintReport, Suppression, Violation

VERSION = 1
MOST_BYTES = 1 << 24
IN_THE_BASELINE = "known since the baseline"
_EXPIRED = "remove it, or set a later day with the reason"
_UNUSED = "remove it, so that it cannot hide a later violation"
_MISNAMED = "write the name of a rule; `linesmith explain` lists them"

Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is accepted, with the reason that somebody wrote there (often none); ``name`` is that of the file."""

    name: str = ""
    reasons: Mapping[Key, str] = field(default_factory=dict)


NO_BASELINE = Baseline()


class _BaselineEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    rule: str
    type: str
    member: str = ""
    subject: str = ""
    reason: str = ""


class _BaselineFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    linesmith_baseline: int
    accepted: tuple[_BaselineEntry, ...]


def read_baseline(content: bytes, name: str) -> Baseline:
    """What the JSON in ``content`` accepts; ``name`` is what errors call it. Raises ``BaselineError``."""
    if len(content) > MOST_BYTES:
        raise BaselineError(f"{name} is larger than {MOST_BYTES >> 20} MiB, too large for a baseline; write it again")
    try:
        document = msgspec.json.decode(content, type=_BaselineFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"{name} is not a baseline: {error}; write one with --write-baseline") from None
    if document.linesmith_baseline != VERSION:
        said = (
            f"{name} is a baseline of version {document.linesmith_baseline}, but this linesmith reads version {VERSION}"
        )
        raise BaselineError(f"{said}; write it again with --write-baseline")
    return Baseline(name, {(one.rule, one.type, one.member, one.subject): one.reason for one in document.accepted})


def written_baseline(violations: Iterable[Violation], known: Baseline) -> str:
    """A baseline that accepts these violations, sorted, one a line; the reasons of ``known`` stay."""
    keys = sorted({one.key for one in violations})
    entries = (_BaselineEntry(*key, known.reasons.get(key, "")) for key in keys)
    lines = ",\n".join(f"    {msgspec.json.encode(entry).decode()}" for entry in entries)
    accepted = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "linesmith_baseline": {VERSION},\n  "accepted": {accepted}\n}}\n'


def _unknown_rule(one: Suppression) -> str:
    """A clause on the rule that it names, empty where there is such a rule."""
    names = [rule.name for rule in RULES]
    if any(fnmatchcase(name, one.rule) for name in names):
        return ""
    return "; ".join(filter(None, (f"no rule {one.rule}", did_you_mean(one.rule.lower(), names))))


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


def apply_acceptance(report: LintReport, acceptance: Acceptance) -> LintReport:
    """The report with what is accepted excluded, and with a violation for each suppression to look after.

    An expired suppression accepts nothing. The baseline accepts violations of either kind.
    """
    suppressed = tuple(_suppressed(report.violations, acceptance))
    met = {one.by for one in suppressed}
    left = set(report.violations) - {one.violation for one in suppressed}
    every = [one for one in report.violations if one in left] + list(_stale(report, acceptance, met))
    reasons, rest, known = acceptance.baseline.reasons, [], []
    for one in every:
        key = next((key for key in one.keys if key in reasons), None)
        if key is None:
            rest.append(one)
        else:
            known.append(Accepted(one, reasons[key] or IN_THE_BASELINE, acceptance.baseline.name))
    return replace(
        report,
        violations=tuple(sorted(rest, key=lambda one: one.order)),
        accepted=tuple(sorted((*suppressed, *known), key=lambda one: one.violation.order)),
    )


def _suppressed(violations: Iterable[Violation], acceptance: Acceptance) -> Iterator[Accepted]:
    """Each violation that a suppression meets, with the first one that does."""
    good = [one for one in acceptance.suppressions if not _expired(one, acceptance.today)]
    for violation in violations:
        found = next((one for one in good if _meets(one, violation)), None)
        if found is not None:
            yield Accepted(violation, found.reason, found.place)


def _stale(report: LintReport, acceptance: Acceptance, met: set[str]) -> Iterator[Violation]:
    """A violation for each suppression that expired, names no rule, or could have met something and did not."""
    for one in acceptance.suppressions:
        # ``isolation-* for tail``: what it accepts of its record.
        accepting = one.rule if one.member == "*" else f"{one.rule} for {one.member}"
        rule = SUPPRESSION_UNUSED
        if _expired(one, acceptance.today):
            rule = SUPPRESSION_EXPIRED
            clause, advice = f"expired on {one.expires}; its reason was: {one.reason}", _EXPIRED
        elif unknown := _unknown_rule(one):
            clause, advice = f"matches nothing: {unknown}", _MISNAMED
        elif one.place not in met and acceptance.judged(one):
            clause, advice = f"matches no violation; its reason is: {one.reason}", _UNUSED
        else:
            continue
        if rule.name in report.rules:
            file, _, line = one.place.rpartition(":")
            yield Violation(
                rule=rule.name,
                severity=rule.severity,
                type=one.record,
                message=f"the suppression of {accepting} {clause}",
                subject=accepting,
                advice=advice,
                file=file or None,
                line=int(line) if line.isdecimal() else None,
            )


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
