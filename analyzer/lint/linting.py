# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies rules to the records of a build, each beside what it was in the base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from linesmith.analyzer.lint.called_now import called_now
from linesmith.analyzer.lint.gone import gone_remarks, stale_members, stale_types
from linesmith.analyzer.lint.linted import Linted, Policy
from linesmith.analyzer.lint.renamed import Renamed, joined, renamed
from linesmith.analyzer.model import Layout, LintReport, TypeIntent, Violation
from linesmith.analyzer.rules import Rule, Side, Subject


def lint(linted: Linted, policy: Policy) -> LintReport:
    """Every violation of the policy's rules, before baselines and suppressions, in the fixed order."""
    names = _renamed(linted, policy)
    linted = replace(linted, pairs=joined(linted.pairs, names), changed=linted.changed + len(names))
    subjects = tuple(_subjects(linted, policy))
    members = called_now(subjects, (linted.old, linted.new), policy.intent)
    found = [members.told(one) for subject in members.subjects for one in _violations(subject, policy.rules)]
    stale = (*stale_types(linted, policy, names), *stale_members(linted, policy, members.said))
    return LintReport(
        head=linted.head,
        base=linted.base,
        violations=tuple(sorted((*found, *stale), key=lambda one: one.order)),
        compared=linted.compared,
        changed=linted.changed,
        watched=sum(bool(subject.tuned) for subject in subjects),
        rules=tuple(rule.name for rule in policy.rules),
        remarks=(*linted.remarks, *gone_remarks(linted, policy, names)),
        unjudged=linted.unjudged,
    )


def _renamed(linted: Linted, policy: Policy) -> tuple[Renamed, ...]:
    """Records that somebody cared for, and that have another name now."""
    if linted.old is None:
        return ()
    old, new = linted.old.layouts, linted.new.layouts
    return renamed(linted.pairs, (old, new), lambda one: bool(policy.intents(one.name) or policy.tuned(one, old)))


def _subjects(linted: Linted, policy: Policy) -> Iterator[Subject]:
    for old, new in linted.pairs:
        if new is None:
            continue
        before = (old.name,) if old and old.name != new.name else ()
        intents = tuple(one for name in (new.name, *before) for one in policy.intents(name))
        tuned = _reason(policy, intents, ((new, linted.new), (old, linted.old)))
        told = linted.facts.get(new.name, ()), linted.docs.get(new.name)
        yield Subject(new, linted.new, old, linted.old, tuned, intents, *told)


def _reason(
    policy: Policy, intents: tuple[TypeIntent, ...], versions: Iterable[tuple[Layout | None, Side | None]]
) -> str:
    """Why the record counts as tuned, in the first of its versions that does."""
    if intents:
        return f"has intents in {intents[0].place}"
    reasons = (policy.tuned(layout, side.layouts) for layout, side in versions if layout and side)
    return next(filter(None, reasons), "")


def _violations(subject: Subject, rules: Iterable[Rule]) -> Iterator[Violation]:
    for rule in rules:
        if (subject.tuned or rule.untuned) and not (rule.pair and subject.old is None):
            yield from rule.check(subject)
