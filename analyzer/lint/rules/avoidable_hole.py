# SPDX-License-Identifier: GPL-2.0-or-later
"""``avoidable-hole``: a change left bytes unused that moving one member would give back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter

from linesmith.analyzer.layouts.collection import MOST_MEMBERS, Layouts
from linesmith.analyzer.layouts.gaps import gaps, line_of, lines, straddles
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.layouts.single_moves import ShrinkingMove, moves
from linesmith.analyzer.lint.groups import guarded, guards_near, locks_with_data
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule
from linesmith.analyzer.model import FactKind, Figure, Layout, RecordKind, Severity, SourceFact, Violation

# Damaged debug information can nest anonymous records without end.
_MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class _Gap:
    """Bytes without a member behind ``after``, in the middle or (``padding``) at the end, before and now."""

    after: str
    old: int
    new: int
    padding: bool = False

    def __str__(self) -> str:
        """``a new hole of 4 bytes behind i_flags``."""
        if self.padding:
            return f"a padding of {self.new} bytes instead of {self.old}"
        if self.old:
            return f"a hole of {self.new} bytes instead of {self.old} behind {self.after}"
        return f"a new hole of {self.new} byte{'s' * (self.new != 1)} behind {self.after}"


def _check(record: LintedRecord) -> Iterator[Violation]:
    before, now = record.before, record.now
    if before is None or _unused(now) <= _unused(before):
        return
    gap = _largest_growth(before, now)
    best = _best(record, _moves(now, record)) if gap else ()
    if gap is None or not best:
        return
    old, new = before.layout, now.layout
    least = min((move.size for move in _moves(before, record)), default=old.size)
    if new.size - best[0].size <= old.size - least:
        return
    move = min(best, key=_harm(before, now))
    after = lines(move.result[0])
    fewer = f" and {after} of {lines(new)} cache lines" if after < lines(new) else ""
    unused = Figure("unused", _unused(before), _unused(now))
    yield RULE.broken(
        new,
        f"behind {move.after} would make it {move.size} bytes instead of {new.size}{fewer}; there is {gap}",
        member=move.name,
        advice=f"declare {move.name} behind {move.after}, unless something relies on their order",
        figures=(Figure("size", old.size, new.size), unused, Figure("size after the move", None, move.size)),
        line=next((one.member.line for one in nameable(new, now.layouts) if one.path == move.name), None),
    )


def _unused(version: RecordVersion) -> int:
    """Bytes in holes and padding."""
    return sum(_holes(version).values()) + gaps(version.layout).padding


def _largest_growth(before: RecordVersion, after: RecordVersion) -> _Gap | None:
    """What grew most of the holes, each known by the member before it, and the padding."""
    was, now = _holes(before), _holes(after)
    found = [_Gap(name, was.get(name, 0), size) for name, size in now.items()]
    found.append(_Gap("", gaps(before.layout).padding, gaps(after.layout).padding, padding=True))
    largest = max(found, key=lambda gap: gap.new - gap.old)
    return largest if largest.new > largest.old else None


def _holes(version: RecordVersion) -> Counter[str]:
    """Bytes without a member behind each that such follow."""
    found: Counter[str] = Counter()
    for name, size in islice(_behind(version.layout, version.layouts, _MOST_LEVELS), MOST_MEMBERS):
        found[name or "an anonymous member"] += size
    return +found


def _behind(layout: Layout, layouts: Layouts, levels: int) -> Iterator[tuple[str, int]]:
    """Of the record and its parts without a name; of an anonymous union the largest members count."""
    yield from ((layout.members[hole.after].name, hole.size) for hole in gaps(layout).holes)
    least = max((one.size for one in layout.members), default=0) if layout.kind is RecordKind.UNION else 0
    for member in layout.members if levels else ():
        if member.name or member.record is None or member.size < least:
            continue
        inner = layouts.by_id(member.record)
        if not inner.name:  # one with a tag, or a base, has its holes wherever it is
            yield from _behind(inner, layouts, levels - 1)
            yield inner.members[-1].name if inner.members else "", gaps(inner).padding


def _moves(version: RecordVersion, record: LintedRecord) -> tuple[ShrinkingMove, ...]:
    """The moves of single members, but not of those that an intent says something of, that are guarded or by a lock."""
    layout, layouts = version.layout, version.layouts
    groups = (tuple(path.partition(".")[0] for path in group.members) for group in record.groups)
    together = (SourceFact(FactKind.TOGETHER, group, "a group of linesmith.toml") for group in groups)
    paths = [path for one in record.intents for path in (*one.hot, *one.read_mostly, *one.write_hot)]
    paths += [path for one in record.isolations for path in (*one.members, *one.apart_from)]
    protected = (one.path for data in locks_with_data(layout, layouts).values() for one in data)
    stay = {path.partition(".")[0] for path in paths} | guarded(layout, layouts, record.intents) | set(protected)
    return tuple(moves(layout, layouts, (*record.facts, *together), stay))


def _best(record: LintedRecord, found: tuple[ShrinkingMove, ...]) -> tuple[ShrinkingMove, ...]:
    """Of the moves that do no harm those that give most back."""
    for _, equal in groupby(sorted(found, key=attrgetter("size")), attrgetter("size")):
        harmless = tuple(_harmless(record, equal))
        if harmless:
            return harmless
    return ()


def _harmless(record: LintedRecord, found: Iterable[ShrinkingMove]) -> Iterator[ShrinkingMove]:
    """Those by which no other member comes to lie across two lines and the moved one meets and leaves no guard.

    What is relied on to be at its offset stays there.
    """
    new, layouts = record.layout, record.now.layouts
    across, guards, at = _across(new, layouts), guarded(new, layouts, record.intents), _offsets(new, layouts)
    fixed = {name for fact in record.facts if fact.kind is FactKind.OFFSET for name in fact.members} & at.keys()
    for move in found:
        moved, seen = move.result
        now = _offsets(moved, seen) if fixed else at
        same_guards = guards_near(move.name, guards, moved, seen) == guards_near(move.name, guards, new, layouts)
        if same_guards and _across(moved, seen) <= across and all(at[name] == now.get(name) for name in fixed):
            yield move


def _across(layout: Layout, layouts: Layouts) -> frozenset[str]:
    every = (one for one in nameable(layout, layouts) if not one.member.is_bit_field)
    return frozenset(one.path for one in every if straddles(one.offset, one.span.size))


def _offsets(layout: Layout, layouts: Layouts) -> dict[str, int]:
    """Bytes by name; what damaged debug information has no name of goes by its number, which a move changes."""
    return {one.path: one.offset for one in nameable(layout, layouts)}


def _harm(
    before: RecordVersion, after: RecordVersion
) -> Callable[[ShrinkingMove], tuple[int, bool, int, int, str, str]]:
    """What makes one of several moves worse: it moves a member of both builds, many others off their lines, or far."""
    known, at = _offsets(before.layout, before.layouts), _offsets(after.layout, after.layouts)

    def harm(move: ShrinkingMove) -> tuple[int, bool, int, int, str, str]:
        now = _offsets(*move.result)
        elsewhere = sum(line_of(now[name]) != line_of(at[name]) for name in now.keys() & at.keys())
        way = abs(now[move.name] - at[move.name])
        return move.size, move.name in known, elsewhere, way, move.name, move.after

    return harm


RULE = Rule(
    name="avoidable-hole",
    summary="a new hole or padding that moving one member would close",
    severity=Severity.WARNING,
    check=_check,
)
