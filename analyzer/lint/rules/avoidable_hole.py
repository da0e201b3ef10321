# SPDX-License-Identifier: GPL-2.0-or-later
"""``avoidable-hole``: a change left bytes unused that moving one member would give back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter

from linesmith.analyzer.layouts.collection import MOST_MEMBERS, Layouts
from linesmith.analyzer.layouts.gaps import gaps, line_of, lines, straddles
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.layouts.single_moves import ShrinkingMove, moves
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject
from linesmith.analyzer.lint.watched import company, guarded, locks_with_data
from linesmith.analyzer.model import FactKind, Figure, Layout, RecordKind, Severity, SourceFact, TypeIntent, Violation

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


def _check(subject: Subject) -> Iterator[Violation]:
    old, base = subject.old, subject.base
    if old is None or base is None or _unused(subject.new, subject.head) <= _unused(old, base):
        return
    gap = _largest_growth((old, base), (subject.new, subject.head))
    best = _best(subject, _moves(subject.new, subject.head, subject)) if gap else ()
    if gap is None or not best:
        return
    before = min((move.size for move in _moves(old, base, subject)), default=old.size)
    if subject.new.size - best[0].size > old.size - before:
        yield _violation(subject, gap, _simplest(subject, best))


def _unused(layout: Layout, side: Side) -> int:
    """Bytes in holes and padding."""
    return sum(_holes(layout, side.layouts).values()) + gaps(layout).padding


def _largest_growth(before: tuple[Layout, Side], after: tuple[Layout, Side]) -> _Gap | None:
    """What grew most of the holes, each known by the member before it, and the padding."""
    was, now = (_holes(layout, side.layouts) for layout, side in (before, after))
    found = [_Gap(name, was.get(name, 0), size) for name, size in now.items()]
    found.append(_Gap("", gaps(before[0]).padding, gaps(after[0]).padding, padding=True))
    largest = max(found, key=lambda gap: gap.new - gap.old)
    return largest if largest.new > largest.old else None


def _holes(layout: Layout, layouts: Layouts) -> Counter[str]:
    """Bytes without a member behind each that such follow."""
    found: Counter[str] = Counter()
    for name, size in islice(_behind(layout, layouts, _MOST_LEVELS), MOST_MEMBERS):
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


def _moves(layout: Layout, side: Side, subject: Subject) -> tuple[ShrinkingMove, ...]:
    together = tuple(_together(one) for one in _groups(subject.intents))
    kept = frozenset(path.partition(".")[0] for one in subject.intents for path in _wanted(one))
    protected = (one.path for lock in locks_with_data(layout, side.layouts).values() for one in lock.data)
    stay = kept | guarded(layout, side.layouts, subject.intents) | set(protected)
    return tuple(moves(layout, side.layouts, (*subject.facts, *together), stay))


def _groups(intents: tuple[TypeIntent, ...]) -> Iterator[tuple[str, ...]]:
    for intent in intents:
        for group in intent.groups:
            yield tuple(path.partition(".")[0] for path in group.members)


def _together(group: tuple[str, ...]) -> SourceFact:
    return SourceFact(FactKind.TOGETHER, group, "a group of linesmith.toml")


def _wanted(intent: TypeIntent) -> Iterator[str]:
    """Members that an intent says something of, so that they are not offered to be moved."""
    yield from (*intent.hot, *intent.read_mostly, *intent.write_hot)
    for isolation in intent.isolations:
        yield from (*isolation.members, *isolation.apart_from)


def _best(subject: Subject, found: tuple[ShrinkingMove, ...]) -> tuple[ShrinkingMove, ...]:
    """Of the moves that do no harm those that give most back."""
    for _, equal in groupby(sorted(found, key=attrgetter("size")), attrgetter("size")):
        harmless = tuple(_harmless(subject, equal))
        if harmless:
            return harmless
    return ()


def _harmless(subject: Subject, found: Iterable[ShrinkingMove]) -> Iterator[ShrinkingMove]:
    """Those by which no other member comes to lie across two lines and the moved one meets and leaves no guard.

    What is relied on to be at its offset stays there.
    """
    new, layouts = subject.new, subject.head.layouts
    across, guards, at = _across(new, layouts), guarded(new, layouts, subject.intents), _offsets(new, layouts)
    fixed = {name for fact in subject.facts if fact.kind is FactKind.OFFSET for name in fact.members} & at.keys()
    for move in found:
        moved, seen = move.result
        now = _offsets(moved, seen) if fixed else at
        same_company = company(move.name, guards, moved, seen) == company(move.name, guards, new, layouts)
        if same_company and _across(moved, seen) <= across and all(at[name] == now.get(name) for name in fixed):
            yield move


def _across(layout: Layout, layouts: Layouts) -> frozenset[str]:
    every = (one for one in nameable(layout, layouts) if not one.member.is_bit_field)
    return frozenset(one.path for one in every if straddles(one.offset, one.span.size))


def _offsets(layout: Layout, layouts: Layouts) -> dict[str, int]:
    """Bytes by name; what damaged debug information has no name of goes by its number, which a move changes."""
    return {one.path: one.offset for one in nameable(layout, layouts)}


def _simplest(subject: Subject, found: tuple[ShrinkingMove, ...]) -> ShrinkingMove:
    """The move that gives most back; of equal ones that of a new member, of few others off their lines, a short one."""
    known = _offsets(subject.old, subject.base.layouts) if subject.old and subject.base else {}
    at = _offsets(subject.new, subject.head.layouts)

    def price(move: ShrinkingMove) -> tuple[int, bool, int, int, str, str]:
        now = _offsets(*move.result)
        elsewhere = sum(line_of(now[name]) != line_of(at[name]) for name in now.keys() & at.keys())
        way = abs(now[move.name] - at[move.name])
        return move.size, move.name in known, elsewhere, way, move.name, move.after

    return min(found, key=price)


def _violation(subject: Subject, gap: _Gap, move: ShrinkingMove) -> Violation:
    old, new, base = subject.old or subject.new, subject.new, subject.base or subject.head
    after = lines(move.result[0])
    fewer = f" and {after} of {lines(new)} cache lines" if after < lines(new) else ""
    unused = Figure("unused", _unused(old, base), _unused(new, subject.head))
    return RULE.broken(
        new,
        f"behind {move.after} would make it {move.size} bytes instead of {new.size}{fewer}; there is {gap}",
        member=move.name,
        advice=f"declare {move.name} behind {move.after}, unless something relies on their order",
        figures=(Figure("size", old.size, new.size), unused, Figure("size after the move", None, move.size)),
        line=next((one.member.line for one in nameable(new, subject.head.layouts) if one.path == move.name), None),
    )


RULE = Rule(
    name="avoidable-hole",
    summary="a new hole or padding that moving one member would close",
    severity=Severity.WARNING,
    check=_check,
)
