# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout can part on a line: members of the outermost records, and elements of arrays of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.attribution.lock import is_lock, waits_for_lock
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Access,
    LineMember,
    LineObject,
    ObjectKind,
    Side,
)
from linesmith.analyzer.sharing.origin import Origin, origin

MOST_FUNCTIONS = 3
# Stands behind a member's name on the other line of a 128-byte pair, before that line's rank.
OF_LINE = " of line "


@dataclass(frozen=True, slots=True)
class Part:
    """A member of one object (or an element of its array) with the accesses to it.

    ``halves`` are the 64-byte lines it was touched on, counted from the line's first. ``inferred`` tells that it must
    be written although no store was sampled. ``stores`` were sampled, ``stores_by_cpu`` those whose CPU is known.
    ``waited_for`` tells a lock that functions were seen to wait for.
    """

    name: str
    accesses: tuple[Access, ...]
    inferred: bool
    halves: frozenset[int]
    origin: Origin
    stores: int
    stores_by_cpu: Mapping[int, int]
    waited_for: bool = False

    @property
    def written(self) -> bool:
        """Whether somebody writes it, sampled or inferred."""
        return self.inferred or self.stores > 0

    @property
    def only_cpu(self) -> int | None:
        """The CPU that all its accesses come from, if there is just one."""
        cpus = self.origin.cpus
        return next(iter(cpus)) if cpus and len(cpus) == 1 else None

    def stores_elsewhere(self, cpu: int | None) -> int:
        """Stores that another CPU may have made."""
        if cpu is None:
            return self.stores
        return 0 if self.only_cpu == cpu else self.stores - self.stores_by_cpu.get(cpu, 0)

    def side(self) -> Side:
        """Its part in a sharing."""
        reads = sum(max(one.contended, (one.records or 0) - one.stores) for one in self.accesses)
        known, writes = self.origin, self.stores
        functions = _functions(self.accesses)
        cpus = tuple(sorted(known.cpus or ()))
        inferred = self.inferred and not writes
        return Side(self.name, reads, writes, functions, cpus, known.count, tuple(sorted(known.nodes)), inferred)


def parts(
    accesses: Sequence[Access], members: Sequence[LineMember], objects: Sequence[LineObject], line_bytes: int
) -> tuple[Part, ...]:
    """The parts of a line in the order of their offsets; ``members`` are those of the line."""
    names = part_names(members, objects)
    inferred = {names[member.offset] for member in members if member.write_inferred}
    waited_for = {names[member.offset] for member in members if _is_waited_for(member)}
    grouped: dict[str, list[Access]] = {}
    for access in sorted(accesses, key=lambda one: -1 if one.offset is None else one.offset):
        if access.offset is not None:
            grouped.setdefault(names.get(access.offset, f"{access.offset:#x}"), []).append(access)
    found = (_part(name, group, name in inferred, line_bytes) for name, group in grouped.items())
    return tuple(replace(part, waited_for=part.name in waited_for) for part in found)


def _is_waited_for(member: LineMember) -> bool:
    return member.lock and any(waits_for_lock(function.name) for function in member.functions)


def _part(name: str, group: Sequence[Access], inferred: bool, line_bytes: int) -> Part:
    half = CACHE_LINE_BYTES if line_bytes == ADJACENT_LINE_BYTES else line_bytes
    halves = frozenset((access.offset or 0) // half for access in group)
    by_cpu: Counter[int] = Counter()
    for access in group:
        by_cpu.update({one.cpu: one.stores for one in access.by_cpu})
    stores = sum(access.stores for access in group)
    return Part(name, tuple(group), inferred, halves, origin(group), stores, by_cpu)


def part_names(members: Sequence[LineMember], objects: Sequence[LineObject]) -> Mapping[int, str]:
    """The part at each offset of the line."""
    return _names(members, objects, _element)


def top_names(members: Sequence[LineMember], objects: Sequence[LineObject]) -> Mapping[int, str]:
    """The outermost record's member at each offset of the line."""
    return _names(members, objects, lambda member: member.top)


def _names(
    members: Sequence[LineMember], objects: Sequence[LineObject], named: Callable[[LineMember], str]
) -> Mapping[int, str]:
    """Names by offset; the words of a lock are one lock, and of objects behind the first it is told what they are."""
    words = [member.offset for member in members if _is_bare_lock(member)]
    bare = f"lock at {min(words, default=0):#x}"
    locks: dict[int | None, str] = {one.start: one.type for one in objects if is_lock(one.type)}
    return {
        member.offset: (bare if _is_bare_lock(member) else locks.get(_begin(member)) or named(member))
        + _whose(member, objects)
        for member in members
    }


def _is_bare_lock(member: LineMember) -> bool:
    """Whether only function names say that an offset is a lock's; without a type, a line has one lock."""
    return member.lock and member.object_offset is None


def _element(member: LineMember) -> str:
    """The outermost member, or its element where that is a record of its own and not a word of a lock."""
    element, dot, _ = member.path.partition(".")
    return element if "[" in element and (dot or not member.lock) else member.top


def _whose(member: LineMember, objects: Sequence[LineObject]) -> str:
    """Which object a member belongs to, for those of objects behind the first."""
    begin = _begin(member)
    others = [one for one in objects[1:] if one.type and one.start == begin]
    return f" of {_called(others[0])}" if others else ""


def _begin(member: LineMember) -> int | None:
    """Where the object begins that the member is of, counted from the line; ``None`` where that is not known."""
    return None if member.object_offset is None else member.offset - member.object_offset


def _called(one: LineObject) -> str:
    """A variable or its element by name (``per_thread[3]``), another object by its type and place in the line."""
    kind, _, name = one.origin.partition(" ")
    return name if kind == ObjectKind.GLOBAL and name else f"the {one.type} at {one.start:#x}"


def _functions(accesses: Sequence[Access]) -> tuple[str, ...]:
    """Names of the functions with the most samples."""
    samples: dict[str, int] = {}
    for one in accesses:
        name = one.function or "[unknown]"
        samples[name] = samples.get(name, 0) + one.contended + one.stores
    return tuple(sorted(samples, key=lambda name: (-samples[name], name))[:MOST_FUNCTIONS])
