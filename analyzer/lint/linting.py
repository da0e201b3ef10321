# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies rules to the records of a build, each with what it was in the base.

Which rules are on is stated by ``enabled_rules``; ``merged`` makes one report of what was judged under several
configurations. Records and members that a build does not have any more are named: what guarded them guards nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TypeVar

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.intent.check import (
    STALE,
    applies,
    contradictions,
    impossible,
    undecided,
    unknown_members,
    unknown_types,
)
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.lint.pairs import Pair, of_one
from linesmith.analyzer.lint.renames import Names, RecordsRenamed, Renamed, joined_pairs, renamed, with_new_names
from linesmith.analyzer.lint.rules.catalogue import RULES, LintedBuild, LintedRecord, RecordVersion, Rule, rule
from linesmith.analyzer.model import (
    NO_INTENT,
    Intent,
    Layout,
    LintChoice,
    LintReport,
    SourceFact,
    TypeIntent,
    Violation,
)

_MOST_NAMED = 8
_LINE = re.compile(r":\d+$")
_FOLLOWING = "write the new name into the entry"
ALL = "all"
_SIGNS = "*?["

_What = TypeVar("_What")


@dataclass(frozen=True, slots=True)
class Linted:
    """What is looked at: the builds' names, their sides, and pairs of records whose layouts differ or are asked for.

    ``compared`` and ``changed`` count records, as in ``LintReport``. ``facts`` are what the source tells, by the
    record's name. ``remarks`` are whole sentences on what could not be judged, ``unjudged``
    the files of a change that the deadline left out.
    """

    head: str
    new: LintedBuild
    pairs: tuple[Pair, ...]
    base: str = ""
    old: LintedBuild | None = None
    compared: int = 0
    changed: int = 0
    facts: Mapping[str, tuple[SourceFact, ...]] = field(default_factory=dict)
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
        """What is wanted of the record of that name in this configuration."""
        return tuple(one for one in self.intent.of(record) if self.applies(one))


def lint(linted: Linted, policy: Policy) -> LintReport:
    """Every violation of the policy's rules, before baselines and suppressions, in the fixed order."""
    names: tuple[Renamed, ...] = ()
    if linted.old is not None:
        old, new = linted.old.layouts, linted.new.layouts
        names = renamed(linted.pairs, (old, new), lambda one: bool(policy.intents(one.name) or policy.tuned(one, old)))
    linted = replace(linted, pairs=joined_pairs(linted.pairs, names), changed=linted.changed + len(names))
    records = tuple(_records(linted, policy))
    now = RecordsRenamed(records)
    if linted.old is not None:
        now = with_new_names(records, linted.old.layouts, policy.intent)
    found = [
        now.with_old_name(violation)
        for record in now.records
        for rule in policy.rules
        if (record.tuned or rule.untuned) and not (rule.pair and record.before is None)
        for violation in rule.check(record)
    ]
    stale = (*_stale_types(linted, policy, names), *_stale_members(linted, policy, now.said))
    return LintReport(
        head=linted.head,
        base=linted.base,
        violations=tuple(sorted((*found, *stale), key=lambda one: one.order)),
        compared=linted.compared,
        changed=linted.changed,
        watched=sum(bool(record.tuned) for record in records),
        rules=tuple(rule.name for rule in policy.rules),
        remarks=(*linted.remarks, *_gone_remarks(linted, policy, names)),
        unjudged=linted.unjudged,
    )


def _records(linted: Linted, policy: Policy) -> Iterator[LintedRecord]:
    for old, new in linted.pairs:
        if new is None:
            continue
        now = RecordVersion(new, linted.new)
        before = RecordVersion(old, linted.old) if old and linted.old else None
        names = dict.fromkeys((new.name, old.name if old else new.name))
        intents = tuple(one for name in names for one in policy.intents(name))
        tuned = f"has intents in {intents[0].place}" if intents else ""
        for version in (now, before):
            tuned = tuned or (policy.tuned(version.layout, version.layouts) if version else "")
        yield LintedRecord(now, before, tuned, intents, linted.facts.get(new.name, ()), linted.old)


def _stale_types(linted: Linted, policy: Policy, names: Sequence[Renamed]) -> Iterator[Violation]:
    """Each type of an intent that the base had and the build with the change has not, with its new name if known."""
    if linted.old is None or not any(rule.name == STALE for rule in policy.rules):
        return
    had = linted.old.layouts
    intents = (one for one in policy.intent.types if policy.applies(one) and had.variants(one.record))
    known = {one.old.name: one.clause for one in names}
    for one in unknown_types(intents, linted.new.layouts):
        told = known.get(one.type)
        message = f"{one.subject}; {told}, and is checked as the same record"
        yield replace(one, message=message, advice=_FOLLOWING) if told else one


def _stale_members(linted: Linted, policy: Policy, names: Mapping[str, Names]) -> Iterator[Violation]:
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
                message = f"{one.subject}; it is probably {name} now, and is checked as the same member"
                yield replace(one, message=message, advice=_FOLLOWING)


def _gone_remarks(linted: Linted, policy: Policy, names: Sequence[Renamed]) -> Iterator[str]:
    """What is no violation, but has to be known: tuned records that are gone, and types that were never there."""
    told = {one.type for one in _stale_types(linted, policy, names)}
    for one in names:
        if one.old.name not in told:
            yield f"{one.old.title} no longer exists, and {one.clause}: it is checked as the same record"
    said = {one.record for one in policy.intent.types if policy.applies(one)}
    absent = sorted(name for name in said if not linted.new.layouts.variants(name))
    if linted.old is None:
        if absent:
            missing = listed(absent, _MOST_NAMED)
            yield f"not checked: {missing}, which this build does not have"
        return
    old, new = linted.old.layouts, linted.new.layouts
    gone = (before for before, after in linted.pairs if before and not after and not new.variants(before.name))
    tuned = sorted({one.name for one in gone if one.name not in said and policy.tuned(one, old)})
    if tuned:
        gone_or_renamed = listed(tuned, _MOST_NAMED)
        yield f"tuned records were removed, or renamed without an intent: {gone_or_renamed}"


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
    """Each with the configurations under which it is reported; empty where these are all."""
    found: dict[_What, dict[int, str]] = {}
    for number, (title, some) in enumerate(told):
        for one in some:
            found.setdefault(one, {})[number] = title
    for one, titles in found.items():
        yield one, "" if len(titles) == len(told) else ", ".join(dict.fromkeys(titles.values()))


def enabled_rules(choices: Sequence[LintChoice], rules: Sequence[Rule] = RULES) -> tuple[Rule, ...]:
    """The rules that are on: all but what ``linesmith.toml`` and then the command line choose otherwise.

    Within one choice the more exact word wins: a rule's name over a pattern, a pattern over ``all``; ``ignore`` wins
    where both are alike. Raises ``RuleUnknown`` for a word that means no rule.
    """
    for choice in choices:
        for word in (*choice.select, *choice.ignore):
            if not any(_exactness(word, one.name) for one in rules):
                rule(word)  # raises
    return tuple(one for one in rules if _is_on(one, choices))


def _is_on(one: Rule, choices: Iterable[LintChoice]) -> bool:
    on = True
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


def checked(intent: Intent, head: str, build: LintedBuild, configuration: frozenset[str] | None) -> LintReport:
    """What is wrong with the intents themselves, and what the build called ``head`` breaks of them.

    Those of another configuration are left out; where it is not known, a remark tells which.
    """
    holding = tuple(filter(applies(configuration), intent.types))
    layouts = build.layouts
    unknown = tuple(unknown_types(holding, layouts))
    wrong = (*contradictions(intent), *unknown, *impossible(holding, layouts))
    names = dict.fromkeys(one.record for one in holding if layouts.variants(one.record))
    found = of_one(layouts, tuple(names)) if names else None
    linted = Linted(head, build, found.pairs if found else ())
    rules = tuple(rule for rule in RULES if rule.of_intent)
    broken = lint(linted, Policy(rules, lambda *_: "", intent, applies(configuration)))
    return LintReport(
        head,
        violations=tuple(sorted((*wrong, *broken.violations), key=lambda one: one.order)),
        compared=len(names),
        watched=broken.watched,
        rules=broken.rules,
        remarks=undecided(intent, configuration),
    )
