# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects on the lines of a profile: by address where a snapshot knows it, else by what the code touches.

Each line is first solved by itself, with every machine that slabs may have been laid out for. The objects that are
sure then tell the machine; lines that were not sure, or that contradict what the others say, are solved again. Of
nested records the one is named that holds what is hot, and of two that overlap the surer one stays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.attribution.attribute import HOLDER, attribute, attribute_begun, attribute_to
from linesmith.analyzer.attribution.doubts import (
    NEIGHBOURHOOD,
    Neighbourhood,
    as_nested_records,
    ill_fitting,
    misfit_words,
)
from linesmith.analyzer.attribution.evidence import CodeEvidence, clues_of
from linesmith.analyzer.attribution.hypotheses import (
    LIKELIER,
    SURE,
    Hypothesis,
    certainties,
    overlap,
    same_place,
    within,
)
from linesmith.analyzer.attribution.identify import identify
from linesmith.analyzer.attribution.line_members import KNOWN, against_widths
from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.attribution.variables import ObjectMap
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import CacheLine, LineObject, Outcome, Profile
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.starts import PlacedStart, SlabStarts, machines_with

# How sure the code must be that a record is one more of those of which a variable is known, or that it is one of which
# no member is sure.
NO_OTHER = 0.99
# Objects that begin last before a line, and may reach onto it.
_NEAREST = 4
# Parts of memory in which objects that overlap a large one are looked for.
_MOST_PARTS = 1024
_UNSURE = (Outcome.CANNOT_TELL, Outcome.INNER_TYPE_ONLY)
_IN_USER_SPACE = "every access comes from user space, but the ELF file is a kernel"
_IN_KERNEL = (
    "every access comes from the kernel, but the ELF file is a program; give the kernel's vmlinux instead of it for "
    "such lines"
)
_OTHER_LAYOUT = "its members are at other offsets in the build of the report"
_OPEN_START = "another start explains the line almost as well"
_REACHES = "it reaches over from a line close by, where it is sure"
_BEGINS_HERE = "it begins here and goes on on the line behind, where it is sure"
_ALONE = "of the types that are sure on other lines it is the only one that can begin here"

Objects = tuple[LineObject, ...]


def joint_objects(
    lines: Sequence[CacheLine],
    profile: Profile,
    evidence: CodeEvidence,
    kernel: Kernel | None,
    votes: Mapping[int, LineObject],
) -> tuple[Objects, ...]:
    """The objects on each of ``lines``; ``votes`` are those on the objects of the profile's areas.

    ``evidence`` is that of the functions of the lines; without a ``kernel`` each line stands for itself.
    """
    containment = evidence.containment
    starts = None if kernel is None else SlabStarts(containment, kernel, machines_with(cpus_of(profile)))
    known = _Knowledge.of(profile, evidence, starts, votes)
    found = tuple(map(known.objects_on, lines))
    if kernel is None:
        found = _doubted_next_to_variables(found)
    learnt = None if starts is None else starts.learnt(_sure_objects(lines, found))
    if starts is not None and learnt is not None and learnt.machines != starts.machines:
        known = _Knowledge.of(profile, evidence, learnt, votes)
        pairs = zip(lines, found, strict=True)
        found = tuple(one if _stands(line, one, learnt) else known.objects_on(line) for line, one in pairs)
    sure = sorted(set(_sure_objects(lines, found)), key=lambda one: one.address)
    elsewhere = _SureElsewhere(sure, tuple(dict.fromkeys(_sure_parts(lines, found))), known, learnt)
    told = map(elsewhere.of, lines, found)
    # A part may lie by itself where the record around it would overlap others.
    named = [as_nested_records(objects, line, containment) for line, objects in zip(lines, told, strict=True)]
    pairs = zip(lines, _without_overlaps(lines, named, known), strict=True)
    return tuple(tuple(known.with_misfits(one, line) for one in objects) for line, objects in pairs)


def is_kernel(layouts: Layouts) -> bool:
    """Whether the layouts are those of a Linux kernel: only a kernel has a task_struct with a thread_info."""
    tasks = layouts.variants("task_struct")
    return any(member.name in ("thread_info", "stack") for task in tasks for member in task.members)


def cpus_of(profile: Profile) -> int | None:
    """How many CPUs the profiled machine has, where the profile says it."""
    if profile.recording is not None and profile.recording.nodes:
        return len(profile.recording.nodes)
    return None if profile.sampling is None else profile.sampling.cpus


@dataclass(frozen=True, slots=True)
class _Knowledge:
    """What is known of the lines of a profile: by the code, by a snapshot, by the lines that are close."""

    objects: ObjectMap
    neighbours: Neighbourhood
    kernel: bool
    votes: Mapping[int, LineObject]

    @classmethod
    def of(
        cls, profile: Profile, evidence: CodeEvidence, starts: SlabStarts | None, votes: Mapping[int, LineObject]
    ) -> _Knowledge:
        """``evidence`` is that of the lines' functions, ``starts`` what the slabs of a kernel leave possible."""
        kernel = is_kernel(evidence.containment.layouts)
        own = (_own(line, kernel) for line in profile.lines)
        return cls(ObjectMap(profile.areas), Neighbourhood(own, evidence, starts), kernel, votes)

    @property
    def containment(self) -> Containment:
        """The layouts of the ELF file."""
        return self.neighbours.evidence.containment

    def objects_on(self, line: CacheLine) -> Objects:
        """The objects on a line, the one that explains most first."""
        own = _own(line, self.kernel)
        if line.accesses and not own.accesses:
            outcome = Outcome.USER_SPACE if self.kernel else Outcome.NO_EVIDENCE
            return (LineObject("", None, 0, 0.0, outcome, reason=_IN_USER_SPACE if self.kernel else _IN_KERNEL),)
        if identified := identify(own, self.objects, self.neighbours, self.votes):
            return identified
        told, evidence = attribute(own, self.neighbours), self.neighbours.evidence
        # Those that code tells are not known where the widths of accesses speak against them.
        doubts = [against_widths(one, own.accesses, evidence) if one.outcome in KNOWN else "" for one in told]
        unknown = [replace(one, outcome=Outcome.CANNOT_TELL, reason=why) for one, why in zip(told, doubts, strict=True)]
        return tuple(other if why else one for one, other, why in zip(told, unknown, doubts, strict=True))

    def reaching(self, one: Hypothesis, line: CacheLine) -> LineObject | None:
        """An object that is sure elsewhere, on a line that it reaches onto, if it explains that line too."""
        if one.start + self.containment.layouts.by_id(one.layout).size <= 0:
            return None
        return attribute_to(one, _own(line, self.kernel), self.neighbours)

    def begun(self, one: Hypothesis, line: CacheLine) -> LineObject | None:
        """A part that is sure on the line behind, on the line where it begins, if that line is about it."""
        if not 0 <= one.start < line.bytes:
            return None
        return attribute_begun(one, _own(line, self.kernel), self.neighbours)

    def with_misfits(self, one: LineObject, line: CacheLine) -> LineObject:
        """An object of a line; if only code tells it, with what hardly fits it, as a reason."""
        if one.origin or one.layout is None or one.outcome is not Outcome.RESOLVED:
            return one
        place = Hypothesis(one.layout, one.start, one.ways)
        clues = clues_of(_own(line, self.kernel).accesses, self.neighbours.evidence)
        held, _ = within(clues, place, self.containment)
        certain = certainties(place, held, self.neighbours.proposer)
        contradicted = ill_fitting(place, held)
        misfits = {*contradicted, *(offset for offset, share in certain.items() if share < SURE)}
        likely = any(share > LIKELIER and offset not in contradicted for offset, share in certain.items())
        starts = len({start for _, start in one.ways})
        where = _OTHER_LAYOUT if starts > 1 else _OPEN_START if starts and one.reason != HOLDER else ""
        against = where, misfit_words(sorted(misfits)) if misfits else ""
        reason, doubt = ("; ".join(filter(None, (said, *against))) for said in (one.reason, one.doubt))
        found = replace(one, reason=reason, doubt=doubt, misfits=tuple(sorted(misfits)))
        if one.margin < NO_OTHER and not likely and misfits >= {clue.offset for clue in held}:
            return replace(found, outcome=Outcome.CANNOT_TELL)
        return found


def _own(line: CacheLine, kernel: bool) -> CacheLine:
    """The line with the accesses of kernel code for a kernel, of other code for a program."""
    own = tuple(access for access in line.accesses if access.kernel in (kernel, None))
    return line if len(own) == len(line.accesses) else replace(line, accesses=own)


def _doubted_next_to_variables(found: Sequence[Objects]) -> tuple[Objects, ...]:
    """The objects of a program of which some are variables: what is uncertain elsewhere is not taken for more of these.

    A record of which a program has a variable is seldom allocated as well.
    """
    types = {one.type for objects in found for one in objects if one.row is not None and one.type}

    def doubted(one: LineObject) -> LineObject:
        if one.origin or one.type not in types or one.outcome is not Outcome.RESOLVED or one.margin >= NO_OTHER:
            return one
        reason = f"the program has a variable that is a {one.type}, and this is no part of it"
        return replace(one, outcome=Outcome.CANNOT_TELL, reason=reason)

    return tuple(tuple(map(doubted, objects)) for objects in found)


def _stands(line: CacheLine, objects: Objects, learnt: SlabStarts) -> bool:
    """Whether nothing that was learnt can change the answer."""
    if objects[0].origin or line.address is None:
        return True
    if objects[0].outcome is Outcome.RESOLVED:
        return all(map(learnt.agrees, _start_of(line, objects)))
    return not _is_unsure(objects)


def _is_unsure(objects: Objects) -> bool:
    """Whether the line's owner is open: that it is a lock is not much of an answer."""
    return not objects[0].origin and (objects[0].outcome in _UNSURE or is_lock(objects[0].type))


def _start_of(line: CacheLine, objects: Objects) -> Iterator[PlacedStart]:
    """The first object of a line by its address, where that is known."""
    if line.address is not None and objects[0].layout is not None and not objects[0].ways:
        yield PlacedStart(objects[0].layout, line.address + objects[0].start)


def _sure_objects(lines: Sequence[CacheLine], found: Sequence[Objects]) -> Iterator[PlacedStart]:
    """The objects that are sure by what their functions touch; of others a snapshot knows better."""
    for line, objects in zip(lines, found, strict=True):
        if objects[0].outcome is Outcome.RESOLVED and not objects[0].origin and not is_lock(objects[0].type):
            yield from _start_of(line, objects)


def _sure_parts(lines: Sequence[CacheLine], found: Sequence[Objects]) -> Iterator[PlacedStart]:
    """The locks and other parts that are sure, though not whose, and that begin before their line."""
    for line, objects in zip(lines, found, strict=True):
        first = objects[0]
        part = first.outcome is Outcome.INNER_TYPE_ONLY or (first.outcome is Outcome.RESOLVED and is_lock(first.type))
        if part and not first.origin and first.start < 0:
            yield from _start_of(line, objects)


def _without_overlaps(lines: Sequence[CacheLine], found: Sequence[Objects], known: _Knowledge) -> Iterator[Objects]:
    """The objects on each line; of two that claim the same bytes the surer one has them, on both lines."""
    claimed = ClaimedMemory(known.containment)
    settled: dict[int, list[LineObject]] = {}
    for at in sorted(range(len(lines)), key=lambda at: (not found[at][0].origin, -found[at][0].margin, at)):
        line = lines[at]
        settled[at] = []
        for one in found[at]:
            rival = None if one.origin else claimed.rival(one, line)
            if rival is None:
                claimed.add(one, line)
                settled[at].append(one)
            elif (whole := known.reaching(rival, line)) is not None:
                settled[at] += as_nested_records((replace(whole, reason=_REACHES),), line, known.containment)
            else:
                reason = f"it may be {one.type}, but would overlap an object already identified, on a line close by"
                settled[at].append(replace(one, outcome=Outcome.CANNOT_TELL, reason=reason))
    return (tuple(settled[at]) for at in range(len(lines)))


class ClaimedMemory:
    """The bytes that sure objects take, by process and part of memory."""

    def __init__(self, containment: Containment) -> None:
        self._containment = containment
        self._parts: dict[tuple[int | None, int], set[Hypothesis]] = {}

    def add(self, one: LineObject, line: CacheLine) -> None:
        """Take the bytes of an object of a line, if it is sure."""
        for claim in _claims(one, line):
            for part in self._parts_of(claim, line):
                self._parts.setdefault(part, set()).add(claim)

    def rival(self, one: LineObject, line: CacheLine) -> Hypothesis | None:
        """Another object that has some of the bytes, seen from the line; none that is the same piece of memory."""
        for claim in _claims(one, line):
            near = {other for part in self._parts_of(claim, line) for other in self._parts.get(part, ())}
            for other in sorted(near):
                same = same_place(claim, other, self._containment)
                if not same and overlap(claim, other, self._containment):
                    return Hypothesis(other.layout, other.start - (line.address or 0))
        return None

    def _parts_of(self, claim: Hypothesis, line: CacheLine) -> Iterator[tuple[int | None, int]]:
        first = claim.start // NEIGHBOURHOOD
        last = (claim.start + max(self._containment.layouts.by_id(claim.layout).size, 1) - 1) // NEIGHBOURHOOD
        return ((line.pid, part) for part in range(first, min(last, first + _MOST_PARTS) + 1))


def _claims(one: LineObject, line: CacheLine) -> Iterator[Hypothesis]:
    """The object by its address, if it is sure."""
    if line.address is not None and one.layout is not None and one.outcome is Outcome.RESOLVED:
        yield Hypothesis(one.layout, line.address + one.start)


class _SureElsewhere:
    """Objects that are sure, by address, and what they say of lines that are not.

    An object reaches onto the lines behind it. And a type that is known to be hot is likelier to own a lock, or another
    part that many types hold, than one that was seen nowhere, if it is the only one that slabs let begin there.
    """

    def __init__(
        self, sure: Sequence[PlacedStart], parts: Sequence[PlacedStart], known: _Knowledge, starts: SlabStarts | None
    ) -> None:
        self._sure = sure
        self._parts = parts
        self._part_starts = sorted((one.address, number) for number, one in enumerate(parts))
        self._addresses = [one.address for one in sure]
        self._types = frozenset(one.layout for one in sure)
        self._known = known
        self._starts = starts

    def of(self, line: CacheLine, objects: Objects) -> Objects:
        """The objects of the line, or the one that a sure one tells."""
        if line.address is None or not _is_unsure(objects):
            return objects
        before = self._sure[: bisect_left(self._addresses, line.address + line.bytes)][-_NEAREST:]
        reaching = [Hypothesis(one.layout, one.address - line.address) for one in reversed(before)]
        for reason, candidates in ((_REACHES, reaching), (_ALONE, self._only_owner(line, objects))):
            for one in candidates:
                whole = self._known.reaching(one, line)
                if whole is not None:
                    return (replace(whole, reason=reason),)
        if objects[0].outcome is not Outcome.CANNOT_TELL:
            return objects
        first, last = (bisect_left(self._part_starts, (at, 0)) for at in (line.address, line.address + line.bytes))
        for number in sorted(number for _, number in self._part_starts[first:last]):
            part = self._parts[number]
            begun = self._known.begun(Hypothesis(part.layout, part.address - line.address), line)
            if begun is not None:
                return (replace(begun, reason=_BEGINS_HERE),)
        return objects

    def _only_owner(self, line: CacheLine, objects: Objects) -> Iterator[Hypothesis]:
        """The sure type that holds what is on the line, or what it may be, if slabs allow one."""
        possible = []
        for one in (objects[0], objects[0].runner_up):
            if self._starts is None or one is None or one.layout is None:
                continue
            for place in self._known.containment.places(one.layout):
                start = one.start - place.offset
                if place.container in self._types and self._starts.allows(
                    place.container, start, line.address, line.bytes
                ):
                    possible.append(Hypothesis(place.container, start))
        if len(possible) == 1:
            yield possible[0]
