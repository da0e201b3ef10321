# SPDX-License-Identifier: GPL-2.0-or-later
"""``avoidable-hole``: a change left bytes unused that moving one member would give back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from linesmith.analyzer.geometry import gaps, line_of, lines, straddles
from linesmith.analyzer.geometry.single_move import SingleMove, shrinking_moves
from linesmith.analyzer.model import FactKind, Figure, Layout, Severity, SourceFact, TypeIntent, Violation
from linesmith.analyzer.rules.guarded import company, guarded
from linesmith.analyzer.rules.lock_data import locks_with_data
from linesmith.analyzer.rules.rule import Rule, Side, Subject


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
    if old is None or base is None or _unused(subject.new) <= _unused(old):
        return
    gap = _largest_growth(old, subject.new)
    best = _best(subject, _moves(subject.new, subject.head, subject)) if gap else ()
    if gap is None or not best:
        return
    before = min((move.size for move in _moves(old, base, subject)), default=old.size)
    if subject.new.size - best[0].size > old.size - before:
        yield _violation(subject, gap, _simplest(old, subject.new, best))


def _unused(layout: Layout) -> int:
    """Bytes in holes and padding."""
    found = gaps(layout)
    return sum(hole.size for hole in found.holes) + found.padding


def _largest_growth(old: Layout, new: Layout) -> _Gap | None:
    """What grew most of the holes, each known by the member before it, and the padding."""
    was, now = _holes(old), _holes(new)
    found = [_Gap(after, was.get(after, 0), size) for after, size in now.items()]
    found.append(_Gap("", gaps(old).padding, gaps(new).padding, padding=True))
    largest = max(found, key=lambda gap: gap.new - gap.old)
    return largest if largest.new > largest.old else None


def _holes(layout: Layout) -> dict[str, int]:
    return {layout.members[hole.after].name or "an anonymous member": hole.size for hole in gaps(layout).holes}


def _moves(layout: Layout, side: Side, subject: Subject) -> tuple[SingleMove, ...]:
    together = tuple(_together(one) for one in _groups(subject.intents))
    kept = frozenset(path.partition(".")[0] for one in subject.intents for path in _wanted(one))
    protected = (one.path for lock in locks_with_data(layout, side.layouts).values() for one in lock.data)
    stay = kept | guarded(layout, side.layouts, subject.intents) | set(protected)
    return tuple(shrinking_moves(layout, side.layouts, (*subject.facts, *together), stay))


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


def _best(subject: Subject, moves: tuple[SingleMove, ...]) -> tuple[SingleMove, ...]:
    """Of the moves that do no harm those that give most back."""
    for _, equal in groupby(sorted(moves, key=attrgetter("size")), attrgetter("size")):
        harmless = tuple(_harmless(subject, equal))
        if harmless:
            return harmless
    return ()


def _harmless(subject: Subject, moves: Iterable[SingleMove]) -> Iterator[SingleMove]:
    """Those by which no other member comes to lie across two lines and the moved one meets and leaves no guard."""
    new, layouts = subject.new, subject.head.layouts
    across, guards = _across(new), guarded(new, layouts, subject.intents)
    for move in moves:
        moved = move.layout
        same_company = company(move.name, guards, moved, layouts) == company(move.name, guards, new, layouts)
        if same_company and _across(moved) <= across:
            yield move


def _across(layout: Layout) -> frozenset[str]:
    return frozenset(one.name for one in layout.members if not one.is_bit_field and straddles(one.offset, one.size))


def _simplest(old: Layout, new: Layout, moves: tuple[SingleMove, ...]) -> SingleMove:
    """The move that gives most back; of equal ones that of a new member, of few others off their lines, a short one."""
    known = {member.name for member in old.members}
    at = {member.name: member.offset for member in new.members}

    def price(move: SingleMove) -> tuple[int, bool, int, int, str, str]:
        now = {member.name: member.offset for member in move.layout.members}
        elsewhere = sum(line_of(now[name]) != line_of(at[name]) for name in now)
        way = abs(now[move.name] - at[move.name])
        return move.size, move.name in known, elsewhere, way, move.name, move.after

    return min(moves, key=price)


def _violation(subject: Subject, gap: _Gap, move: SingleMove) -> Violation:
    old, new = subject.old or subject.new, subject.new
    line = next((member.line for member in new.members if member.name == move.name), None)
    fewer = f" and {lines(move.layout)} of {lines(new)} cache lines" if lines(move.layout) < lines(new) else ""
    unused = Figure("unused", _unused(old), _unused(new))
    return RULE.broken(
        new,
        f"behind {move.after} would make it {move.size} bytes instead of {new.size}{fewer}; there is {gap}",
        member=move.name,
        advice=f"declare {move.name} behind {move.after}, unless something relies on their order",
        figures=(Figure("size", old.size, new.size), unused, Figure("size after the move", None, move.size)),
        line=line,
    )


RULE = Rule(
    name="avoidable-hole",
    summary="a new hole or padding that moving one member would close",
    severity=Severity.WARNING,
    check=_check,
)
