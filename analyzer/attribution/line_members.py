# SPDX-License-Identifier: GPL-2.0-or-later
"""The members met on a line: every access laid on the objects found, none lost.

An access may be named twice, by its address and by the instruction that made it; ``agreements`` counts how often
the two name the same member.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from linesmith.analyzer.attribution.code_touches import CodeTouches, SampledKinds, Spot, touching_leaves
from linesmith.analyzer.attribution.doubts import MOST_MISFITS, weight
from linesmith.analyzer.attribution.evidence import INLINED, CodeEvidence, evidence_of, sampled_kinds
from linesmith.analyzer.attribution.lock import (
    has_lock,
    is_helper,
    is_lock_name,
    is_lock_word,
    takes_lock,
    waits_for_lock,
)
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import (
    MOST_CALL_PATHS,
    Access,
    AccessCounts,
    Agreement,
    CacheLine,
    CallPath,
    Layout,
    Leaf,
    LineMember,
    LineObject,
    MemberCategory,
    MemberFunction,
    Outcome,
)

KNOWN = (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY)
_NOTHING = AccessCounts()
# Records within records that are distinguished in the choice between alternatives of unions.
_DEPTH = 4
# What an access counts for a member that alone fits it.
_WHOLE = 60
_NAMELESS, _SOURCE = "[", re.compile(r"\w:[1-9]\d*\Z")
# Functions of a way to a member: who came to it, and who called that.
_CALLERS = 2
_ANY_KIND = SampledKinds(loaded=False, stored=False)


def agreements(
    line: CacheLine, objects: Sequence[LineObject], evidence: CodeEvidence
) -> tuple[tuple[Agreement, int], ...]:
    """The accesses of a line by what shows what they met; the counts add up to all of them.

    Empty where no instruction of the profile is known at all, as in a report of another build.
    """
    if not evidence.instructions:
        return ()
    counts = Counter(agreement(access, objects, evidence) for access in line.accesses)
    return tuple((one, counts[one]) for one in Agreement if counts[one])


def agreement(access: Access, objects: Sequence[LineObject], evidence: CodeEvidence) -> Agreement:
    """What shows what one access met."""
    touches = instruction_of(access, evidence)
    inside = (one for one in objects if access.offset is not None and 0 <= access.offset - one.start < (one.size or 0))
    placed = next((one for one in inside if one.by_address), None)
    if touches is None:
        return Agreement.NEITHER if placed is None else Agreement.BY_ADDRESS
    if placed is None:
        return Agreement.BY_INSTRUCTION
    return Agreement.CONFIRMED if agrees(touches, access, placed, evidence.containment) else Agreement.DISAGREE


def instruction_of(access: Access, evidence: CodeEvidence) -> CodeTouches | None:
    """What the instruction of the access touches, if that is known."""
    return None if access.code_address is None else evidence.instructions.get(access.code_address)


def agrees(touches: CodeTouches, access: Access, one: LineObject, containment: Containment) -> bool:
    """Whether what the code touches is what the object has at the place of the access."""
    if one.layout is None or access.offset is None:
        return False
    return bool(touching_leaves(touches, _ANY_KIND, one.layout, one.place(access.offset), containment))


def agreement_with(outer: Layout, start: int, seen: Sequence[Access], evidence: CodeEvidence) -> float:
    """Share of the accesses whose instruction touches the type there; 1 where no code is known.

    Where only the function is known it must work on a record that the type has at that place, or touch that very
    place, as code does whose only way to a variable is its address.
    """
    agreeing = judged = 0
    whole = LineObject(outer.name, outer.id, start, 1.0, Outcome.RESOLVED)
    for access in seen:
        instruction = instruction_of(access, evidence)
        if instruction is not None:
            judged += weight(access)
            agreeing += weight(access) * agrees(instruction, access, whole, evidence.containment)
            continue
        known = evidence_of(access, evidence)
        touching = agrees(known.touches, access, whole, evidence.containment)
        if not known.records and not touching:
            continue
        leaves = evidence.containment.leaves(outer.id, (access.offset or 0) - start)
        judged += weight(access)
        names = {name for leaf in leaves for name, _ in leaf.chain}
        if touching or names & known.records.keys() or (has_lock(names) and takes_lock(access.function or "")):
            agreeing += weight(access)
    return agreeing / judged if judged else 1.0


@dataclass(frozen=True, slots=True)
class _AccessPlace:
    """Where one access falls: the member's path and place, or just the offset when no object is known.

    ``within`` holds the place in each record entered on the way, by the record's name; ``spots`` by its layout.
    """

    path: str
    offset: int
    object_offset: int | None
    size: int | None
    lock: bool
    within: tuple[tuple[str, int], ...] = ()
    spots: frozenset[Spot] = frozenset()
    moved: int = 0
    type: str = ""


def line_members(line: CacheLine, objects: Sequence[LineObject], evidence: CodeEvidence) -> tuple[LineMember, ...]:
    """Members by offset in the line; accesses beyond every known object stand as bare offsets (``0x28``).

    Of a union that alternative is named which most accesses to the object fit.
    """
    met = [
        (access, [(one, _leaves(access, one, evidence)) for one in objects])
        for access in line.accesses
        if access.offset is not None
    ]
    fitting = _fitting(met)
    grouped: dict[_AccessPlace, list[Access]] = {}
    for access, possible in met:
        grouped.setdefault(_place(access, possible, evidence, fitting), []).append(access)
    members = []
    for place, accesses in grouped.items():
        elsewhere: Counter[str] = Counter()  # what instructions touch and the objects have not there
        for access in accesses:
            found = instruction_of(access, evidence)
            if found is not None and not any(agrees(found, access, one, evidence.containment) for one in objects):
                elsewhere.update(found.places)
        member = _member(place, accesses, evidence)
        members.append(
            replace(
                member,
                instructions=tuple(words for words, _ in elsewhere.most_common()),
                doubted=any(place.offset in one.misfits for one in objects if one.start == member.begin),
            )
        )
    return tuple(sorted(members, key=lambda member: (member.offset, member.path)))


_Possible = Sequence[tuple[LineObject, Sequence[Leaf]]]
# How many accesses fit a member, by where its object begins on the line and the path to the member or around it.
_Fitting = Mapping[tuple[int, str], int]


def _place(access: Access, possible: _Possible, evidence: CodeEvidence, fitting: _Fitting) -> _AccessPlace:
    offset = access.offset or 0
    for one, leaves in possible:
        place = one.place(offset)
        # Of a union's members one that is no array says more: pthread_mutex_t.__data.__lock rather than __size[0].
        leaf = max(leaves, key=lambda leaf: (*_votes(leaf, one, fitting), not leaf.member.dimensions), default=None)
        if leaf is not None:
            lock = has_lock((one.type, *(name for name, _ in leaf.chain))) or is_lock_word(leaf.member)
            within = tuple((name, place - begin) for name, begin in leaf.chain)
            folded = evidence.containment.folded
            spots = frozenset(folded(entered.record, place - entered.offset) for entered in leaf.entered)
            moved, type_ = offset - place - one.start, f"{leaf.member.type}{'[]' * bool(leaf.member.dimensions)}"
            return _AccessPlace(leaf.path, offset, place, leaf.size, lock, within, spots, moved, type_)
        if one.variable and 0 <= place < (one.size or 0):
            path, lock = f"{one.variable}+{place:#x}" if place else one.variable, is_lock_name(one.variable, one.size)
            return _AccessPlace(path, offset, place, None, lock)
    return _AccessPlace(f"{offset:#x}", offset, None, None, False)


def _fitting(met: Iterable[tuple[Access, _Possible]]) -> _Fitting:
    """Which members the accesses of a line fit: an access that fits several counts for each in part."""
    found: Counter[tuple[int, str]] = Counter()
    for access, possible in met:
        for one, leaves in possible:
            for path in {path for leaf in leaves for path in _paths(leaf)}:
                found[one.start, path] += _WHOLE * (1 + weight(access)) // len(leaves)
    return found


def _paths(leaf: Leaf) -> list[str]:
    """The path of a leaf, and what it begins with: of ``f_path.mnt`` also ``f_path``."""
    parts = leaf.path.split(".")
    return [".".join(parts[: number + 1]) for number in range(len(parts))]


def _votes(leaf: Leaf, one: LineObject, fitting: _Fitting) -> tuple[int, ...]:
    paths = _paths(leaf)
    return tuple(fitting.get((one.start, paths[min(depth, len(paths) - 1)]), 0) for depth in range(_DEPTH))


def _leaves(access: Access, one: LineObject, evidence: CodeEvidence) -> list[Leaf]:
    """The members of the object that an access may have met: those that its function touches, else can reach, else all.

    One that is narrower than the access is none, unless the access ends with another one.
    """
    if one.layout is None or one.outcome not in KNOWN or access.offset is None:
        return []
    place, containment = one.place(access.offset), evidence.containment
    if not (there := containment.leaves(one.layout, place)):
        return []
    known = evidence_of(access, evidence)
    width = access.width or known.touches.width
    leaves = [leaf for leaf in there if fits(leaf, one.layout, place, width, containment)]
    met = [leaf for leaf, _ in touching_leaves(known.touches, sampled_kinds([access]), one.layout, place, containment)]
    reached = [leaf for leaf in leaves if any(name in known.records for name, _ in leaf.chain)]
    return [leaf for leaf in leaves if leaf in met] or reached or leaves


def fits(leaf: Leaf, layout: int, place: int, width: int, containment: Containment) -> bool:
    """Whether ``width`` bytes from ``place`` of the layout on can be an access to the leaf there, or from it on.

    Of a pointer no part is touched but its first byte, which may hold flags; and what goes beyond the leaf ends with
    another one, or in a hole.
    """
    end = place + max(width, 1)
    pointer = leaf.member.category is MemberCategory.POINTER and not leaf.member.dimensions
    if pointer and (place != leaf.offset or 1 < width < leaf.size):
        return False
    if end <= leaf.offset + leaf.size or leaf.member.is_open_array:
        return True
    last = containment.leaves(layout, end - 1) if end <= containment.layouts.by_id(layout).size else None
    return last is not None and (not last or any(one.member.dimensions or one.offset + one.size == end for one in last))


def against_widths(one: LineObject, accesses: Iterable[Access], evidence: CodeEvidence) -> str:
    """Why an object must be doubted: many of the accesses whose width is known fit none of its members."""
    containment, judged = evidence.containment, 0
    against: list[tuple[int, int]] = []
    for access in accesses:
        place, width = one.place(access.offset or 0), access.width or evidence_of(access, evidence).touches.width
        leaves = containment.leaves(one.layout, place) if one.layout is not None and width and place >= 0 else ()
        judged += bool(leaves)
        if (
            leaves
            and one.layout is not None
            and not any(fits(leaf, one.layout, place, width, containment) for leaf in leaves)
        ):
            against.append((width, access.offset or 0))
    if len(against) <= MOST_MISFITS * judged:
        return ""
    width, offset = against[0]
    return f"accesses of {width} byte{'s' * (width != 1)}, as at {offset:#x}, fit none of its members"


def _member(spot: _AccessPlace, group: Sequence[Access], evidence: CodeEvidence) -> LineMember:
    functions = _functions(group, evidence.sources)
    reads = sum(max(one.contended, (one.records or 0) - one.stores) for one in group)
    # Without a type the names of most functions that were sampled there must do.
    locking = sum(one.contended + one.stores for one in functions if takes_lock(one.name))
    mostly = locking * 2 > sum(one.contended + one.stores for one in functions if not one.name.startswith(_NAMELESS))
    lock = spot.lock or (spot.size is None and mostly)
    taken = lock and not _only_read(spot, group, evidence)
    inferred = "taking or releasing a lock writes it" if taken else _writing_code(spot, group, evidence)
    return LineMember(
        spot.path,
        spot.offset,
        spot.object_offset,
        spot.size,
        reads,
        sum(one.stores for one in group),
        functions,
        lock=lock,
        write_inferred=inferred,
        callers=_callers(group),
        moved=spot.moved,
        type=spot.type,
    )


def _only_read(spot: _AccessPlace, accesses: Iterable[Access], evidence: CodeEvidence) -> bool:
    """Whether nobody sampled here takes or waits for the lock: the code of all of them only reads it (a seqcount)."""
    for access in accesses:
        if takes_lock(access.function or "") or waits_for_lock(access.function or ""):
            return False
        spots = evidence_of(access, evidence).touches.spots
        met = [spots[place] for place in spot.spots if place in spots]
        if not any(one.reading for one in met) or any(one.writing for one in met):
            return False
    return True


def _writing_code(spot: _AccessPlace, accesses: Iterable[Access], evidence: CodeEvidence) -> str:
    """Which function sampled here writes just this place.

    Of a function of which some stores are not known, one at this displacement of a record that its variables name.
    """
    for access in accesses:
        known = evidence_of(access, evidence)
        if any(known.touches.spots.get(place, _NOTHING).writing for place in spot.spots):
            return f"{access.function} writes it"
        if known.touches.counted.total and known.touches.resolved.writing == known.touches.counted.writing:
            continue
        named = {name for name, reach in known.records.items() if reach.quality >= INLINED}
        if any(name in named and place in known.stores for name, place in spot.within):
            return f"{access.function} has a store at this displacement"
    return ""


def _callers(accesses: Iterable[Access]) -> tuple[CallPath, ...]:
    """Who wanted the member: the first on each call path that is no helper, with who called it."""
    counts: Counter[tuple[str, ...]] = Counter()
    for access in accesses:
        for one in access.call_paths:
            path = tuple(filter(None, (access.function, *one.functions)))
            counts[tuple(dropwhile(is_helper, path))[:_CALLERS] or path[-1:]] += one.count
    del counts[()]
    return tuple(CallPath(path, count) for path, count in counts.most_common(MOST_CALL_PATHS))


def _functions(accesses: Sequence[Access], written: Mapping[int, str]) -> tuple[MemberFunction, ...]:
    grouped: dict[str, list[Access]] = {}
    for access in accesses:
        grouped.setdefault(access.code, []).append(access)
    functions = []
    for name, group in grouped.items():
        contended, stores = sum(one.contended for one in group), sum(one.stores for one in group)
        records = [one.records for one in group if one.records is not None]
        cpus = max((one.cpus for one in group if one.cpus is not None), default=None)
        sources: Counter[str] = Counter()
        for one in group:
            # What is no file and line is the symbol with its offset.
            source = written.get(one.code_address or 0, one.source)
            if source and _SOURCE.search(source):
                sources[source] += one.contended + one.stores
        records_in_all = sum(records) if records else None
        most = sources.most_common(1)
        functions.append(
            MemberFunction(name, contended, stores, records_in_all, cpus, source=most[0][0] if most else "")
        )
    return tuple(sorted(functions, key=lambda one: (-one.contended - one.stores, one.name)))
