# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change makes of the same record in another configuration, where members are missing and others are there.

Before that, the facts of a record: those of the source as they bind the part of it whose members move, and the bytes
that it may have: what it may grow by, what fits into its slabs, and a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import with_inferred_alignment
from linesmith.analyzer.layouts.placement import (
    BYTE,
    GROUP_BEGIN,
    GROUP_END,
    anonymous_struct,
    atoms,
    place,
    refusal,
    spoken_name,
    visible,
    visible_places,
)
from linesmith.analyzer.model import ConflictPair, FactKind, Layout, Member, Move, MoveKind, SourceFact
from linesmith.analyzer.slab.allocation import Kernel, cache_of
from linesmith.tuner.constraints.freedom import Constraint, ConstraintKind, Premises
from linesmith.tuner.constraints.kernel_rules import linux_facts
from linesmith.tuner.constraints.rules import freedom

# Anonymous structs are looked for this deep.
_DEPTH = 8
# Bytes that the allocator's free pointer takes, where it lies behind the object.
_POINTER_BYTES = 8
_GENERAL = "kmalloc-"
_ASSERTED = "include/linux/cache.h, CACHELINE_ASSERT_GROUP_MEMBER()"


def facts_within(
    facts: tuple[SourceFact, ...], outer: Layout, inner: Layout, layouts: Layouts
) -> tuple[SourceFact, ...]:
    """The ``facts`` of ``outer`` that bind ``inner``, the record itself or an anonymous struct inside it."""
    if outer.id == inner.id or not facts:
        return facts
    order = {name: place for place, name in enumerate(visible_places(outer, layouts))}
    inside = tuple(visible_places(inner, layouts))
    return tuple(one for fact in facts for one in _within(fact, order, inside))


def _within(fact: SourceFact, order: Mapping[str, int], inside: tuple[str, ...]) -> Iterator[SourceFact]:
    """The fact for the names ``inside``; ``order`` numbers all names of the outer record."""
    places = [order[name] for name in fact.members if name in order]
    if fact.kind is FactKind.SIZE:
        # Only a struct that is all of the record may change its size, and then both have one size.
        yield fact
    if not places or not inside:
        return
    first, last = order[inside[0]], order[inside[-1]]
    if fact.kind is FactKind.POSITIONAL:
        if max(places) >= first:
            yield replace(fact, members=tuple(name for name in inside if order[name] <= max(places)))
    elif fact.kind is FactKind.RANGE and (first <= min(places) <= last) != (first <= max(places) <= last):
        # The range begins or ends here: what is in it by now must stay in it.
        yield replace(fact, kind=FactKind.OFFSET, members=inside)
    else:
        yield replace(fact, members=tuple(name for name in fact.members if name in inside))


def opened(
    facts: tuple[SourceFact, ...], pairs: Iterable[ConflictPair], layout: Layout, layouts: Layouts
) -> tuple[SourceFact, ...]:
    """``facts`` with each range, and each cacheline group of ``layout``, opened in which a pair meets.

    Such a run stays what it is when the members between its ends change places, and nothing crosses the ends.
    """
    places = {name: place.member for name, place in visible_places(layout, layouts).items()}
    met = [(places[one.first], places[one.second]) for one in pairs if {one.first, one.second} <= places.keys()]
    known: list[SourceFact] = []
    for fact in facts:
        ends = sorted((name for name in fact.members if name in places), key=places.__getitem__)
        if fact.kind is FactKind.RANGE and ends and _meets(range(places[ends[0]], places[ends[-1]] + 1), met):
            known += [replace(fact, kind=FactKind.WALL, members=(end,)) for end in (ends[0], ends[-1])]
        else:
            known.append(fact)
    names = [member.name for member in layout.members]
    groups = [(one, GROUP_END + one.removeprefix(GROUP_BEGIN)) for one in names if one.startswith(GROUP_BEGIN)]
    met_in = [ends for ends in groups if ends[1] in names and _meets(range(places[ends[0]], places[ends[1]]), met)]
    reason = "its group is asserted at compile time: what is in it stays in it"
    return (*known, *(SourceFact(FactKind.WALL, ends, reason, _ASSERTED) for ends in met_in))


def _meets(run: range, met: Iterable[tuple[int, int]]) -> bool:
    """Whether two different members at positions of ``run`` meet."""
    return any(one in run and other in run and one != other for one, other in met)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The record there, its size in bytes after the change, and the rule that forbids it there."""

    layout: Layout
    size: int
    refused: Constraint | None


@dataclass(frozen=True, slots=True)
class _MovedPart:
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
    # What the members there are called here; those that are not here have names of their own.
    places = visible_places(scope.layout, other)
    known = {places[name].member: name for name in reversed(here) if name in places}
    keys = [known.get(position, f"{position}th") for position in range(len(scope.layout.members))]
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
) -> _MovedPart | None:
    """``record``, or the anonymous struct inside it, whose own members are moved."""
    if not moved.isdisjoint(name for member in record.members for name in _names(member, layouts)):
        return _MovedPart(with_inferred_alignment(record), outer, base)
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
    scope: _MovedPart, order: Sequence[int], aligned: Mapping[int, int], layouts: Layouts, facts: tuple[SourceFact, ...]
) -> Elsewhere:
    """The members in this order, placed by C's rules and judged by the rules of that configuration."""
    parts = atoms(scope.layout, layouts, facts)
    there = scope.layout.members
    members = [replace(there[at], alignment=aligned[at]) if at in aligned else there[at] for at in order]
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
        why = Constraint(ConstraintKind.GROUP, parts[torn].name, reason, "another configuration")
        return Elsewhere(scope.outer, size, why)
    limits = freedom(scope.layout, parts, layouts, facts, scope.base, scope.outer)
    return Elsewhere(scope.outer, size, limits.refuses(merged, starts, placed.size))


def facts_of(layout: Layout, premises: Premises, layouts: Layouts) -> tuple[SourceFact, ...]:
    """All facts of the record under these premises, every limit in bytes."""
    blocks = (only_here(layout, layouts, one.layouts, one.title) for one in premises.configurations)
    known = (*premises.facts.of(layout.name), *linux_facts(layout), *chain.from_iterable(blocks))
    return (*(_in_bytes(fact, layout, premises.kernel) for fact in known), *_allowed_growth(layout, premises))


def _in_bytes(fact: SourceFact, layout: Layout, kernel: Kernel | None) -> SourceFact:
    if fact.kind not in (FactKind.PAGE, FactKind.SLAB):
        return fact
    most = layout.size
    if kernel:
        most = kernel.machine.page_bytes if fact.kind is FactKind.PAGE else _room_in_slabs(layout, kernel)
    return replace(fact, kind=FactKind.SIZE, bytes=most)


def _allowed_growth(layout: Layout, premises: Premises) -> Iterator[SourceFact]:
    """What the premises allow; where they do not say, an object that fits into a page of the kernel still does."""
    if premises.growth is not None:
        reason = f"it may grow by {premises.growth} bytes" if premises.growth else "it may not grow"
        yield SourceFact(FactKind.SIZE, (), reason, "--growth", layout.size + premises.growth)
    elif premises.kernel is not None and layout.size <= premises.kernel.machine.page_bytes:
        reason = "its objects fit into a page each, and a larger one needs several that lie side by side"
        yield SourceFact(FactKind.SIZE, (), reason, "mm/slub.c, calculate_order()", premises.kernel.machine.page_bytes)


def _room_in_slabs(layout: Layout, kernel: Kernel) -> int:
    """The largest size in bytes of which as many objects fit into a slab as do now."""
    cache = cache_of(layout, kernel)
    geometry = cache.geometry
    if cache.name.startswith(_GENERAL):
        return max(geometry.object_bytes, layout.size)
    room = (geometry.slab_bytes - geometry.lead) // max(geometry.objects, 1)
    room -= room % max(geometry.alignment, 1)
    # Bytes behind each object that the allocator's free pointer needs.
    pointer = geometry.free_pointer
    return max(room - (_POINTER_BYTES if pointer is not None and pointer >= geometry.object_bytes else 0), layout.size)
