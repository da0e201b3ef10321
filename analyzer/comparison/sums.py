# SPDX-License-Identifier: GPL-2.0-or-later
"""The contended accesses of a profile by what ``hot`` calls them: record or variable, member, and pair of members.

All objects of one record count together, and so do the elements of an array, with how many of them were seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from linesmith.analyzer.model import ADJACENT_LINE_BYTES, Bounds, Finding, LineMember, LineObject, ObjectKind, Outcome
from linesmith.analyzer.sharing.findings import type_of
from linesmith.analyzer.sharing.parts import INDEX, OF_LINE

# The function where the profile has no name for it.
NAMELESS = "[unknown]"
# What an offset is called of which no member is known.
_OFFSET = re.compile(r"(?:lock at )?0x[0-9a-f]+")
NO_MEMBER = "(no member)"
MOST_DIGITS = 10
# A second object of a line: ``the inode at -0x40``.
_OTHER_OBJECT = re.compile(r"the (.+) at \S+")


class Place(NamedTuple):
    """A member of a record, or of a variable; elements of arrays are one. Both are empty where they are not known."""

    type: str
    member: str


class Meeting(NamedTuple):
    """Accesses to ``victim`` that waited for stores to ``writer``; ``apart``: of another object or element.

    ``span`` is how many bytes hold both: 128 where they lie in different halves of a pair of lines.
    """

    victim: Place
    writer: Place
    apart: bool
    span: int


@dataclass(slots=True)
class ObjectSum:
    """All objects of a record, or a variable: ``contended`` accesses on ``lines``, those to each member by function.

    ``starts`` are the addresses of the objects where they are known, ``phases`` where in an aligned pair of lines they
    begin, ``variables`` the symbols that they are, ``layouts`` their numbers in the ELF file. ``vague`` tells that
    of some it is only known that they hold a lock, ``containers`` are records that hold the type, ``locks``
    the members that are locks.
    """

    contended: int = 0
    lines: int = 0
    vague: bool = False
    starts: set[int] = field(default_factory=set)
    phases: set[int] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    layouts: set[int] = field(default_factory=set)
    containers: set[str] = field(default_factory=set)
    locks: set[str] = field(default_factory=set)
    waits: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def objects(self) -> int:
        """How many were seen, at least: a line has one where addresses are not known."""
        return len(self.starts) or self.lines


@dataclass(frozen=True, slots=True)
class ProfileSums:
    """A profile added up: ``objects`` by record or variable (empty: not known), ``meetings`` of two members.

    ``functions`` are the victims' of each meeting; ``unknown`` counts the accesses of each function to lines of which
    the object is not known, or only that it holds a lock.
    """

    objects: Mapping[str, ObjectSum]
    meetings: Mapping[Meeting, Bounds]
    functions: Mapping[Meeting, Counter[str]]
    unknown: Counter[str]

    def unplaced(self, other: ProfileSums) -> tuple[frozenset[str], Counter[str]]:
        """Types that the other profile may know as part of a larger one, and the accesses whose object is uncertain.

        Of a lock that is alone on its line the code may only tell that it is a lock. The accesses are by function.
        """
        known = other.objects.keys()
        parts = frozenset(name for name, one in self.objects.items() if one.containers & known and name not in known)
        accesses = self.unknown.copy()
        for counts in (counts for name in parts for counts in self.objects[name].waits.values()):
            accesses.update(counts)
        return parts | {name for name, one in self.objects.items() if one.vague}, accesses

    @property
    def locks(self) -> frozenset[Place]:
        """Every member that is a lock."""
        return frozenset(Place(type_, name) for type_, one in self.objects.items() for name in one.locks)

    def of(self, type_: str) -> ObjectSum:
        """What is known of a record or variable; nothing where none was seen."""
        return self.objects.get(type_) or ObjectSum()


def sums(found: Iterable[Finding]) -> ProfileSums:
    """All findings of a profile added up."""
    findings = tuple(found)
    objects: dict[str, ObjectSum] = {}
    meetings: dict[Meeting, Bounds] = {}
    functions: dict[Meeting, Counter[str]] = {}
    unknown: Counter[str] = Counter()
    owners = {one.rank: type_of(one) for one in findings}
    for finding in findings:
        first = objects.setdefault(owners[finding.rank], ObjectSum())
        first.lines += 1
        # What stands in no row of the line counts for its first object.
        first.contended += finding.contended - sum(_contended(one) for one in finding.members)
        _add_objects(finding, objects)
        _add_members(finding, objects)
        if is_vague(finding):
            first.vague = True
            for member in finding.members:
                _count(unknown, member)
        for sharing in finding.cost.sharings if owners[finding.rank] else ():
            sides = sharing.victim.member, sharing.writer.member
            victim, writer = (_place(name, finding, owners) for name in sides)
            one = Meeting(victim, writer, victim == writer and sides[0] != sides[1], sharing.span)
            meetings[one] = meetings.get(one, Bounds()) + sharing.contended
            share = round(sharing.contended.most)
            functions.setdefault(one, Counter()).update(dict.fromkeys(sharing.victim.functions, share))
    return ProfileSums(objects, meetings, functions, unknown)


def is_vague(one: Finding) -> bool:
    """Whether what the line holds is not known, or only that something holds a lock."""
    first = one.objects[0] if one.objects else None
    return first is None or not (first.variable or first.outcome is Outcome.RESOLVED)


def _owner(one: LineObject) -> str:
    return one.type or INDEX.sub("[]", one.variable)


def _add_objects(finding: Finding, objects: dict[str, ObjectSum]) -> None:
    """Where the objects of a line begin."""
    for one in finding.objects if type_of(finding) else ():
        held = objects.setdefault(_owner(one), ObjectSum())
        if finding.address is None:
            held.phases |= set(range(one.phase, ADJACENT_LINE_BYTES, finding.bytes))
        else:
            held.starts.add(finding.address + one.start)
            held.phases.add((finding.address + one.start) % ADJACENT_LINE_BYTES)
        kind, _, name = one.origin.partition(" ")
        if kind == ObjectKind.GLOBAL:
            held.variables.add(name.partition("[")[0])
        if one.layout is not None:
            held.layouts.add(one.layout)
        held.containers.update(one.containers)


def _contended(member: LineMember) -> int:
    return sum(one.contended for one in member.functions)


def _add_members(finding: Finding, objects: dict[str, ObjectSum]) -> None:
    """Contended accesses to each member of the line's objects; of no member where none is known."""
    first = objects[type_of(finding)]
    known = {one.start: one for one in finding.objects} if type_of(finding) else {}
    for member in finding.members:
        owner = known.get(member.offset - member.object_offset) if member.object_offset is not None else None
        held = objects.setdefault(_owner(owner), ObjectSum()) if owner else first
        held.contended += _contended(member)
        if member.lock and owner:
            held.locks |= {INDEX.sub("[]", member.top), _owner(owner)}
        counts = held.waits.setdefault(INDEX.sub("[]", member.top) if owner else "", Counter())
        _count(counts, member)


def _place(name: str, finding: Finding, owners: Mapping[int, str]) -> Place:
    """The member that a sharing names so: of the line's first object, of another one, or of the neighbouring line."""
    name, _, rank = name.partition(OF_LINE)
    member, _, whose = name.partition(" of ")
    # Names are those of files: one may hold such words itself.
    owner = owners.get(int(rank), "") if rank.isdecimal() and len(rank) < MOST_DIGITS else type_of(finding)
    if match := _OTHER_OBJECT.fullmatch(whose):
        owner = match[1]
    else:
        called = whose or member
        named = (one for one in finding.objects if called in (one.origin.partition(" ")[2], one.variable))
        owner = next(map(_owner, named), whose or owner)
    return Place(INDEX.sub("[]", owner), NO_MEMBER if _OFFSET.fullmatch(member) else INDEX.sub("[]", member))


def _count(counts: Counter[str], member: LineMember) -> None:
    """Add the contended accesses of a member by function; those of code without a name are one."""
    for one in member.functions:
        if one.contended:
            counts[NAMELESS if one.name.startswith("[") else one.name] += one.contended
