# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies rules to the records of a build, each beside what it was in the base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import NO_INTENT, GroupDoc, Intent, Layout, LintReport, SourceFact, TypeIntent, Violation
from linesmith.analyzer.rules import Rule, Side, Subject

Pair = tuple[Layout | None, Layout | None]


@dataclass(frozen=True, slots=True)
class Linted:
    """What is looked at: the builds' names, their sides, and pairs of records whose layouts differ or are asked for.

    ``compared`` and ``changed`` count records, as in ``LintReport``. ``facts`` and ``docs`` are what the source and its
    documentation tell, by the record's name. ``remarks`` are whole sentences on what could not be judged.
    """

    head: str
    new: Side
    pairs: tuple[Pair, ...]
    base: str = ""
    old: Side | None = None
    compared: int = 0
    changed: int = 0
    facts: Mapping[str, tuple[SourceFact, ...]] = field(default_factory=dict)
    docs: Mapping[str, GroupDoc] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules that are on, the intents, and how to tell whether a record is tuned.

    ``applies`` tells whether an intent holds in the configuration of the head build.
    """

    rules: tuple[Rule, ...]
    tuned: Callable[[Layout, Layouts], str]
    intent: Intent = NO_INTENT
    applies: Callable[[TypeIntent], bool] = lambda _: True


def lint(linted: Linted, policy: Policy) -> LintReport:
    """Every violation of the policy's rules, before baselines and suppressions, in the fixed order."""
    subjects = tuple(_subjects(linted, policy))
    found = [violation for subject in subjects for violation in _violations(subject, policy.rules)]
    return LintReport(
        head=linted.head,
        base=linted.base,
        violations=tuple(sorted(found, key=lambda one: one.order)),
        compared=linted.compared,
        changed=linted.changed,
        watched=sum(bool(subject.tuned) for subject in subjects),
        rules=tuple(rule.name for rule in policy.rules),
        remarks=linted.remarks,
    )


def _subjects(linted: Linted, policy: Policy) -> Iterator[Subject]:
    for old, new in linted.pairs:
        if new is None:
            continue
        intents = tuple(one for one in policy.intent.of(new.name) if policy.applies(one))
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
