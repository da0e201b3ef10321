# SPDX-License-Identifier: GPL-2.0-or-later
"""Advice on one member: what it points to comes into the record, it leaves the record, or it is read before written.

Pulled in, an object lies on a line where it disturbs nobody hot. Pushed out, a member lies in an object of its own,
where no order of members helps. A store of a value that is there already can be left out by reading first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from linesmith.analyzer.attribution.lock import has_lock, is_lock, takes_lock
from linesmith.analyzer.base.errors import StructureRefused
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.layouts.placement import atoms, refusal, round_up
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Bounds,
    Layout,
    MemberCategory,
    SlabBasis,
    StructuralAdvice,
    StructureKind,
    TriageKind,
)
from linesmith.tuner.constraints.rules import freedom
from linesmith.tuner.structure.case import (
    WORD,
    Allocation,
    Case,
    at,
    behind,
    embedded,
    explained,
    functions_by_member,
    pointer_to,
    with_member,
)
from linesmith.tuner.structure.locks import SMALL_LOCK

# Fewer contended accesses between neighbours are noise.
LEAST_BETWEEN = 30
# What an object has that several others hold or find by a list.
_SHARED = re.compile(r"refcount|refcnt|kref|list_head|hlist|llist|rb_node")
ONE_EACH = "Whether each {outer} has a {inner} of its own, and as long as it lives, no layout tells."
# A writer of less of the line's contended accesses is not what the line is about; nor is a pair.
MAIN_SHARE = 0.25
PUSH_OUT_MAIN_SHARE = 0.5
_LARGEST = 8
_VALUES = (MemberCategory.SCALAR, MemberCategory.ENUM, MemberCategory.UNKNOWN)
_UNKNOWN = (
    "Whether {name} often keeps its value no sample tells: count how often a store changes it before you do this."
)


@dataclass(frozen=True, slots=True)
class Pulling:
    """What is asked: the pointer ``member`` of a record; its target shrunk to ``size`` bytes; ``alignment`` in bytes.

    ``cold`` are members that move behind it.
    """

    member: str
    size: int | None = None
    alignment: int = CACHE_LINE_BYTES
    cold: tuple[str, ...] = ()


def pulled_in(
    layout: Layout, layouts: Layouts, home: Allocation, wish: Pulling, functions: Mapping[str, int]
) -> Iterator[StructuralAdvice]:
    """The object pulled in as it is; then, of a lock or where a size is asked for, smaller; then with cold members.

    ``functions`` says how many touch each member: where none are named, those with the fewest are taken for cold.
    Raises ``StructureRefused`` for what is no pointer to a known record.
    """
    target = _target_of(layout, wish.member, layouts)
    last = _may_be_last(layout, layouts)
    plain = replace(wish, size=None, cold=())
    least = _in_place(layout, target, plain, last)
    yield _advice(layout, target, plain, least, home)
    small = wish.size if wish.size is not None else SMALL_LOCK if is_lock(target.name) else None
    smaller = replace(plain, size=small)
    if small is not None and small < target.size:
        least = _in_place(layout, target, smaller, last)
        yield _advice(layout, target, smaller, least, home)
    guessed = {} if wish.cold else functions
    asked = replace(smaller, cold=wish.cold or _fewest_cold(layout, target, smaller, last, functions))
    if not asked.cold:
        return
    # On the last line, with all cold members behind it.
    here, position = _pulled(layout, target, asked)
    if refused := [name for name in (asked.member, *asked.cold) if at(layout, name) not in last]:
        raise StructureRefused(f"{', '.join(refused)} may not move to the end of {layout.title}")
    placed = behind(here, position, [at(layout, name) for name in asked.cold])
    # A guess is worth showing where the record gets smaller by it, or only what is cold is left next to the object.
    if wish.cold or placed.size < least.size or set(_beside(placed, wish.member)) <= set(asked.cold):
        yield _advice(layout, target, asked, placed, home, guessed)


def _target_of(layout: Layout, member: str, layouts: Layouts) -> Layout:
    """The record that a pointer points to; raises ``StructureRefused`` where it is none, or not known."""
    pointer = layout.members[at(layout, member)]
    found = layouts.variants(pointer.target) if pointer.target else ()
    if pointer.size != 8 or not found or not found[0].size:
        raise StructureRefused(f"{member} of {layout.title} is not a pointer to a record with a known layout")
    return found[0]


def _may_be_last(layout: Layout, layouts: Layouts) -> frozenset[int]:
    """The positions of members that the constraints let, alone, follow all others."""
    explained(layout)
    parts = atoms(layout, layouts)
    free = freedom(layout, parts, layouts)
    movable = [len(part.members) == 1 and free.places(atom).stop == len(parts) for atom, part in enumerate(parts)]
    owners = [next(atom for atom, part in enumerate(parts) if member in part.members) for member in layout.members]
    return frozenset(position for position, atom in enumerate(owners) if movable[atom])


def _pulled(layout: Layout, target: Layout, wish: Pulling) -> tuple[Layout, int]:
    """The record with the object in place of its pointer, and its position."""
    whole, position = explained(layout), at(layout, wish.member)
    inside = embedded(whole.members[position], target, wish.size, wish.alignment)
    return with_member(whole, position, inside), position


def _in_place(layout: Layout, target: Layout, wish: Pulling, last: frozenset[int]) -> Layout:
    """The object where its pointer is, or behind all others if it may go there: whichever makes the record smaller."""
    here, position = _pulled(layout, target, wish)
    ways = (here, behind(here, position, ())) if position in last else (here,)
    return min(ways, key=lambda one: (one.size, len(tuple(_beside(one, wish.member)))))


def _fewest_cold(
    layout: Layout, target: Layout, wish: Pulling, last: frozenset[int], functions: Mapping[str, int]
) -> tuple[str, ...]:
    """Of the members that the fewest functions touch as many as make the record smallest; none if it stays."""
    here, position = _pulled(layout, target, wish)
    if position not in last:
        return ()
    sizes = {member.name: member.size for member in layout.members}
    known = [name for name in functions if name in sizes and name != wish.member and at(layout, name) in last]
    moved = [at(layout, name) for name in sorted(known, key=lambda name: (functions[name], -sizes[name]))]
    after = [behind(here, position, moved[:count]).size for count in range(len(moved) + 1)]
    least = min(after)
    moved = moved[: after.index(least)]
    for place in reversed(moved[:]):
        rest = [one for one in moved if one != place]
        if rest and behind(here, position, rest).size == least:
            moved = rest
    return tuple(layout.members[place].name for place in moved)


def _beside(layout: Layout, name: str) -> Iterator[str]:
    """The members that lie on a line of the one called ``name``, were the record to begin with a line."""
    own = layout.members[at(layout, name)]
    first, last = own.offset // CACHE_LINE_BYTES, (own.end - 1) // CACHE_LINE_BYTES
    for member in layout.members:
        meets = member.offset // CACHE_LINE_BYTES <= last and (member.end - 1) // CACHE_LINE_BYTES >= first
        if meets and member.name != name and member.size:
            yield member.name or "an anonymous member"


def _advice(
    layout: Layout,
    target: Layout,
    wish: Pulling,
    after: Layout,
    home: Allocation,
    guessed: Mapping[str, int] = MappingProxyType({}),
) -> StructuralAdvice:
    """``guessed`` says how many functions touch each member, where its cold ones rest on that."""
    cold = sorted(wish.cold, key=lambda name: at(layout, name))
    size = wish.size if wish.size is not None else target.size
    smaller = f" with {size} bytes" if size != target.size else ""
    moved = f", {', '.join(cold)} behind it" if cold else ""
    what = f"{target.title} becomes the member {wish.member} of {layout.title}{smaller}"
    sizes = f"{layout.size} + {target.size} -> {after.size} bytes"
    return StructuralAdvice(
        StructureKind.PULL_IN,
        layout.name,
        (wish.member, *cold),
        f"{what}, aligned to {wish.alignment} bytes{moved}: {sizes}",
        before=(layout, target),
        after=(after,),
        memory_before=(*home.now(layout), *home.of_another(target)),
        memory_after=home.then(after),
        notes=tuple(_notes(layout, target, replace(wish, cold=tuple(cold)), after, home, guessed)),
    )


def _notes(
    layout: Layout, target: Layout, wish: Pulling, after: Layout, home: Allocation, guessed: Mapping[str, int]
) -> Iterator[str]:
    """Who lies next to the object, whether the cache keeps its alignment, and how much of the answer is assumed."""
    if beside := ", ".join(_beside(after, wish.member)):
        yield f"On a line with {wish.member}, where objects begin with a line: {beside}."
    else:
        yield f"{wish.member} has its line to itself where objects begin with a line."
    if guessed and wish.cold:
        counted = ", ".join(f"{name} ({guessed[name]})" for name in wish.cold)
        yield f"Taken for cold because the fewest functions touch them: {counted}. A profile may tell otherwise."
    if wish.size is not None and wish.size != target.size:
        yield f"What does the work of {target.title} in {wish.size} bytes is to be written first."
    cache = home.changed(after)
    if cache is None:
        yield f"Holds where objects are allocated at multiples of {wish.alignment} bytes."
    elif cache.geometry.alignment % wish.alignment:
        yield f"The cache aligns its objects to {cache.geometry.alignment} bytes: create it with SLAB_HWCACHE_ALIGN."
    if cache is not None and cache.basis is SlabBasis.ASSUMED:
        yield f"The cache is assumed: {cache.reason}."
    yield ONE_EACH.format(outer=layout.name, inner=target.name)


def pulling_in(case: Case) -> Iterator[StructuralAdvice]:
    """Advice to pull a small object into the only record that points to such, when neighbours were seen to meet.

    It is given once, at the first line that holds such objects.
    """
    if any(one.rank < case.finding.rank for one in case.same):
        return
    if TriageKind.SEVERAL_OBJECTS not in case.kinds or case.layout.size >= CACHE_LINE_BYTES:
        return
    lines = [one for one in case.same if TriageKind.SEVERAL_OBJECTS in one.triage.kinds]
    # Contended accesses that waited, at most, for stores to another object.
    between = sum(
        it.contended.most
        for one in lines
        for it in one.cost.sharings
        if (" of the " in it.victim.member) != (" of the " in it.writer.member)
    )
    # The only record with a member that points to such an object, and that member.
    found = case.ground.pointers.get(case.layout.name, [])
    names = {(record.name, member) for record, member in found if record.name != case.layout.name}
    owner = found[0] if len(names) == 1 and found[0][0].name else None
    if between < LEAST_BETWEEN or owner is None:
        return
    # An object that is counted or listed may outlive the record or belong to several.
    leaves = flatten(case.layout, case.ground.layouts)
    outside = (leaf for leaf in leaves if not has_lock(record for record, _ in leaf.chain[1:]))
    if any(_SHARED.search(f"{leaf.path} {leaf.chain}") for leaf in outside):
        return
    record, pointer = owner
    held = f"{len(lines)} line{'s' * (len(lines) > 1)} with several {case.layout.title} of {case.layout.size} bytes"
    reasons = (
        f"{held}: at most {between:,.0f} {case.finding.unit} wait for a store to a neighbour",
        f"{pointer} of {record.title} is the only member of any record that points to one",
    )
    yield from _advice_for_owned(case, record, pointer, reasons)


def _advice_for_owned(case: Case, record: Layout, pointer: str, reasons: tuple[str, ...]) -> Iterator[StructuralAdvice]:
    """The object as it is, then smaller or with cold members behind it."""
    base = case.ground
    home = Allocation(base.premises.kernel, base.containment)
    functions = functions_by_member(record, base.layouts, base.accesses)
    try:
        ways = tuple(pulled_in(record, base.layouts, home, Pulling(pointer), functions))
    except StructureRefused:
        return
    reached = replace(case, layout=record).accessors((pointer,))
    for one in dict.fromkeys((ways[0], ways[-1])):
        yield replace(one, reasons=reasons, accessors=reached, notes=(*one.notes, *_instead(home, case.layout)))


def _instead(home: Allocation, target: Layout) -> Iterator[str]:
    """What it costs to keep the object where it is, alone on its line."""
    for use in home.of_another(target, CACHE_LINE_BYTES):
        yield (
            f"Aligned to a line where it is, {target.title} takes {use.stride} bytes: {use.pages_per_1000} pages for"
            " 1,000 of them."
        )


def reading_first(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for members that sampled functions store to without having read them."""
    total = case.finding.cost.contended or case.finding.contended
    for name, blamed in _blamed(case).items():
        blind = _blind(case, name)
        if not blind or not total or blamed.most < MAIN_SHARE * total:
            continue
        yield StructuralAdvice(
            StructureKind.READ_FIRST,
            case.finding.objects[0].type,
            (name,),
            f"store to {name} only where the value differs: {', '.join(blind[:3])} would read it first",
            reasons=(
                f"{blamed.most / total:.0%} of the line's {case.finding.unit}, at most, waited for stores to {name}",
                f"{', '.join(blind[:4])} was seen storing to it; its code never reads it",
            ),
            accessors=case.accessors((name,)),
            before=(case.layout,),
            notes=(_UNKNOWN.format(name=name),),
        )


def _blamed(case: Case) -> dict[str, Bounds]:
    """What the line's accesses waited for stores to each member, by writer; locks are left out."""
    found: dict[str, Bounds] = {}
    for one in case.finding.cost.sharings:
        name = one.writer.member
        if not any(seen.lock for seen in case.seen(name)):
            found[name] = found.get(name, Bounds()) + one.contended
    return found


def _blind(case: Case, name: str) -> list[str]:
    """Sampled functions that store to the member and never read it; none where the code updates it, or locks by it."""
    member, parts = case.member(name), case.code(name)
    if member is None or member.size > _LARGEST or member.category not in _VALUES or member.is_bit_field:
        return []
    stored = [function for seen in case.seen(name) for function in seen.functions if function.stores]
    if any(one.counts.updates or one.counts.atomics for one in parts) or any(takes_lock(one.name) for one in stored):
        return []
    code = [one for part in parts for one in part.functions]
    others = {one.function for one in code if one.counts.reading or not one.counts.writes}
    writers = {one.function for one in code} - others
    return [one.name for one in sorted(stored, key=lambda one: -one.stores) if one.name in writers]


def pushing_out(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for the written member of the heaviest pair, when C's rules let no order of the record part them."""
    pairs = case.finding.triage.pairs
    reason = refusal(case.layout)
    if TriageKind.FALSE_SHARING not in case.kinds or not pairs or reason is None or case.layout.name == "":
        return
    pair = pairs[0]
    member = next((one for one in case.layout.members if one.name == pair.writer), None)
    if member is None or member.is_bit_field or not member.offset:
        return
    if pair.weight < PUSH_OUT_MAIN_SHARE * case.finding.contended:
        return
    yield StructuralAdvice(
        StructureKind.PUSH_OUT,
        case.layout.name,
        (pair.writer,),
        f"put {pair.writer} into an object of its own, aligned to a line, that {case.layout.title} points to",
        reasons=(
            f"{pair.reader} waits for stores to {pair.writer}: {pair.weight:,} {case.finding.unit}",
            f"no order of the members parts them: {reason}",
        ),
        accessors=case.accessors((pair.writer,)),
        before=(case.layout,),
        notes=tuple(_apart_notes(case.layout, pair.writer)),
    )


def _apart_notes(layout: Layout, name: str) -> Iterator[str]:
    yield f"Every access to {name} then reads the pointer first; the pointer itself is not written and stays shared."
    yield f"Each {layout.name} needs a second allocation, and both are freed together."


def put_apart(layout: Layout, home: Allocation, name: str) -> Iterator[StructuralAdvice]:
    """The member called ``name`` as an object of its own with a pointer in its place; raises ``StructureRefused``."""
    whole = explained(layout)
    position = at(layout, name)
    member = whole.members[position]
    after = with_member(whole, position, pointer_to(member))
    # A record with this member alone, aligned to a line.
    size = round_up(max(member.size, WORD), CACHE_LINE_BYTES)
    alone = replace(member, offset=0)
    own = replace(layout, name=member.name, size=size, members=(alone,), alignment=CACHE_LINE_BYTES)
    yield StructuralAdvice(
        StructureKind.PUSH_OUT,
        layout.name,
        (name,),
        f"{name} of {layout.title} as an object of its own, aligned to a line: "
        f"{layout.size} -> {after.size} + {own.size} bytes",
        before=(layout,),
        after=(after,),
        memory_before=home.now(layout),
        memory_after=(*home.then(after), *home.of_another(own, CACHE_LINE_BYTES)),
        notes=tuple(_apart_notes(layout, name)),
    )
