# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-broken``: a member can share a line, or a pair of lines, with what it must be kept from."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.layouts.leaves import named
from linesmith.analyzer.lint.groups import Joined, joined
from linesmith.analyzer.lint.growth import holders
from linesmith.analyzer.lint.regions import Beside, beside, found_members, listed, others, shares, told, way
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject
from linesmith.analyzer.model import CACHE_LINE_BYTES, Isolation, Layout, Severity, Violation

_MOVE = "move the others off its line, or say in linesmith.toml that they may be there"
_KEEP = "keep them apart in all phases: by the distance between them, or by alignment of the record and the member"
_FROM = "name in linesmith.toml whom it is to be kept from, where it need not be alone in everything that holds it"
# Of more places where a record is held these are told, by name, and the others counted.
_MOST_HOLDERS = 32


def _check(subject: Subject) -> Iterator[Violation]:
    said: set[frozenset[str]] = set()
    on_lines: set[frozenset[str]] = set()  # those of them that an intent keeps off one line, not a pair of lines only
    members: set[str] = set()
    wanted = (one for intent in subject.intents for one in intent.isolations)
    for isolation in sorted(wanted, key=lambda one: one.bytes):
        known = _companies(isolation, subject.old, subject.base) if subject.old and subject.base else ()
        before = shares(known)
        for found in _companies(isolation, subject.new, subject.head):
            members.add(found.member.path)
            if not found.meetings <= said:  # who shares a line shares a pair of lines, too; both may be wanted alone
                said |= found.meetings
                on_lines |= found.meetings if isolation.bytes == CACHE_LINE_BYTES else set()
                yield _violation(subject, isolation, found, before.get(found.key))
        if not isolation.apart_from:
            yield from _in_holders(subject, isolation)
    for one in joined(subject):
        if one.found.member.path not in members and not one.found.meetings <= on_lines:
            yield _without_intent(subject, one)


def _companies(isolation: Isolation, layout: Layout, side: Side) -> Iterator[Beside]:
    """Each isolated member with each of those it must be kept from, or with all others together."""
    own = found_members(layout, side.layouts, isolation.members)
    every = side.starts.of(layout, isolation.bytes)
    if isolation.apart_from:
        named_ones = found_members(layout, side.layouts, isolation.apart_from)
        found = (beside(member, (other,), every, isolation.phases) for member in own for other in named_ones)
    else:
        foreign = tuple(others(layout, side.layouts, own)) if own else ()
        found = (beside(member, foreign, every, isolation.phases) for member in own)
    yield from filter(None, found)


def _in_holders(subject: Subject, isolation: Isolation) -> Iterator[Violation]:
    """Who came onto the line of an isolated member in a record that holds this one; not what was so in the base."""
    before = _beside_holders(isolation, subject.old, subject.base) if subject.old and subject.base else {}
    now = _beside_holders(isolation, subject.new, subject.head)
    known = {key: found.worst.share for key, (_, found) in before.items()}
    worse = [key for key, (_, found) in sorted(now.items()) if known.get(key, -1.0) < found.worst.share]
    for key in worse[:_MOST_HOLDERS]:
        holder, found = now[key]
        message = f"{_meets(isolation, found)}; {subject.new.title} wants it isolated wherever it is held"
        yield told(RULE, holder, found, message, _KEEP, known.get(key))
    if len(worse) > _MOST_HOLDERS:
        more = f"is not alone in {len(worse) - _MOST_HOLDERS} more places where other records hold it"
        yield RULE.broken(subject.new, more, member=isolation.members[0], subject="where it is held", advice=_FROM)


def _beside_holders(isolation: Isolation, layout: Layout, side: Side) -> dict[tuple[str, str], tuple[Layout, Beside]]:
    """Isolated members in records that hold theirs, by title and path, with those that the holder adds to their lines.

    Elements of an array count as one member, which meets whatever one of them does.
    """
    own = found_members(layout, side.layouts, isolation.members)
    met: dict[tuple[str, str], tuple[Layout, Beside]] = {}
    for holder in holders(layout, side) if own else ():
        every = side.starts.of(holder.record, isolation.bytes)
        for member in map(holder.held, own):
            found = beside(member, holder.others, every, isolation.phases)
            if found is not None:
                key = holder.record.title, member.path
                met[key] = holder.record, found.with_(met[key][1]) if key in met else found
    return met


def _violation(subject: Subject, isolation: Isolation, found: Beside, old: float | None) -> Violation:
    message = _meets(isolation, found)
    moved = "" if old is not None and old >= found.worst.share else _moved(subject, found)
    return told(RULE, subject.new, found, f"{message}; {moved}" if moved else message, _KEEP, old)


def _moved(subject: Subject, found: Beside) -> str:
    """What the change did to the member and to the first of those that it meets: where each was, and where it is."""
    if subject.old is None or subject.base is None:
        return ""
    said = []
    for path in (found.member.path, found.others[0]):
        was = named(subject.old, subject.base.layouts, path)
        now = named(subject.new, subject.head.layouts, path)
        if now is not None and (was is None or was.offset != now.offset):
            said.append(f"{path} {way(was, now)}" if was else f"{path} is new")
    return " and ".join(said)


def _meets(isolation: Isolation, found: Beside) -> str:
    """``can share a line with a and b in 3 of 8 phases``."""
    where = "a line" if isolation.bytes == CACHE_LINE_BYTES else f"a block of {isolation.bytes} bytes"
    return f"{found.worst.verb} {where} with {listed(found.others)}{found.worst.clause}"


def _without_intent(subject: Subject, one: Joined) -> Violation:
    """What alignment to lines or a padding kept apart before, so that nobody needs to say it."""
    worst = one.found.worst
    had = "; before it had a line to itself" if one.alone else f", from which {one.by} parted it before"
    message = f"{worst.verb} a line with {listed(one.found.others)}{worst.clause}{had}"
    return told(RULE, subject.new, one.found, message, _MOVE)


RULE = Rule(
    name="isolation-broken",
    summary="a member can share a line, or a pair of lines, with what it must be kept from",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
