# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules about ``linesmith.toml`` itself: what it names, what it wants, and suppressions that are of no use any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from linesmith.analyzer.intent.check import CONTRADICTION, STALE, unknown_members
from linesmith.analyzer.lint.rules.rule import LintedRecord, Rule, nothing
from linesmith.analyzer.model import Severity, Violation


def _stale(record: LintedRecord) -> Iterator[Violation]:
    """Once for all records of the name; types that are gone are for `linesmith intent --check` to tell."""
    layouts = record.now.layouts
    if next((one.id for one in layouts.variants(record.layout.name)), None) != record.layout.id:
        return
    for intent in record.intents:
        before = {one.key for one in unknown_members(intent, record.base.layouts)} if record.base else set()
        for one in unknown_members(intent, layouts):
            if one.key in before:
                yield replace(one, severity=Severity.NOTE, message=f"{one.message}, as before")
            else:
                yield one


INTENT_STALE = Rule(
    name=STALE,
    summary="linesmith.toml names a type or member that the build does not have",
    severity=Severity.WARNING,
    check=_stale,
    pair=False,
    of_intent=True,
)
# Others report these: `linesmith intent --check` and accepted.py, when all violations are there.
_reported_elsewhere = partial(Rule, check=nothing, pair=False)
INTENT_CONTRADICTION = _reported_elsewhere(
    name=CONTRADICTION,
    summary="intents contradict each other; reported by `linesmith intent --check`",
    severity=Severity.ERROR,
)
SUPPRESSION_EXPIRED = _reported_elsewhere(
    name="suppression-expired", summary="a suppression has expired", severity=Severity.WARNING
)
SUPPRESSION_UNUSED = _reported_elsewhere(
    name="suppression-unused", summary="a suppression matches no violation", severity=Severity.NOTE
)
