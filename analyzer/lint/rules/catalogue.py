# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of ``linesmith lint``: one page each, in the order in which they are reported."""

from __future__ import annotations

from linesmith.analyzer.base.errors import RuleUnknown
from linesmith.analyzer.base.text import did_you_mean
from linesmith.analyzer.lint.rules import (
    alignment_lost,
    avoidable_hole,
    budget_exceeded,
    group_left,
    group_overflow,
    isolation_broken,
    isolation_new,
    lock_moved,
    of_file,
    positional_initialiser,
    slab_growth,
    straddle,
    write_near_read_mostly,
)
from linesmith.analyzer.lint.rules.rule import LintedBuild, LintedRecord, RecordVersion, Rule

RULES = (
    slab_growth.RULE,
    avoidable_hole.RULE,
    straddle.RULE,
    budget_exceeded.RULE,
    alignment_lost.RULE,
    group_left.RULE,
    group_overflow.RULE,
    isolation_broken.RULE,
    isolation_new.RULE,
    lock_moved.RULE,
    write_near_read_mostly.RULE,
    positional_initialiser.RULE,
    of_file.INTENT_STALE,
    of_file.INTENT_CONTRADICTION,
    of_file.SUPPRESSION_EXPIRED,
    of_file.SUPPRESSION_UNUSED,
)


def rule(name: str) -> Rule:
    """The rule of that name; raises ``RuleUnknown`` with the name that is near, if one is."""
    found = next((one for one in RULES if one.name == name), None)
    if found is None:
        step = did_you_mean(name.lower(), (one.name for one in RULES)) or "`linesmith explain` lists the rules"
        raise RuleUnknown(f"no rule {name!r}; {step}")
    return found


def page(name: str) -> str:
    """The documentation of a rule as Markdown; raises ``RuleUnknown``."""
    from importlib import resources  # costs 4 ms, and only who reads a page needs it

    return resources.files(__package__).joinpath("pages", f"{rule(name).name}.md").read_text(encoding="utf-8")


__all__ = ["RULES", "LintedBuild", "LintedRecord", "RecordVersion", "Rule", "page", "rule"]
