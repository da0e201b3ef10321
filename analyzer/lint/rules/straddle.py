# SPDX-License-Identifier: GPL-2.0-or-later
"""``straddle``: a member that matters came to lie across two cache lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.layouts.gaps import Span, straddles
from linesmith.analyzer.layouts.leaves import Named
from linesmith.analyzer.layouts.placement import alignment_of
from linesmith.analyzer.lint.groups import Watched, watched
from linesmith.analyzer.lint.meetings import CachePhases, listed
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule, declared_on
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, PhaseCount, Severity, Violation

# A change by less is what any growth of an object brings whose starts are spread over the phases.
NEWS_SHARE = 0.25
_AT_A_LINE = CachePhases(CACHE_LINE_BYTES, (PhaseCount(0, 1),))


@dataclass(frozen=True, slots=True)
class _Across:
    """In ``cache`` a member lies across two lines in these ``phases`` of ``among``, which is ``share`` of the objects.

    That is the cache where most objects have it so; ``everywhere`` tells that all objects of all known caches have it.
    ``aligned`` tells that objects of every cache begin at a line.
    """

    share: float = 0.0
    phases: tuple[int, ...] = ()
    among: int = 1
    cache: str = ""
    everywhere: bool = True
    aligned: bool = True

    @property
    def clause(self) -> str:
        """`` in 2 of 8 phases of ext4_inode_cache``; empty where every object begins at a line."""
        if self.aligned:
            return ""
        if self.among > 1:
            return f" in {len(self.phases)} of {self.among} phases of {self.cache}"
        begin = f"byte {self.phases[0]} of a line" if self.phases[0] else "a line"
        return f" in all objects of {self.cache}, which begin at {begin}"


def _check(record: LintedRecord) -> Iterator[Violation]:
    by_span: dict[Span, list[Watched]] = {}  # alternatives of a union together
    for one in watched(record.layout, record.now.layouts, record.intents):
        size, word, offset = one.member.span.size, alignment_of(one.member.member), one.member.offset
        # No bit, no more than a line, and no word at a multiple of its size ever lies across lines.
        able = not one.member.member.is_bit_field and size <= CACHE_LINE_BYTES and (word < size or offset % word > 0)
        if able and (one.wanted or record.before):
            by_span.setdefault(one.member.span, []).append(one)
    if not by_span:
        return
    starts = _known_starts(record.now)
    earlier = _known_starts(record.before) if record.before else ()
    for one, *rest in by_span.values():
        now = _across(one.member, starts)
        old = record.before.member(one.member.path) if record.before else None
        was = _across(old, earlier) if old else _Across()
        if now.share >= was.share + NEWS_SHARE:
            # No place is good in all phases of all caches, so what only some of the objects have is a note.
            news = one if now.everywhere else replace(one, severity=Severity.NOTE)
            yield _violation(record.layout, news, (was, now), old, rest)
        elif one.wanted and now.share >= NEWS_SHARE:
            known = replace(one, why=f"{one.why}, as before", severity=Severity.NOTE)
            yield _violation(record.layout, known, (was, now), old, rest)


def _known_starts(version: RecordVersion) -> tuple[CachePhases, ...]:
    """Where objects of the known caches begin; where none is known, an object begins at a line."""
    return tuple(one for one in version.starts() if one.cache) or (_AT_A_LINE,)


def _across(member: Named, every: tuple[CachePhases, ...]) -> _Across:
    """As it is in the cache where most objects have it so."""
    each = []
    for starts in every:
        split = [one for one in starts.phases if straddles(member.offset + one.phase, member.span.size)]
        share = sum(one.objects for one in split) / sum(one.objects for one in starts.phases)
        each.append(_Across(share, tuple(one.phase for one in split), len(starts.phases), starts.cache))
    most = max(each, key=lambda one: one.share)
    everywhere = all(len(one.phases) == one.among for one in each)
    return replace(most, everywhere=everywhere, aligned=not any(begin.phase for one in every for begin in one.phases))


def _violation(
    layout: Layout, one: Watched, share: tuple[_Across, _Across], old: Named | None, others: Sequence[Watched]
) -> Violation:
    """A violation by a member that was at ``old``; the ``others`` lie on the same bytes."""
    was, now = share
    first, last = one.member.offset, one.member.end - 1
    moved = f", it was at {old.offset}" if old and old.offset != first else ""
    place = f", and shares its place with {listed([one.member.path for one in others])}" if others else ""
    return RULE.broken(
        layout,
        f"straddles two lines{now.clause}, at bytes {first} to {last}{moved}; it is {one.why}{place}",
        member=one.member.path,
        advice=_advice(one.member, now),
        figures=(
            Figure("offset", old.offset if old else None, first),
            Figure("objects in which it straddles", 100 * was.share if old else None, 100 * now.share, "per cent"),
        ),
        severity=one.severity,
        line=declared_on(one.member, layout),
    )


def _advice(member: Named, now: _Across) -> str:
    before = CACHE_LINE_BYTES - (member.offset + now.phases[0]) % CACHE_LINE_BYTES
    if now.among > 1:
        return "align the objects of its cache to lines, or move it so that it straddles in fewer phases"
    behind = member.span.size - before
    return f"with {behind} bytes less or {before} more before it, it would be on one line"


RULE = Rule(
    name="straddle",
    summary="a hot member, or a lock, straddles two cache lines",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
    of_intent=True,
)
