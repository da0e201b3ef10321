# SPDX-License-Identifier: GPL-2.0-or-later
"""``intent-stale``: ``linesmith.toml`` names what the build does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linesmith.analyzer.intent.check import STALE, unknown_members
from linesmith.analyzer.lint.rules.rule import LintedRecord, Rule
from linesmith.analyzer.model import Severity, Violation


def _check(record: LintedRecord) -> Iterator[Violation]:
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


RULE = Rule(
    name=STALE,
    summary="linesmith.toml names a type or member that the build does not have",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
    of_intent=True,
)
