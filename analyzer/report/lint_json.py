# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a lint as JSON; docs/schema-lint.md documents it and a test keeps the two equal."""

from __future__ import annotations

import msgspec

from linesmith.analyzer.model import Figure, LintReport, Violation
from linesmith.analyzer.report.lint_key import fingerprint

SCHEMA_VERSION = 1


class ViolationView(msgspec.Struct, frozen=True):
    """One violation; ``fingerprint`` stays the same while figures and lines change."""

    fingerprint: str
    rule: str
    severity: str
    type: str
    member: str
    subject: str
    message: str
    advice: str
    file: str | None
    line: int | None
    figures: tuple[Figure, ...]
    configuration: str


class AcceptedView(msgspec.Struct, frozen=True):
    """A violation that does not count, why, and where that is said."""

    violation: ViolationView
    reason: str
    by: str


class LintDocument(msgspec.Struct, frozen=True):
    """What ``linesmith lint --format json`` writes."""

    schema: int
    base: str | None
    head: str
    compared: int
    changed: int
    watched: int
    rules: tuple[str, ...]
    violations: tuple[ViolationView, ...]
    accepted: tuple[AcceptedView, ...]
    remarks: tuple[str, ...]
    unjudged: tuple[str, ...] = ()


def render_json(report: LintReport) -> str:
    """The report as one indented JSON document that ends in a newline."""
    document = LintDocument(
        SCHEMA_VERSION,
        report.base or None,
        report.head,
        report.compared,
        report.changed,
        report.watched,
        report.rules,
        tuple(map(_violation, report.violations)),
        tuple(AcceptedView(_violation(one.violation), one.reason, one.by) for one in report.accepted),
        report.remarks,
        report.unjudged,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(LintDocument)


def _violation(one: Violation) -> ViolationView:
    return ViolationView(
        fingerprint(one),
        one.rule,
        one.severity.value,
        one.type,
        one.member,
        one.subject,
        one.message,
        one.advice,
        one.file,
        one.line,
        one.figures,
        one.configuration,
    )
