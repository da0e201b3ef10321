# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout can part on a line: members of the outermost records, and elements of arrays of records.

With each part go its accesses and the CPUs and NUMA nodes that they came from, as far as a profile tells. A member
that lies on two hot lines is named, too: whoever uses it waits for two lines instead of one. ``blames`` names who
took the line from whom: a recording's conflicts, counted by the members of both sides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from linesmith.analyzer.attribution.lock import has_lock, is_lock, is_lock_word, waits_for_lock
from linesmith.analyzer.attribution.variables import ObjectMap
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import containment_of
from linesmith.analyzer.layouts.gaps import lines_touched, straddles
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Access,
    CacheLine,
    Conflict,
    Finding,
    LineMember,
    LineObject,
    Member,
    ObjectKind,
    Outcome,
    Side,
)

# The part of a straddling member on the other line must have this share of the line's contended accesses.
OTHER_SHARE = 0.1
# As `perf c2c report` prints nodes: `0 1`, with -N `0{ 2 100.0% n/a}` (CPUs and shares), with -NN `0{0-1,4}` (CPUs).
_NODE = re.compile(r"(\d{1,5})(?:\{([^{}]*)\})?")
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_MOST_CPUS = 1 << 16
MOST_FUNCTIONS = 3
# Stands behind a member's name on the other line of a 128-byte pair, before that line's rank.
OF_LINE = " of line "
# Behind a member of another object of the line, or of another variable on it; which element of an array it is.
OF_OTHER, INDEX = " of ", re.compile(r"\[\d+\]")
# What is behind the name of a variable of which there are several.
OF_CPU = re.compile(r" of CPU \d+\Z|\[\d+\]\Z|(?<=struct page) struct page\Z")
# Records, caches and variables of which each task, thread or CPU has its own, also where no snapshot says so.
_OF_EACH = re.compile(r"task_struct|thread_info|optimistic_spin_node|per_cpu_pages|kmem_cache_cpu|(ha_)?thread_ctx")


def memory_name(origin: str) -> str:
    """What the memory of an object is called, without its size and CPU, other caches and who points to it."""
    origin = re.split(r" \(|;|, merged", origin)[0]
    return OF_CPU.sub("", "stack" if origin == "stack stack" else origin)


def is_of_each(origin: str, *names: str) -> bool:
    """Whether each CPU, task or thread has such an object: ``names`` are of the record and the variable."""
    kind, _, name = memory_name(origin).partition(" ")
    return kind == ObjectKind.PER_CPU or any(map(_OF_EACH.fullmatch, (name, *names)))


def own_members(finding: Finding) -> tuple[LineMember, ...]:
    """The members of the finding's first object; those of a second object on the line are left out."""
    start = finding.objects[0].start if finding.objects else 0
    return tuple(member for member in finding.members if member.begin == start)


def straddling(
    line: CacheLine, objects: Sequence[LineObject], layouts: Layouts, lines: Mapping[int, Sequence[CacheLine]]
) -> str:
    """The member of the line's first object that lies on this line and on another hot one; ``""`` without one.

    ``lines`` are those of the profile by address. Arrays are left out: their elements are used one by one.
    """
    owner = objects[0] if objects else None
    if owner is None or owner.layout is None or owner.outcome is not Outcome.RESOLVED or line.address is None:
        return ""
    for member in layouts.by_id(owner.layout).members:
        begin = owner.start + member.offset
        whole = member.name and not member.is_bit_field and not member.dimensions
        if whole and straddles(begin, member.size, line.bytes) and _hot_elsewhere(line, begin, member, lines):
            return member.name
    return ""


def _hot_elsewhere(line: CacheLine, begin: int, member: Member, lines: Mapping[int, Sequence[CacheLine]]) -> bool:
    """Whether the part of the member that is not on ``line`` is contended too; ``begin`` counts from the line."""
    touched = lines_touched(begin, member.size, line.bytes)
    if 0 not in touched:
        return False
    for number in filter(None, touched):
        held = range(begin - number * line.bytes, begin - number * line.bytes + member.size)
        for other in lines.get((line.address or 0) + number * line.bytes, ()):
            contended = sum(access.contended for access in other.accesses if access.offset in held)
            if 0 < contended >= OTHER_SHARE * line.contended:
                return True
    return False


@dataclass(frozen=True, slots=True)
class AccessOrigin:
    """CPUs and nodes; ``cpus`` is ``None`` where only their number is known, ``count`` at least how many there are."""

    cpus: frozenset[int] | None
    nodes: frozenset[int]
    count: int | None


def origin(accesses: Iterable[Access]) -> AccessOrigin:
    """Where the accesses came from, all taken together."""
    found = []
    for access in accesses:
        if access.by_cpu:
            cpus_seen = frozenset(one.cpu for one in access.by_cpu)
            nodes = frozenset(one.node for one in access.by_cpu if one.node is not None)
            found.append(AccessOrigin(cpus_seen, nodes, len(cpus_seen)))
        else:
            nodes, listed = _listed(access.nodes or "")
            found.append(AccessOrigin(listed, nodes, len(listed) if listed else access.cpus))
    known = [one.cpus for one in found if one.cpus is not None]
    cpus = frozenset().union(*known) if found and len(known) == len(found) else None
    least = max((len(cpus) if cpus else 0, *[one.count for one in found if one.count is not None]), default=0)
    return AccessOrigin(cpus, frozenset().union(*(one.nodes for one in found)), least or None)


def _listed(text: str) -> tuple[frozenset[int], frozenset[int] | None]:
    """Nodes, and CPUs where each node has a list of them."""
    found = [(int(node), body) for node, body in _NODE.findall(text)]
    nodes = frozenset(node for node, _ in found)
    if not found or any(not body.strip() or "%" in body or "n/a" in body for _, body in found):
        return nodes, None
    cpus: set[int] = set()
    for first, last in (one for _, body in found for one in _RANGE.findall(body)):
        cpus.update(range(int(first), min(int(last or first), int(first) + _MOST_CPUS) + 1))
    return nodes, frozenset(cpus)


@dataclass(frozen=True, slots=True)
class LinePart:
    """A member of one object (or an element of its array) with the accesses to it.

    ``halves`` are the 64-byte lines it was touched on, counted from the line's first. ``inferred`` tells that it must
    be written although no store was sampled. ``stores`` were sampled, ``stores_by_cpu`` those whose CPU is known.
    ``waited_for`` tells a lock that functions were seen to wait for.
    """

    name: str
    accesses: tuple[Access, ...]
    inferred: bool
    halves: frozenset[int]
    origin: AccessOrigin
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
        samples: Counter[str] = Counter()
        for one in self.accesses:
            samples[one.code] += one.contended + one.stores
        functions = tuple(sorted(samples, key=lambda name: (-samples[name], name))[:MOST_FUNCTIONS])
        cpus = tuple(sorted(known.cpus or ()))
        inferred = self.inferred and not writes
        return Side(self.name, reads, writes, functions, cpus, known.count, tuple(sorted(known.nodes)), inferred)


def parts(
    accesses: Sequence[Access], members: Sequence[LineMember], objects: Sequence[LineObject], line_bytes: int
) -> tuple[LinePart, ...]:
    """The parts of a line in the order of their offsets; ``members`` are those of the line."""
    names = part_names(members, objects)
    inferred = {names[member.offset] for member in members if member.write_inferred}
    waited_for = {
        names[member.offset]
        for member in members
        if member.lock and any(waits_for_lock(function.name) for function in member.functions)
    }
    grouped: dict[str, list[Access]] = {}
    for access in sorted(accesses, key=lambda one: -1 if one.offset is None else one.offset):
        if access.offset is not None:
            grouped.setdefault(names.get(access.offset, f"{access.offset:#x}"), []).append(access)
    half = CACHE_LINE_BYTES if line_bytes == ADJACENT_LINE_BYTES else line_bytes
    found = []
    for name, group in grouped.items():
        halves = frozenset((access.offset or 0) // half for access in group)
        by_cpu: Counter[int] = Counter()
        for access in group:
            by_cpu.update({one.cpu: one.stores for one in access.by_cpu})
        stores, waits = sum(access.stores for access in group), name in waited_for
        found.append(LinePart(name, tuple(group), name in inferred, halves, origin(group), stores, by_cpu, waits))
    return tuple(found)


def part_names(members: Sequence[LineMember], objects: Sequence[LineObject]) -> Mapping[int, str]:
    """The part at each offset of the line: a member, or its element where that is a record and no word of a lock."""
    return _names(members, objects, lambda member: _part(member.path, member.top, lock=member.lock))


def _part(path: str, top: str, *, lock: bool) -> str:
    element, dot, _ = path.partition(".")
    return element if "[" in element and (dot or not lock) else top


# Where a record is in its memory: its layout, and how many bytes behind the start of an object it begins.
RecordFrame = tuple[int, int]


def names_by_address(line: CacheLine, frame: RecordFrame, known: ObjectMap, layouts: Layouts) -> dict[int, str]:
    """The part at each offset of the conflicts on a line that was not explained, by its address."""
    layout, inside = frame
    size, names, first = layouts.by_id(layout).size, dict[int, str](), None
    for offset in dict.fromkeys(offset for one in line.conflicts for offset in (one.offset, one.writer_offset)):
        address = (line.address or 0) + offset
        held = known.at(address)
        begin = held.start + inside if held else 0
        if held is None or not 0 <= address - begin < size:
            continue
        first = begin if first is None else first
        distance = begin - (line.address or 0)
        of = "" if begin == first else f" of the {layouts.by_id(layout).name} at {distance:#x}"
        names[offset] = _name_in(layouts, layout, address - begin) + of
    return names


@lru_cache(maxsize=1 << 12)
def _name_in(layouts: Layouts, layout: int, offset: int) -> str:
    """The part of a record at an offset in it; in a hole the offset itself."""
    leaves = containment_of(layouts).leaves(layout, offset)
    leaf = min(leaves, key=lambda one: bool(one.member.dimensions), default=None)
    if leaf is None:
        return f"{offset:#x}"
    lock = has_lock(name for name, _ in leaf.chain) or is_lock_word(leaf.member)
    return _part(leaf.path, re.split(r"[.[]", leaf.path)[0], lock=lock)


def top_names(members: Sequence[LineMember], objects: Sequence[LineObject]) -> Mapping[int, str]:
    """The outermost record's member at each offset of the line."""
    return _names(members, objects, lambda member: member.top)


def _names(
    members: Sequence[LineMember], objects: Sequence[LineObject], named: Callable[[LineMember], str]
) -> Mapping[int, str]:
    """Names by offset; the words of a lock are one lock, and of objects behind the first it is shown what they are.

    Where only function names say that an offset is a lock's, without a type, the line has one lock.
    """
    bare = [member.offset for member in members if member.lock and member.object_offset is None]
    locks = {one.start: one.type for one in objects if is_lock(one.type)}
    found = {}
    for member in members:
        if member.object_offset is None:
            found[member.offset] = f"lock at {min(bare):#x}" if member.lock else named(member)
            continue
        begin = member.begin
        found[member.offset] = (locks.get(begin) if begin is not None else None) or named(member)
        for other in [one for one in objects[1:] if one.type and one.start == begin][:1]:
            # A variable or its element by name (``per_thread[3]``), another object by its type and place in the line.
            kind, _, name = other.origin.partition(" ")
            whose = name if kind == ObjectKind.GLOBAL and name else f"the {other.type} at {other.start:#x}"
            found[member.offset] += f" of {whose}"
    return found


def users_of(name: str, members: Iterable[LineMember], *, writing: bool) -> tuple[str, ...]:
    """The functions that write, or wait on, the member of that name or path, most samples first.

    Where callers are known these are named. Where no store was sampled those write whose code does; of a lock nobody,
    since who waits for it may only look at it.
    """
    found: Counter[str] = Counter()
    for member in members:
        if name not in (member.top, member.path):
            continue
        if member.callers and not writing:
            found.update({path.functions[0]: path.count for path in member.callers if path.functions})
            continue
        writer, inferred, _ = member.write_inferred.partition(" writes it")
        if writing and inferred and not member.lock:
            found[writer] += 1
        for one in member.functions:
            if count := (one.stores or bool(one.writes_inferred)) if writing else one.contended:
                found[one.name] += count
    return tuple(function for function, _ in found.most_common())


def functions_of(found: Iterable[Finding], name: str, writes: bool) -> dict[str, int]:
    """The functions that write a member or element, or wait on it, with their samples, most first.

    Those that must write it have none where stores were not sampled.
    """
    counts: Counter[str] = Counter()
    plain = INDEX.sub("", name).partition(OF_OTHER)[0]
    for finding in found:
        # A lock that is the whole object has the name of its type.
        whole = plain in [one.type for one in finding.objects]
        own = [member for member in finding.members if member.top == plain or (whole and member.lock)]
        sampled = any(member.writes for member in own)
        for member in own:
            for one in member.functions:
                # Whoever takes a lock writes it, and who was only seen to wait for it looks at it.
                takes = writes and member.lock and not sampled and not waits_for_lock(one.name)
                count = one.stores if writes else one.contended
                if count or (writes and one.writes_inferred) or takes:
                    counts[one.name] += one.contended if takes else count
    return dict(counts.most_common())


@dataclass(frozen=True, slots=True)
class Blame:
    """Misses on ``victim`` because ``writer`` was written; both are names of top members.

    ``misses`` are all of them, ``false`` those in which no byte of the victim's own had been written elsewhere.
    ``shadowed`` counts accesses to the victim that hit only because a miss on another member had just brought the
    line back, ``false_shadowed`` those of them to bytes that nobody had written. The functions are those of the
    heaviest conflict.
    """

    victim: str
    writer: str
    misses: int
    false: int
    shadowed: int
    false_shadowed: int
    victim_function: str
    writer_function: str


def blames(conflicts: Sequence[Conflict], names: Mapping[int, str]) -> tuple[Blame, ...]:
    """Conflicts added up by members, heaviest first; ``names`` gives the top member at an offset in the line."""
    grouped: dict[tuple[str, str], list[Conflict]] = {}
    for one in conflicts:
        victim, writer = (names.get(offset, f"{offset:#x}") for offset in (one.offset, one.writer_offset))
        grouped.setdefault((victim, writer), []).append(one)
    summed = (_blame(victim, writer, group) for (victim, writer), group in grouped.items())
    return tuple(sorted(summed, key=lambda one: (-one.misses, -one.shadowed, one.victim, one.writer)))


def false_misses(found: Sequence[Blame]) -> Counter[frozenset[str]]:
    """False-sharing misses by the two members that meet, whichever of them suffers; shadowed ones are meant too.

    Whatever a CPU touches first on a line suffers the miss. Were that member elsewhere, the next one would.
    """
    counts: Counter[frozenset[str]] = Counter()
    for one in found:
        if one.victim != one.writer:
            counts[frozenset((one.victim, one.writer))] += one.false + one.false_shadowed
    return counts


def _blame(victim: str, writer: str, group: Sequence[Conflict]) -> Blame:
    heaviest = max(group, key=lambda one: one.misses + one.shadowed)
    return Blame(
        victim,
        writer,
        sum(one.misses for one in group),
        sum(one.misses for one in group if not one.true_sharing),
        sum(one.shadowed for one in group),
        sum(one.shadowed for one in group if not one.true_sharing),
        heaviest.function or "[unknown]",
        heaviest.writer_function or "[unknown]",
    )
