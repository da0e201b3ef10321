# SPDX-License-Identifier: GPL-2.0-or-later
"""Suppressions that can accept nothing, because a rule, a record or a member is not called so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase

from linesmith.analyzer.geometry import nameable, named
from linesmith.analyzer.intent.check import STALE, offer, problem
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Severity, Suppression, Violation
from linesmith.analyzer.rules import RULES

_PATTERN = "*?["


def unknown_rule(one: Suppression) -> str:
    """A clause on the rule that it names, empty where there is such a rule."""
    names = [rule.name for rule in RULES]
    if any(fnmatchcase(name, one.rule) for name in names):
        return ""
    near = get_close_matches(one.rule.lower(), names, 1)
    return f"no rule is called {one.rule}{f'; did you mean {near[0]}?' if near else ''}"


def misnamed(suppressions: Iterable[Suppression], layouts: Layouts) -> Iterator[Violation]:
    """Each that accepts nothing in a build of all that the file is for; patterns may meet something later."""
    for one in suppressions:
        for said in (unknown_rule(one), _unknown_place(one, layouts)):
            if said:
                yield problem(one, STALE, Severity.WARNING, f"the suppression of {one.rule} accepts nothing: {said}")


def _unknown_place(one: Suppression, layouts: Layouts) -> str:
    record = one.record.rpartition(" ")[2]
    if any(sign in record for sign in _PATTERN):
        return ""
    found = layouts.variants(record)
    if not found:
        return f"no struct or union is called so{offer(record, layouts.names())}"
    if any(sign in one.member for sign in _PATTERN) or any(named(each, layouts, one.member) for each in found):
        return ""
    return f"{one.member} is not there{offer(one.member, [each.path for each in nameable(found[0], layouts)])}"
