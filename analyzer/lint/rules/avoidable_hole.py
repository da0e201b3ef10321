# SPDX-License-Identifier: GPL-2.0-or-later
"""``avoidable-hole``: a change left bytes unused that moving one member would give back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import gaps, line_of, lines, straddles
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.layouts.single_moves import SingleMove, shrinking_moves
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule
from linesmith.analyzer.lint.watched import guarded, guards_near, locks_with_data
from linesmith.analyzer.model import FactKind, Figure, Layout, Severity, SourceFact, Violation


def _check(record: LintedRecord) -> Iterator[Violation]:
    before, now = record.before, record.now
    if before is None:
        return
    old, new = before.layout, now.layout
    unused = Figure("unused", _unused(old), _unused(new))
    if _unused(new) <= _unused(old):
        return
    gap = _largest_growth(old, new)
    best = _best(record, _moves(now, record)) if gap else ()
    if not best:
        return
    least = min((move.size for move in _moves(before, record)), default=old.size)
    if new.size - best[0].size <= old.size - least:
        return
    move = min(best, key=_harm(before, now))
    after = lines(move.layout)
    fewer = f" and {after} of {lines(new)} cache lines" if after < lines(new) else ""
    yield RULE.broken(
        new,
        f"behind {move.after} would make it {move.size} bytes instead of {new.size}{fewer}; there is {gap}",
        member=move.name,
        advice=f"declare {move.name} behind {move.after}, unless something relies on their order",
        figures=(Figure("size", old.size, new.size), unused, Figure("size after the move", None, move.size)),
        line=next((one.member.line for one in nameable(new, now.layouts) if one.path == move.name), None),
    )


def _unused(layout: Layout) -> int:
    """Bytes in holes and padding."""
    found = gaps(layout)
    return sum(hole.size for hole in found.holes) + found.padding


def _largest_growth(before: Layout, after: Layout) -> str:
    """What grew most of the holes, each known by the member before it, and the padding; empty where none did."""
    old, new = _holes(before), _holes(after)
    was, now = gaps(before).padding, gaps(after).padding
    name = max(new, key=lambda one: new[one] - old.get(one, 0), default="")
    grown = new[name] - old.get(name, 0) if new else 0
    if max(grown, now - was) <= 0:
        return ""
    if now - was > grown:
        return f"a padding of {now} bytes instead of {was}"
    if name in old:
        return f"a hole of {new[name]} bytes instead of {old[name]} behind {name}"
    return f"a new hole of {new[name]} byte{'s' * (new[name] != 1)} behind {name}"


def _holes(layout: Layout) -> dict[str, int]:
    """Bytes of the hole behind each member that has one."""
    return {layout.members[hole.after].name or "an anonymous member": hole.size for hole in gaps(layout).holes}


def _moves(version: RecordVersion, record: LintedRecord) -> tuple[SingleMove, ...]:
    """The moves of single members, but not of those that an intent says something of, that are guarded or by a lock."""
    layout, layouts = version.layout, version.layouts
    groups = (tuple(path.partition(".")[0] for path in group.members) for group in record.groups)
    together = (SourceFact(FactKind.TOGETHER, group, "a group of linesmith.toml") for group in groups)
    paths = [path for one in record.intents for path in (*one.hot, *one.read_mostly, *one.write_hot)]
    paths += [path for one in record.isolations for path in (*one.members, *one.apart_from)]
    protected = (one.path for data in locks_with_data(layout, layouts).values() for one in data)
    stay = {path.partition(".")[0] for path in paths} | guarded(layout, layouts, record.intents) | set(protected)
    return tuple(shrinking_moves(layout, layouts, (*record.facts, *together), stay))


def _best(record: LintedRecord, found: tuple[SingleMove, ...]) -> tuple[SingleMove, ...]:
    """Of the moves that do no harm those that give most back."""
    for _, equal in groupby(sorted(found, key=attrgetter("size")), attrgetter("size")):
        harmless = tuple(_harmless(record, equal))
        if harmless:
            return harmless
    return ()


def _harmless(record: LintedRecord, found: Iterable[SingleMove]) -> Iterator[SingleMove]:
    """Those by which no other member comes to lie across two lines and the moved one meets and leaves no guard.

    What is relied on to be at its offset stays there.
    """
    new, layouts = record.layout, record.now.layouts
    across, guards, at = _across(new, layouts), guarded(new, layouts, record.intents), _offsets(new, layouts)
    fixed = {name for fact in record.facts if fact.kind is FactKind.OFFSET for name in fact.members} & at.keys()
    for move in found:
        moved = move.layout
        now = _offsets(moved, layouts) if fixed else at
        same_guards = guards_near(move.name, guards, moved, layouts) == guards_near(move.name, guards, new, layouts)
        if same_guards and _across(moved, layouts) <= across and all(at[name] == now.get(name) for name in fixed):
            yield move


def _across(layout: Layout, layouts: Layouts) -> frozenset[str]:
    every = (one for one in nameable(layout, layouts) if not one.member.is_bit_field)
    return frozenset(one.path for one in every if straddles(one.offset, one.span.size))


def _offsets(layout: Layout, layouts: Layouts) -> dict[str, int]:
    """Bytes by name; what damaged debug information has no name of goes by its number, which a move changes."""
    return {one.path: one.offset for one in nameable(layout, layouts)}


def _harm(before: RecordVersion, after: RecordVersion) -> Callable[[SingleMove], tuple[int, bool, int, int, str, str]]:
    """What makes one of several moves worse: it moves a member of both builds, many others off their lines, or far."""
    known, at = _offsets(before.layout, before.layouts), _offsets(after.layout, after.layouts)

    def harm(move: SingleMove) -> tuple[int, bool, int, int, str, str]:
        now = _offsets(move.layout, after.layouts)
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
