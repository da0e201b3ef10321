# SPDX-License-Identifier: GPL-2.0-or-later
"""``straddle``: a member that matters came to lie across two cache lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from linesmith.analyzer.geometry import Named, named, straddles
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, PhaseCount, Severity, Violation
from linesmith.analyzer.rules.rule import Rule, Side, Subject
from linesmith.analyzer.rules.starts import starts
from linesmith.analyzer.rules.watched import Watched, watched

# A change by less is what any growth of an object brings whose starts are spread over the phases.
NEWS_SHARE = 0.25
_AT_A_LINE = (PhaseCount(0, 1),)


@dataclass(frozen=True, slots=True)
class _Across:
    """A member lies across two lines in these ``phases`` of ``among``, which is ``share`` of the objects."""

    share: float = 0.0
    phases: tuple[int, ...] = ()
    among: int = 1
    cache: str = ""

    @property
    def clause(self) -> str:
        """`` in 2 of 8 phases of ext4_inode_cache``; empty where objects begin at one phase."""
        return f" in {len(self.phases)} of {self.among} phases of {self.cache}" if self.among > 1 else ""


def _check(subject: Subject) -> Iterator[Violation]:
    for one in watched(subject.new, subject.head.layouts, subject.intents):
        now = _across(subject.new, subject.head, one.member)
        if now.share < NEWS_SHARE or not (one.wanted or subject.old):
            continue
        was = _before(subject, one.member)
        if now.share >= was.share + NEWS_SHARE:
            yield _violation(subject, one, was, now)
        elif one.wanted:
            yield _violation(subject, replace(one, why=f"{one.why}, as before", severity=Severity.NOTE), was, now)


def _before(subject: Subject, member: Named) -> _Across:
    """The same of the base; a member that was not there lay nowhere."""
    if subject.old is None or subject.base is None:
        return _Across()
    old = named(subject.old, subject.base.layouts, member.path)
    return _across(subject.old, subject.base, old) if old else _Across()


def _across(layout: Layout, side: Side, member: Named) -> _Across:
    """In the cache where most objects have it so; where no cache is known, of an object that begins at a line."""
    if member.member.is_bit_field or not 0 < member.span.size <= CACHE_LINE_BYTES:
        return _Across()
    caches = [(one.phases, one.cache) for one in starts(layout, side) if one.cache] or [(_AT_A_LINE, "")]
    found = (_in_phases(member, phases, cache) for phases, cache in caches)
    return max(found, key=lambda one: one.share)


def _in_phases(member: Named, phases: tuple[PhaseCount, ...], cache: str) -> _Across:
    split = [one for one in phases if straddles(member.offset + one.phase, member.span.size)]
    share = sum(one.objects for one in split) / sum(one.objects for one in phases)
    return _Across(share, tuple(one.phase for one in split), len(phases), cache)


def _violation(subject: Subject, one: Watched, was: _Across, now: _Across) -> Violation:
    old = named(subject.old, subject.base.layouts, one.member.path) if subject.old and subject.base else None
    first, last = one.member.offset, one.member.end - 1
    moved = f", it was at {old.offset}" if old and old.offset != first else ""
    return RULE.broken(
        subject.new,
        f"lies across two lines{now.clause}, at bytes {first} to {last}{moved}; it is {one.why}",
        member=one.member.path,
        advice=_advice(one.member, now),
        figures=(
            Figure("offset", old.offset if old else None, first),
            Figure("objects in which it lies across", 100 * was.share if old else None, 100 * now.share, "per cent"),
        ),
        severity=one.severity,
        line=one.member.member.line,
    )


def _advice(member: Named, now: _Across) -> str:
    before = CACHE_LINE_BYTES - (member.offset + now.phases[0]) % CACHE_LINE_BYTES
    if now.among > 1:
        return "align the objects of its cache to lines, or move it so that fewer phases part it"
    behind = member.span.size - before
    return f"with {behind} bytes less or {before} more before it, it would be on one line"


RULE = Rule(
    name="straddle",
    summary="a hot member, or a lock, lies across two cache lines",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
