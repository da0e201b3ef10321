# SPDX-License-Identifier: GPL-2.0-or-later
"""Records and members that a build does not have any more: whatever guarded them guards nothing then."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from linesmith.analyzer.intent.check import STALE, unknown_members, unknown_types
from linesmith.analyzer.lint.linted import Linted, Policy
from linesmith.analyzer.lint.member_names import Names
from linesmith.analyzer.lint.renamed import Renamed
from linesmith.analyzer.model import Violation

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
