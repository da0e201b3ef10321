# SPDX-License-Identifier: GPL-2.0-or-later
"""``intent-stale``: ``linesmith.toml`` names what the build does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linesmith.analyzer.intent.check import STALE, unknown_members
from linesmith.analyzer.lint.rules.rule import Rule, Subject
from linesmith.analyzer.model import Severity, Violation


def _check(subject: Subject) -> Iterator[Violation]:
    """Once for all records of the name; types that are gone are no subjects, `linesmith intent --check` tells them."""
    layouts = subject.head.layouts
    if next((one.id for one in layouts.variants(subject.new.name)), None) != subject.new.id:
        return
    for intent in subject.intents:
        before = {one.key for one in unknown_members(intent, subject.base.layouts)} if subject.base else set()
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
)
