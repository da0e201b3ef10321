# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents held against one build: whether their names are there, whether they hold now, whether they contradict."""

from __future__ import annotations

from linesmith.analyzer.intent import applies, undecided
from linesmith.analyzer.intent.check import contradictions, impossible, unknown_types
from linesmith.analyzer.lint.linted import Linted, Policy
from linesmith.analyzer.lint.linting import lint
from linesmith.analyzer.lint.misnamed import misnamed
from linesmith.analyzer.lint.pairs import of_one
from linesmith.analyzer.model import Intent, LintReport
from linesmith.analyzer.rules import RULES, Side

# Those that hold one build against what intents want of it.
_RULES = (
    "group-left",
    "group-overflow",
    "isolation-broken",
    "budget-exceeded",
    "write-near-read-mostly",
    "straddle",
    "intent-stale",
)


def checked(intent: Intent, head: str, side: Side, configuration: frozenset[str] | None) -> LintReport:
    """What is wrong with the intents themselves, and what the build called ``head`` breaks of them.

    Those of another configuration are left out; where it is not known, a remark tells which.
    """
    holding = tuple(filter(applies(configuration), intent.types))
    layouts = side.layouts
    unknown = (*unknown_types(holding, layouts), *misnamed(intent.suppressions, layouts))
    wrong = (*contradictions(intent), *unknown, *impossible(holding, layouts))
    names = dict.fromkeys(one.record for one in holding if layouts.variants(one.record))
    found = of_one(layouts, tuple(names)) if names else None
    linted = Linted(head, side, found.pairs if found else ())
    rules = tuple(rule for rule in RULES if rule.name in _RULES)
    broken = lint(linted, Policy(rules, lambda *_: "", intent, applies(configuration)))
    return LintReport(
        head,
        violations=tuple(sorted((*wrong, *broken.violations), key=lambda one: one.order)),
        compared=len(names),
        watched=broken.watched,
        rules=broken.rules,
        remarks=undecided(intent, configuration),
    )
