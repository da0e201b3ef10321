# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies rules to the records of a build, each beside what it was in the base."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TypeVar

from linesmith.analyzer.intent.check import STALE, unknown_members, unknown_types
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.lint.pairs import Pair
from linesmith.analyzer.lint.renames import Names, Renamed, called_now, joined, renamed
from linesmith.analyzer.lint.rules.catalogue import RULES, Rule, Side, Subject, rule
from linesmith.analyzer.model import (
    NO_INTENT,
    GroupDoc,
    Intent,
    Layout,
    LintChoice,
    LintReport,
    SourceFact,
    TypeIntent,
    Violation,
)

# What a lint looks at, and by which rules.


@dataclass(frozen=True, slots=True)
class Linted:
    """What is looked at: the builds' names, their sides, and pairs of records whose layouts differ or are asked for.

    ``compared`` and ``changed`` count records, as in ``LintReport``. ``facts`` and ``docs`` are what the source and its
    documentation tell, by the record's name. ``remarks`` are whole sentences on what could not be judged, ``unjudged``
    the files of a change that the deadline left out.
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
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules that are on, the intents, and how to tell whether a record is tuned.

    ``applies`` tells whether an intent holds in the configuration of the head build.
    """

    rules: tuple[Rule, ...]
    tuned: Callable[[Layout, Layouts], str]
    intent: Intent = NO_INTENT
    applies: Callable[[TypeIntent], bool] = lambda _: True

    def intents(self, record: str) -> tuple[TypeIntent, ...]:
        """What is wanted of the record called so in this configuration."""
        return tuple(one for one in self.intent.of(record) if self.applies(one))


# Records and members that a build does not have any more: whatever guarded them guards nothing then.

_MOST_NAMED = 8
_LINE = re.compile(r":\d+$")
_FOLLOWING = "write the new name into the entry; given both builds, `linesmith intent NEW --update --base OLD` does"


def stale_types(linted: Linted, policy: Policy, names: Sequence[Renamed] = ()) -> Iterator[Violation]:
    """Each type of an intent that the base had and the build with the change has not, with its new name if known."""
    if linted.old is None or not any(rule.name == STALE for rule in policy.rules):
        return
    had = linted.old.layouts
    intents = (one for one in policy.intent.types if policy.applies(one) and had.variants(one.record))
    known = {one.old.name: one.told for one in names}
    for one in unknown_types(intents, linted.new.layouts):
        told = known.get(one.type)
        yield (
            replace(one, message=f"{one.subject}; {told}, and is judged as the same record", advice=_FOLLOWING)
            if told
            else one
        )


def stale_members(linted: Linted, policy: Policy, names: Mapping[str, Names]) -> Iterator[Violation]:
    """Each member that a file calls as it was, though by ``names``, by record, it is known to be called otherwise now.

    A profile calls members as the build has them that it is of.
    """
    if not any(rule.name == STALE for rule in policy.rules):
        return
    written = (one for record in names for one in policy.intents(record) if _LINE.search(one.place))
    for intent in written:
        for one in unknown_members(intent, linted.new.layouts):
            name = names[intent.record].get(one.member)
            if name is not None:
                message = f"{one.subject}; it is likely called {name} now, and judged as the same member"
                yield replace(one, message=message, advice=_FOLLOWING)


def gone_remarks(linted: Linted, policy: Policy, names: Sequence[Renamed] = ()) -> Iterator[str]:
    """What is no violation, but has to be known: tuned records that are gone, and types that were never there."""
    told = {one.type for one in stale_types(linted, policy, names)}
    for one in names:
        if one.old.name not in told:
            yield f"{one.old.title} is gone, and {one.told}: it is judged as the same record"
    said = {one.record for one in policy.intent.types if policy.applies(one)}
    absent = sorted(name for name in said if not linted.new.layouts.variants(name))
    if linted.old is None:
        if absent:
            yield f"nothing is judged of {_named(absent)}, which the intents name and this build does not have"
        return
    old, new = linted.old.layouts, linted.new.layouts
    gone = (before for before, after in linted.pairs if before and not after and not new.variants(before.name))
    tuned = sorted({one.name for one in gone if one.name not in said and policy.tuned(one, old)})
    if tuned:
        yield f"records that count as tuned are gone, or have another name that nothing guards: {_named(tuned)}"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


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
    for one in rules:
        if (subject.tuned or one.untuned) and not (one.pair and subject.old is None):
            yield from one.check(subject)


# One report of what was judged under several configurations.

_What = TypeVar("_What")


def merged(reports: Sequence[tuple[str, LintReport]]) -> LintReport:
    """What holds under some configuration, each report with the name of its own; there is one at least.

    A violation or a remark that not all of them have names those that do. Counts are of the one that has most.
    """
    only = [report for _, report in reports]
    if len(only) == 1:
        return only[0]
    violations = _under([(title, report.violations) for title, report in reports])
    remarks = _under([(title, report.remarks) for title, report in reports])
    named = (replace(one, configuration=where) for one, where in violations)
    return replace(
        only[0],
        violations=tuple(sorted(named, key=lambda one: one.order)),
        compared=max(one.compared for one in only),
        changed=max(one.changed for one in only),
        watched=max(one.watched for one in only),
        remarks=tuple(f"{where}: {one}" if where else one for one, where in remarks),
        unjudged=tuple(sorted({file for one in only for file in one.unjudged})),
    )


def _under(told: Sequence[tuple[str, Iterable[_What]]]) -> Iterator[tuple[_What, str]]:
    """Each with the configurations under which it is told; empty where these are all."""
    found: dict[_What, dict[int, str]] = {}
    for number, (title, some) in enumerate(told):
        for one in some:
            found.setdefault(one, {})[number] = title
    for one, titles in found.items():
        yield one, "" if len(titles) == len(told) else ", ".join(dict.fromkeys(titles.values()))


# Which rules are on: the default ones, less and more what ``linesmith.toml`` and then the command line say.

ALL = "all"
_SIGNS = "*?["


def chosen_rules(choices: Sequence[LintChoice], rules: Sequence[Rule] = RULES) -> tuple[Rule, ...]:
    """The rules that are on when every choice was heard, the last one having the last word.

    Within one choice the more exact word wins: a rule's name over a pattern, a pattern over ``all``; ``ignore`` wins
    where both are alike. Raises ``RuleUnknown`` for a word that means no rule.
    """
    for choice in choices:
        for word in (*choice.select, *choice.ignore):
            _refuse_unknown(word, rules)
    return tuple(one for one in rules if _on(one, choices))


def _refuse_unknown(word: str, rules: Iterable[Rule]) -> None:
    if not any(_exactness(word, one.name) for one in rules):
        rule(word)


def _on(one: Rule, choices: Iterable[LintChoice]) -> bool:
    on = one.default
    for choice in choices:
        wanted = max((_exactness(word, one.name) for word in choice.select), default=0)
        unwanted = max((_exactness(word, one.name) for word in choice.ignore), default=0)
        if wanted or unwanted:
            on = wanted > unwanted
    return on


def _exactness(word: str, name: str) -> int:
    """3 for the name itself, 2 for a pattern of it, 1 for ``all``, 0 where the rule is not meant."""
    if word == name:
        return 3
    if word == ALL:
        return 1
    return 2 if any(sign in word for sign in _SIGNS) and fnmatchcase(name, word) else 0
