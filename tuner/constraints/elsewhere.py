# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change makes of the same record in another configuration, where members are missing and others are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from linesmith.analyzer.geometry.atoms import Atom, anonymous_struct, atoms, spoken_name, visible, visible_places
from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import BYTE, place, refusal
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import FactKind, Layout, Member, Move, MoveKind, SourceFact
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.rules import freedom
from linesmith.tuner.constraints.scoped import facts_within

# Anonymous structs are looked for this deep.
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The record there, its size in bytes after the change, and the rule that forbids it there."""

    layout: Layout
    size: int
    refused: Constraint | None


@dataclass(frozen=True, slots=True)
class _Scope:
    """The record ``outer``, or an anonymous struct at byte ``base`` of it, with the alignments that explain it."""

    layout: Layout
    outer: Layout
    base: int


def only_here(layout: Layout, layouts: Layouts, other: Layouts, title: str) -> tuple[SourceFact, ...]:
    """Members side by side that the configuration called ``title`` does not have: blocks of the source."""
    there = next(iter(other.variants(layout.name)), None)
    if there is None or not layout.name:
        return ()
    known = visible_places(there, other)
    reason = f"{title} does not have them, so they stand within #if"
    return tuple(
        SourceFact(FactKind.TOGETHER, run, reason)
        for run in _runs([spoken_name(member, layouts) for member in layout.members], known)
        if len(run) > 1
    )


def _runs(names: Iterable[str], known: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Names next to each other that are not ``known``; an unnamed member ends a run."""
    run: list[str] = []
    for name in (*names, ""):
        if name and name not in known:
            run.append(name)
        elif run:
            yield tuple(run)
            run = []


def elsewhere(
    record: str, here: Sequence[str], moves: Sequence[Move], other: Layouts, facts: tuple[SourceFact, ...] = ()
) -> Elsewhere | None:
    """What ``moves``, made in the order ``here`` of spoken names, do to ``record`` of another configuration.

    ``facts`` are those of the record. ``None`` where there is no such record, or none that can be laid out.
    """
    outer = next(iter(other.variants(record)), None)
    scope = None if outer is None else _scope(outer, outer, {move.member for move in moves}, other)
    if outer is None or scope is None or refusal(scope.layout):
        return None
    keys = _keys(scope.layout, here, other)
    now, order = list(here), list(keys)
    for move in moves:
        before = now[: now.index(move.after) + 1] if move.after in now else []
        group = now[now.index(move.member) :][: max(len(move.members), 1)]
        now, order = _edited(now, move, group, before), _edited(order, move, group, before)
    aligned = {keys.index(move.member): move.align for move in moves if move.align and move.member in keys}
    bound = facts_within(facts, outer, scope.layout, other)
    return _judged(scope, [keys.index(key) for key in order], aligned, other, bound)


def _scope(
    record: Layout, outer: Layout, moved: set[str], layouts: Layouts, base: int = 0, depth: int = 0
) -> _Scope | None:
    """``record``, or the anonymous struct inside it, whose own members are moved."""
    if not moved.isdisjoint(name for member in record.members for name in _names(member, layouts)):
        return _Scope(with_inferred_alignment(record), outer, base)
    for member in record.members if depth < _DEPTH else ():
        inner = anonymous_struct(member, layouts)
        found = _scope(inner, outer, moved, layouts, base + member.offset, depth + 1) if inner else None
        if found is not None:
            return found
    return None


def _names(member: Member, layouts: Layouts) -> set[str]:
    """What a member may be called: an anonymous struct, whose members move inside it, by its first name only."""
    if anonymous_struct(member, layouts):
        return {spoken_name(member, layouts)}
    return {name for name, _, _ in visible(member, layouts)}


def _keys(there: Layout, here: Sequence[str], layouts: Layouts) -> list[str]:
    """What the members there are called here; those that are not here have names of their own."""
    places = visible_places(there, layouts)
    known = {places[name].member: name for name in reversed(here) if name in places}
    return [known.get(position, f"{position}th") for position in range(len(there.members))]


def _edited(order: list[str], move: Move, group: Sequence[str], before: Sequence[str]) -> list[str]:
    """The order after one move; ``before`` are those that stand before its place, of which the last one is known."""
    if move.kind is MoveKind.ALIGN:
        return order
    if move.kind is MoveKind.SWAP:
        exchanged = {move.member: move.partner or "", move.partner or "": move.member}
        both = exchanged.keys() <= set(order)
        return [exchanged.get(name, name) for name in order] if both else order
    moved = [name for name in group if name in order]
    rest = [name for name in order if name not in moved]
    anchor = next((name for name in reversed(before) if name in rest), None)
    at = 0 if anchor is None else rest.index(anchor) + 1
    return [*rest[:at], *moved, *rest[at:]]


def _judged(
    scope: _Scope, order: Sequence[int], aligned: Mapping[int, int], layouts: Layouts, facts: tuple[SourceFact, ...]
) -> Elsewhere:
    """The members in this order, placed by C's rules and judged by the rules of that configuration."""
    parts = atoms(scope.layout, layouts, facts)
    members = [_aligned(scope.layout.members[position], aligned.get(position)) for position in order]
    placed = place(members, scope.layout.alignment)
    starts = [0] * len(members)
    for position, bit in zip(order, placed.starts, strict=True):
        starts[position] = scope.base + bit // BYTE
    size = scope.outer.size + placed.size - scope.layout.size
    owners = [atom for atom, part in enumerate(parts) for _ in part.members]
    merged = [atom for atom, _ in groupby(owners[position] for position in order)]
    if len(merged) > len(parts):
        torn = next(atom for atom in merged if merged.count(atom) > 1)
        reason = "members that it moves together with there would be left behind"
        return Elsewhere(scope.outer, size, _constraint(parts[torn], reason))
    limits = freedom(scope.layout, parts, layouts, facts, scope.base, scope.outer)
    return Elsewhere(scope.outer, size, limits.refuses(merged, starts, placed.size))


def _constraint(part: Atom, reason: str) -> Constraint:
    return Constraint(ConstraintKind.GROUP, part.name, reason, "another configuration")


def _aligned(member: Member, alignment: int | None) -> Member:
    return replace(member, alignment=alignment) if alignment else member
