# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-broken``: a member can share a line, or a pair of lines, with a member that it must be isolated from."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.layouts.leaves import Named
from linesmith.analyzer.lint.groups import newly_meeting
from linesmith.analyzer.lint.growth import holders
from linesmith.analyzer.lint.meetings import MemberMeetings, listed, meetings_of, other_members, way
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule, meeting_violation
from linesmith.analyzer.model import CACHE_LINE_BYTES, Isolation, Layout, Severity, Violation

_MOVE = "move the others off its line, or allow them in linesmith.toml"
_KEEP = "separate them in all phases: by distance, or by alignment of the record and the member"
_FROM = "name the members to isolate it from in linesmith.toml, if it need not be alone in every holder"
# Of more places where a record is held these are reported, by name, and the others counted.
_MOST_HOLDERS = 32


def _check(record: LintedRecord) -> Iterator[Violation]:
    said: set[frozenset[str]] = set()
    on_lines: set[frozenset[str]] = set()  # those of them that an intent keeps off one line, not a pair of lines only
    members: set[str] = set()
    for isolation in sorted(record.isolations, key=lambda one: one.bytes):
        known = _meetings(isolation, record.before) if record.before else ()
        shares = {one.key: one.worst.share for one in known}
        for found in _meetings(isolation, record.now):
            members.add(found.member.path)
            if not found.meetings <= said:  # who shares a line shares a pair of lines, too; both may be wanted alone
                said |= found.meetings
                on_lines |= found.meetings if isolation.bytes == CACHE_LINE_BYTES else set()
                message, old = _meets(isolation, found), shares.get(found.key)
                moved = "" if old is not None and old >= found.worst.share else _moved(record, found)
                message = f"{message}; {moved}" if moved else message
                yield meeting_violation(RULE, record.layout, found, message, _KEEP, old)
        if not isolation.apart_from:
            yield from _in_holders(record, isolation)
    # What alignment to lines or a padding kept apart before, so that nobody needs to say it.
    for one in newly_meeting(record):
        if one.found.member.path not in members and not one.found.meetings <= on_lines:
            worst = one.found.worst
            had = "; before it had a line to itself" if one.alone else f", from which {one.by} separated it before"
            message = f"{worst.verb} a line with {listed(one.found.others)}{worst.clause}{had}"
            yield meeting_violation(RULE, record.layout, one.found, message, _MOVE)


def _meetings(isolation: Isolation, version: RecordVersion) -> Iterator[MemberMeetings]:
    """Each isolated member with each of those it must be kept from, or with all others together."""
    own, starts = version.members_called(isolation.members), version.starts(isolation.bytes)
    others: list[tuple[Named, ...]] = [(other,) for other in version.members_called(isolation.apart_from)]
    if not isolation.apart_from and own:
        others = [tuple(other_members(version.layout, version.layouts, own))]
    found = (meetings_of(member, some, starts, isolation.phases) for member in own for some in others)
    yield from filter(None, found)


def _in_holders(record: LintedRecord, isolation: Isolation) -> Iterator[Violation]:
    """Who came onto the line of an isolated member in a record that holds this one; not what was so in the base."""
    before = _holder_meetings(isolation, record.before) if record.before else {}
    now = _holder_meetings(isolation, record.now)
    known = {key: found.worst.share for key, (_, found) in before.items()}
    worse = [key for key, (_, found) in sorted(now.items()) if known.get(key, -1.0) < found.worst.share]
    for key in worse[:_MOST_HOLDERS]:
        holder, found = now[key]
        message = f"{_meets(isolation, found)}; {record.layout.title} isolates it wherever it is held"
        yield meeting_violation(RULE, holder, found, message, _KEEP, known.get(key))
    if len(worse) > _MOST_HOLDERS:
        more = f"is not alone in {len(worse) - _MOST_HOLDERS} more places where other records hold it"
        yield RULE.broken(record.layout, more, member=isolation.members[0], subject="where it is held", advice=_FROM)


def _holder_meetings(
    isolation: Isolation, version: RecordVersion
) -> dict[tuple[str, str], tuple[Layout, MemberMeetings]]:
    """Isolated members in records that hold theirs, by title and path, with those that the holder adds to their lines.

    Elements of an array count as one member, which meets whatever one of them does.
    """
    own = version.members_called(isolation.members)
    met: dict[tuple[str, str], tuple[Layout, MemberMeetings]] = {}
    for holder in holders(version) if own else ():
        starts = version.build.starts.of(holder.record, isolation.bytes)
        for member in map(holder.held, own):
            found = meetings_of(member, holder.others, starts, isolation.phases)
            if found is not None:
                key = holder.record.title, member.path
                met[key] = holder.record, found.with_(met[key][1]) if key in met else found
    return met


def _moved(record: LintedRecord, found: MemberMeetings) -> str:
    """What the change did to the member and to the first of those that it meets: where each was, and where it is."""
    if record.before is None:
        return ""
    said = []
    for path in (found.member.path, found.others[0]):
        was, now = record.before.member(path), record.now.member(path)
        if now is not None and (was is None or was.offset != now.offset):
            said.append(f"{path} {way(was, now)}" if was else f"{path} is new")
    return " and ".join(said)


def _meets(isolation: Isolation, found: MemberMeetings) -> str:
    """``can share a line with a and b in 3 of 8 phases``."""
    where = "a line" if isolation.bytes == CACHE_LINE_BYTES else f"a block of {isolation.bytes} bytes"
    return f"{found.worst.verb} {where} with {listed(found.others)}{found.worst.clause}"


RULE = Rule(
    name="isolation-broken",
    summary="a member can share a line, or a pair of lines, with a member that it must be isolated from",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
    of_intent=True,
)
