# SPDX-License-Identifier: GPL-2.0-or-later
"""``straddle``: a member that matters came to lie across two cache lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.layouts.gaps import Span, straddles
from linesmith.analyzer.layouts.leaves import Named, named
from linesmith.analyzer.layouts.placement import alignment_of
from linesmith.analyzer.lint.regions import listed
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject, declared_on
from linesmith.analyzer.lint.starts import Starts
from linesmith.analyzer.lint.watched import Watched, watched
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, PhaseCount, Severity, Violation

# A change by less is what any growth of an object brings whose starts are spread over the phases.
NEWS_SHARE = 0.25
_AT_A_LINE = Starts(CACHE_LINE_BYTES, (PhaseCount(0, 1),))


@dataclass(frozen=True, slots=True)
class _Across:
    """In ``cache`` a member lies across two lines in these ``phases`` of ``among``, which is ``share`` of the objects.

    That is the cache where most objects have it so: in ``apart`` of all known ``caches`` some have, in ``whole`` all.
    ``aligned`` tells that objects of every cache begin at a line.
    """

    share: float = 0.0
    phases: tuple[int, ...] = ()
    among: int = 1
    cache: str = ""
    apart: int = 1
    whole: int = 1
    caches: int = 1
    aligned: bool = True

    @property
    def everywhere(self) -> bool:
        """Whether every object that is known of has it so."""
        return self.whole == self.caches

    @property
    def clause(self) -> str:
        """`` in 2 of 8 phases of ext4_inode_cache``; empty where every object begins at a line."""
        if self.aligned:
            return ""
        return f" in {self.apart} of its {self.caches} caches, as{self._here}" if self.caches > 1 else self._here

    @property
    def _here(self) -> str:
        if self.among > 1:
            return f" in {len(self.phases)} of {self.among} phases of {self.cache}"
        begin = f"byte {self.phases[0]} of a line" if self.phases[0] else "a line"
        return f" in all objects of {self.cache}, which begin at {begin}"


def _check(subject: Subject) -> Iterator[Violation]:
    found = watched(subject.new, subject.head.layouts, subject.intents)
    able = [one for one in found if _may_lie_across(one.member) and (one.wanted or subject.old)]
    if not able:
        return
    phases = _phases(subject.new, subject.head)
    earlier = _phases(subject.old, subject.base) if subject.old and subject.base else ()
    for one, *rest in _alternatives(able):
        now = _across(one.member, phases)
        old = _before(subject, one.member)
        was = _across(old, earlier) if old else _Across()
        if now.share >= was.share + NEWS_SHARE:
            yield _violation(subject, _as_severe(one, now), (was, now), rest)
        elif one.wanted and now.share >= NEWS_SHARE:
            known = replace(one, why=f"{one.why}, as before", severity=Severity.NOTE)
            yield _violation(subject, known, (was, now), rest)


def _as_severe(one: Watched, now: _Across) -> Watched:
    """No place is good in all phases of all caches, so what only some of the objects have is a note."""
    return one if now.everywhere else replace(one, severity=Severity.NOTE)


def _alternatives(found: Iterable[Watched]) -> Iterable[Sequence[Watched]]:
    """Those that lie on the same bytes, the alternatives of a union, together."""
    by_span: dict[Span, list[Watched]] = {}
    for one in found:
        by_span.setdefault(one.member.span, []).append(one)
    return by_span.values()


def _may_lie_across(member: Named) -> bool:
    """Whether it can lie across lines at all: no bit, no more than a line, no word at a multiple of its size."""
    size, word = member.span.size, alignment_of(member.member)
    return not member.member.is_bit_field and size <= CACHE_LINE_BYTES and (word < size or member.offset % word > 0)


def _before(subject: Subject, member: Named) -> Named | None:
    """The same member of the base; one that was not there lay nowhere."""
    return named(subject.old, subject.base.layouts, member.path) if subject.old and subject.base else None


def _phases(layout: Layout, side: Side) -> tuple[Starts, ...]:
    """Where objects of the known caches begin; where none is known, an object begins at a line."""
    return tuple(one for one in side.starts.of(layout) if one.cache) or (_AT_A_LINE,)


def _across(member: Named, phases: tuple[Starts, ...]) -> _Across:
    """As it is in the cache where most objects have it so, with how many of the caches have it, too."""
    each = [_in_cache(member, one) for one in phases]
    most = max(each, key=lambda one: one.share)
    apart, whole = sum(one.share > 0 for one in each), sum(len(one.phases) == one.among for one in each)
    aligned = not any(begin.phase for one in phases for begin in one.phases)
    return replace(most, apart=apart, whole=whole, caches=len(each), aligned=aligned)


def _in_cache(member: Named, objects: Starts) -> _Across:
    split = [one for one in objects.phases if straddles(member.offset + one.phase, member.span.size)]
    share = sum(one.objects for one in split) / sum(one.objects for one in objects.phases)
    return _Across(share, tuple(one.phase for one in split), len(objects.phases), objects.cache)


def _violation(subject: Subject, one: Watched, share: tuple[_Across, _Across], others: Sequence[Watched]) -> Violation:
    old, (was, now) = _before(subject, one.member), share
    first, last = one.member.offset, one.member.end - 1
    moved = f", it was at {old.offset}" if old and old.offset != first else ""
    place = f", and shares its place with {listed([one.member.path for one in others])}" if others else ""
    return RULE.broken(
        subject.new,
        f"lies across two lines{now.clause}, at bytes {first} to {last}{moved}; it is {one.why}{place}",
        member=one.member.path,
        advice=_advice(one.member, now),
        figures=(
            Figure("offset", old.offset if old else None, first),
            Figure("objects in which it lies across", 100 * was.share if old else None, 100 * now.share, "per cent"),
        ),
        severity=one.severity,
        line=declared_on(one.member, subject.new),
    )


def _advice(member: Named, now: _Across) -> str:
    before = CACHE_LINE_BYTES - (member.offset + now.phases[0]) % CACHE_LINE_BYTES
    if now.among > 1:
        return "align the objects of its cache to lines, or move it so that fewer phases part it"
    behind = member.span.size - before
    there = "" if now.aligned or now.caches == 1 else f" in {now.cache}"
    return f"with {behind} bytes less or {before} more before it, it would be on one line{there}"


RULE = Rule(
    name="straddle",
    summary="a hot member, or a lock, lies across two cache lines",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
