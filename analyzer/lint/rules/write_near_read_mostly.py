# SPDX-License-Identifier: GPL-2.0-or-later
"""``write-near-read-mostly``: a frequently written member shares a line with read-mostly members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.layouts.leaves import Named
from linesmith.analyzer.lint.meetings import MemberMeetings, listed, meetings_of
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule, meeting_violation
from linesmith.analyzer.model import Isolation, Severity, TypeIntent, Violation

_ADVICE = "move the written member next to other written members, or into a hole on a written line"


def _check(record: LintedRecord) -> Iterator[Violation]:
    for intent in record.intents:
        before = _meetings(intent, record.isolations, record.before) if record.before else ()
        shares = {one.key: one.worst.share for one in before}
        for found in _meetings(intent, record.isolations, record.now):
            others = f"{listed(found.others)}, read mostly{found.worst.clause}"
            message = f"is written often and {found.worst.verb} a line with {others}"
            yield meeting_violation(RULE, record.layout, found, message, _ADVICE, shares.get(found.key))


def _meetings(intent: TypeIntent, isolations: Sequence[Isolation], version: RecordVersion) -> Iterator[MemberMeetings]:
    """Each written member with those that are read mostly and can be on its line."""
    read = version.members_called(intent.read_mostly)
    for member in version.members_called(intent.write_hot):
        others = (one for one in read if not _isolated(one, member, isolations))
        found = meetings_of(member, others, version.starts())
        if found is not None:
            yield found


def _isolated(one: Named, other: Named, isolations: Sequence[Isolation]) -> bool:
    """Whether it is asked for that the two are kept apart: then ``isolation-broken`` tells that they are not."""
    pairs = ((one.path, other.path), (other.path, one.path))
    return any(
        first in isolation.members and (not isolation.apart_from or second in isolation.apart_from)
        for isolation in isolations
        for first, second in pairs
    )


RULE = Rule(
    name="write-near-read-mostly",
    summary="a frequently written member shares a line with read-mostly members",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
    of_intent=True,
)
