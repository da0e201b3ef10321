# SPDX-License-Identifier: GPL-2.0-or-later
"""The contention of a profile by record: the lines of all objects of a record, or of a variable, as one.

Lines that were not explained count too: of a recording their addresses name the object. Contention is counted in
contended loads, of a recording in misses after stores by other CPUs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from linesmith.analyzer.attribution.line_objects import is_kernel
from linesmith.analyzer.attribution.lock import is_helper, is_lock
from linesmith.analyzer.attribution.variables import ObjectMap, lines_apart, main_area
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import (
    Bounds,
    CacheLine,
    Finding,
    LineCost,
    ObjectArea,
    ObjectKind,
    Outcome,
    Profile,
    TriageKind,
)
from linesmith.analyzer.sharing.cost import recorded_cost
from linesmith.analyzer.sharing.findings import type_of
from linesmith.analyzer.sharing.parts import (
    INDEX,
    OF_CPU,
    OF_LINE,
    OF_OTHER,
    RecordFrame,
    functions_of,
    memory_name,
    names_by_address,
    part_names,
)

# A kind that explains less of a record's contention is not named with the main one; so many are.
KIND_SHARE, MOST_KINDS = 0.25, 2
# What has less of the contention is not worth a change, nor one that removes less of it.
WORTH_CHANGING, WORTH_MOVING = 0.01, 0.1
# A recording with fewer misses in all, or with fewer for each access, has no contention.
QUIET_MISSES, QUIET_RATE = 100, 1e-4
_CLEARS = "clear_page"
# Functions of a pair, on either side.
MOST_USERS = 12
# Variables that are locks are called by their own name, and those of records up to this size (counters, list heads).
_SMALL = 32
_OFFSET = "0x"
_VARIABLES = (ObjectKind.GLOBAL, ObjectKind.PER_CPU)


@dataclass(frozen=True, slots=True)
class RecordPair:
    """``victim`` misses after stores to ``writer`` in ``function``; both may be one.

    ``waits`` and ``stores`` are the functions of either side with their samples, most first.
    """

    victim: str
    writer: str
    function: str
    contended: Bounds
    waits: dict[str, int] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairGroup:
    """``pairs`` of one ``writer``; of ``itself`` where the member that misses is the one that is written.

    ``victims`` are the members that miss, heaviest first, ``contended`` the misses of all. ``of_other``: the heaviest
    pair is with another object.
    """

    writer: str
    itself: bool
    pairs: tuple[RecordPair, ...]
    victims: tuple[str, ...]
    contended: Bounds
    of_other: bool


@dataclass(frozen=True, slots=True)
class SuggestedChange:
    """What `suggest` says of a record: the change of its ``layout``, or why there is no change at all.

    ``saves`` is the figure of a change (``""``: not estimated), ``None`` where there is none; ``first`` tells that it
    is the change that `suggest` explains. One of the ``structure`` is for what is wrong ``of`` that kind.
    """

    layout: str
    saves: str | None = None
    first: bool = False
    structure: str = ""
    of: TriageKind = TriageKind.TRUE_SHARING


@dataclass(frozen=True, slots=True)
class RecordContention:
    """All objects of a record (or one variable; ``""``: not known) with the contention on their ``lines``.

    ``places`` are what their memory is called, most contended first. ``share`` and ``removable``, what another order or
    alignment of the members can remove, are of all contention of the profile. ``kinds`` are what is wrong, ``pairs``
    who waits for whom, heaviest first. ``fixed`` tells that the whole record lies on one line in any order of its
    members, ``several`` that those who meet are of different objects. ``findings`` are the lines that were explained,
    heaviest first; ``apart`` is the owner of what emulation makes hot. Of ``unknown`` contention the members are not
    known. ``program`` tells that this is no kernel: threads are what differ, not CPUs. ``callers`` are, by member and
    function that missed on it, who called that one, with the misses; only of a recording. ``suggested`` is what
    `suggest` found, where it was asked before.
    """

    name: str
    places: tuple[str, ...]
    lines: int
    contended: float
    share: float
    removable: Bounds
    kinds: tuple[TriageKind, ...] = ()
    pairs: tuple[RecordPair, ...] = ()
    fixed: bool = False
    several: bool = False
    findings: tuple[Finding, ...] = ()
    apart: str = ""
    unknown: float = 0.0
    program: bool = False
    callers: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    suggested: SuggestedChange | None = None

    @property
    def type(self) -> str:
        """The record of which the members are; ``""`` for a variable that is none, and where it is not known."""
        if not self.name or not self.findings or not self.findings[0].objects:
            return ""
        # What the heap holds has its type's name; a line of it, looked at alone, may be taken for another's.
        first = self.findings[0].objects[0]
        return self.name if first.outcome is Outcome.CANNOT_TELL and not self.places else first.type

    @property
    def movable(self) -> bool:
        """Whether another order of the members can remove what is worth a change."""
        meet = TriageKind.STRADDLE in self.kinds or any(pair.victim != pair.writer for pair in self.pairs)
        if not self.type or is_lock(self.type) or not meet:
            return False
        worth = self.share >= WORTH_CHANGING and self.removable.most >= WORTH_MOVING * self.share
        return worth and not (self.fixed or self.several or self.apart)

    @property
    def calls_known(self) -> bool:
        """Whether the profile tells who called the functions."""
        return bool(self.callers) or any(one.callers for finding in self.findings for one in finding.members)

    @property
    def groups(self) -> list[PairGroup]:
        """All pairs by who is stored to, heaviest first; the elements of an array are one member."""
        found: dict[tuple[str, bool], list[RecordPair]] = {}
        for pair in self.pairs:
            writer = INDEX.sub("[]", pair.writer)
            found.setdefault((writer, INDEX.sub("[]", pair.victim) == writer), []).append(pair)
        groups = []
        for (writer, itself), pairs in found.items():
            victims = dict.fromkeys(INDEX.sub("[]", pair.victim) for pair in pairs)
            contended = sum((pair.contended for pair in pairs), Bounds())
            of_other = OF_OTHER in pairs[0].victim + pairs[0].writer or (bool(self.name) and writer.startswith(_OFFSET))
            groups.append(PairGroup(writer, itself, tuple(pairs), tuple(victims), contended, of_other))
        return sorted(groups, key=lambda group: -group.contended.most)

    def called_from(self, name: str, users: Collection[str]) -> str:
        """The function that called most of ``users`` when they missed on a member; ``""`` where nothing shows it."""
        counts, known = Counter[str](), self.callers.get(name, {})
        for user in users:
            counts.update(known.get(user, {}))
        return max((one for one in counts if one not in users), key=counts.__getitem__, default="")


def contention_by_record(
    found: Iterable[Finding], profile: Profile, layouts: Layouts | None = None
) -> tuple[RecordContention, ...]:
    """One for each record, variable and kind of unknown memory on the profile's lines, by share; they add up to all.

    ``layouts`` are those of the ELF file of the findings.
    """
    explained = {finding.rank: finding for finding in found}
    known, apart = ObjectMap(profile.areas), lines_apart(profile)
    waits = [sum(o.misses for o in it.conflicts) if profile.recording else it.contended for it in profile.lines]
    total = sum(waits) or 1
    of_memory: dict[str, set[str]] = {}
    for one in explained.values():
        of_memory.setdefault(_origin(one), set()).add(record_name(one))
    groups: dict[tuple[str, str, str], _RecordSum] = {}
    frames = _frames(explained, profile, known) if profile.recording and layouts else {}
    called = {id(area): (_memory(area), area_name(area)) for area in (None, *profile.areas)}
    for line, contended in zip(profile.lines, waits, strict=True):
        finding = explained.get(line.rank)
        place, name = called[id(main_area(line, known))]
        if finding is not None:
            place, name = _origin(finding) or place, record_name(finding) or name
        elif len(of_memory.get(place, ())) == 1:
            name = next(iter(of_memory[place])) or name
        owner = finding.apart if finding else apart.get(line.address or 0, "")
        share = finding.share if finding and not profile.recording else contended / total
        key = owner, "" if owner else name, "" if name or owner else place
        frame = frames.get((place, name))
        names = names_by_address(line, frame, known, layouts) if frame and layouts else {}
        names |= part_names(finding.members, finding.objects) if finding and line.conflicts else {}
        groups.setdefault(key, _RecordSum()).add(line, finding, place, contended, share, names)
    records = (group.record(name, owner, layouts) for (owner, name, _), group in groups.items())
    return tuple(sorted(records, key=lambda one: (-one.share, -one.contended, not one.name, one.name)))


def _frames(explained: Mapping[int, Finding], profile: Profile, known: ObjectMap) -> dict[tuple[str, str], RecordFrame]:
    """By memory and record how the lines that were explained place it; they name the members of all its lines."""
    found: dict[tuple[str, str], RecordFrame] = {}
    for line in profile.lines:
        finding, begin = explained.get(line.rank), line.address
        first = finding.objects[0] if finding and finding.objects else None
        if finding is None or first is None or begin is None or first.layout is None or first.ways:
            continue
        held = known.at(begin + max(first.start, 0))
        if first.outcome is Outcome.RESOLVED and held:
            found.setdefault((_origin(finding), record_name(finding)), (first.layout, begin + first.start - held.start))
    return found


def shares_by_line(records: Iterable[RecordContention], findings: Iterable[Finding]) -> dict[int, float]:
    """The share of each finding's record in all contention of the profile, by the rank of the line.

    Records that are excluded or not known have none.
    """
    named = [one for one in records if one.name and not one.apart]
    by_name = {one.name: one.share for one in named}
    by_rank = {finding.rank: one.share for one in named for finding in one.findings}
    lines = (one for one in findings if not one.apart)
    shares = ((one.rank, by_rank.get(one.rank, by_name.get(record_name(one), 0.0))) for one in lines)
    return {rank: share for rank, share in shares if share}


def quiet(records: Iterable[RecordContention], profile: Profile) -> str:
    """One sentence where nobody waits; ``""`` for a profile with contention, and for a text that people paste."""
    contended = sum(one.contended for one in records)
    if profile.recording is not None:
        accesses = dict(profile.recording.counts).get("accesses", 0)
        if (contended >= QUIET_MISSES and contended >= QUIET_RATE * accesses) or contended >= 0.01 * accesses:
            return ""
        of = f"of {accesses:,} accesses " if accesses else ""
        return f"quiet: {contended:,.0f} {of}were misses after stores by other CPUs; nothing to do"
    sampling = profile.sampling
    if sampling is None or contended >= QUIET_MISSES or contended >= 0.01 * sampling.samples:
        return ""
    return f"quiet: {contended:,.0f} of {sampling.samples:,} samples were contended loads; nothing to do"


def _memory(area: ObjectArea | None) -> str:
    """``slab filp``, ``global init_pid_ns``, ``stack``."""
    if area is None or area.kind is ObjectKind.HEAP:
        return ""
    return OF_CPU.sub("", area.name if area.name.endswith(area.kind.value) else f"{area.kind.value} {area.name}")


def area_name(area: ObjectArea | None) -> str:
    """What ``record_name`` calls an object of that memory."""
    if area is None:
        return ""
    name = OF_CPU.sub("", area.name) if area.kind in _VARIABLES else ""
    type_ = next(iter(area.types), name)
    return name if name and _says_more(type_, area.size) else type_


def _origin(finding: Finding) -> str:
    return memory_name(finding.objects[0].origin) if finding.objects else ""


def record_name(finding: Finding) -> str:
    """The record, or the variable where that says more: one of a lock, a counter, a list head."""
    kind, _, variable = _origin(finding).partition(" ")
    size = finding.objects[0].size if finding.objects else None
    type_ = type_of(finding)
    return variable if type_ and size is not None and kind in _VARIABLES and _says_more(type_, size) else type_


def _says_more(type_: str, size: int) -> bool:
    """Whether the name of a variable of this type, with ``size`` in bytes, says more than the type."""
    return size <= _SMALL or is_lock(type_)


@dataclass(slots=True)
class _RecordSum:
    """What is added up over the lines of a record."""

    lines: int = 0
    contended: float = 0.0
    share: float = 0.0
    removable: Bounds = field(default_factory=Bounds)
    places: Counter[str] = field(default_factory=Counter)
    kinds: Counter[TriageKind] = field(default_factory=Counter)
    pairs: defaultdict[tuple[str, str], Bounds] = field(default_factory=lambda: defaultdict(Bounds))
    several: float = 0.0
    findings: list[tuple[float, Finding]] = field(default_factory=list)
    users: defaultdict[tuple[str, str, bool], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    callers: defaultdict[str, defaultdict[str, Counter[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )
    own: int = 0
    unknown: float = 0.0

    def add(
        self,
        line: CacheLine,
        finding: Finding | None,
        place: str,
        contended: float,
        share: float,
        names: Mapping[int, str],
    ) -> None:
        """Add a line, of which all that waited is ``share`` of the profile; ``names`` are its parts by offset."""
        self.lines += 1
        self.contended += contended
        self.share += share
        self.places[place] += round(contended)
        if finding is None and not names:
            self.unknown += contended
            # The addresses alone give a limit: misses for nothing between different offsets.
            false = sum(o.misses for o in line.conflicts if not o.true_sharing and o.offset != o.writer_offset)
            self.removable += Bounds(0.0, share * false / contended if contended else 0.0)
            return
        if finding:
            cost = finding.cost
            counted: float = cost.contended
            self.findings.append((contended, finding))
            for kind, count in _kinds(finding, contended):
                self.kinds[kind] += count
        else:
            # Who clears whole pages meets what was there before the record.
            met = [one for one in line.conflicts if _CLEARS not in f"{one.function} {one.writer_function}"]
            line = line if len(met) == len(line.conflicts) else replace(line, conflicts=tuple(met))
            cost, counted = recorded_cost(line, names), contended
            self.kinds[TriageKind.FALSE_SHARING] += round(cost.removable.most)
            self.own += round(cost.contended - cost.removable.most)
        self.unknown += counted - cost.contended
        limit = Bounds(max(cost.removable.least, cost.adjacent.least), max(cost.removable.most, cost.adjacent.most))
        self.removable += limit.times(min(1.0, share / counted) if counted else 0.0)
        self._add_pairs(line, finding, cost, names)
        self._add_callers(line, names)

    def _add_callers(self, line: CacheLine, names: Mapping[int, str]) -> None:
        """Add who called the code of the misses on a line; helpers of locks, lists and trees are passed over."""
        for access in line.accesses:
            for path in access.call_paths if access.offset in names else ():
                if outer := next((one for one in path.functions if not is_helper(one)), ""):
                    self.callers[names[access.offset or 0]][access.code][outer] += path.count

    def _add_pairs(self, line: CacheLine, finding: Finding | None, cost: LineCost, names: Mapping[int, str]) -> None:
        """Add who waits for whom on a line, and in which functions."""
        for conflict in line.conflicts:
            pair = names.get(conflict.offset, ""), names.get(conflict.writer_offset, "")
            for writes, function in ((True, conflict.writer_function), (False, conflict.function)):
                if function:
                    self.users[*pair, writes][function] += conflict.misses
        variables = finding is not None and bool(finding.objects) and not finding.objects[0].type
        for one in cost.sharings:
            victim, writer = (side.member.partition(OF_LINE)[0] for side in (one.victim, one.writer))
            if not names and finding:
                for writes, member in ((True, writer), (False, victim)):
                    self.users[victim, writer, writes].update(functions_of([finding], member, writes))
            self.pairs[victim, writer] += one.contended
            if victim != writer and (variables or OF_OTHER in victim + writer):
                self.several += one.contended.most

    def record(self, name: str, owner: str, layouts: Layouts | None) -> RecordContention:
        """The sum."""
        # Bare offsets are of memory in which no object was found.
        pairs = []
        for pair in (one for one in self.pairs if not (name and one[0].startswith(_OFFSET))):
            waits, stores = (dict(self.users[*pair, writes].most_common(MOST_USERS)) for writes in (False, True))
            pairs.append(RecordPair(*pair, next(iter(stores), ""), self.pairs[pair], waits, stores))
        pairs.sort(key=lambda one: (-one.contended.most, one.victim == one.writer, one.victim))
        # In a record that is known they are next to it.
        beside = self.several + sum(one.contended.most for one in pairs if name and one.writer.startswith(_OFFSET))
        several = 2 * beside > sum(one.contended.most for one in pairs if one.victim != one.writer)
        kinds, own = self.kinds, (TriageKind.TRUE_SHARING, TriageKind.LOCK_CONTENTION)
        if self.own:
            kinds[max(own, key=kinds.__getitem__)] += self.own
        if several and TriageKind.FALSE_SHARING in kinds:
            kinds = Counter({TriageKind.SEVERAL_OBJECTS: kinds.pop(TriageKind.FALSE_SHARING)}) | kinds
        least = KIND_SHARE * max(kinds.values(), default=0)
        explained = tuple(one for _, one in sorted(self.findings, key=lambda one: (-one[0], one[1].rank)))
        fixed = bool(explained) and _fixed(explained[0], layouts)
        limit = 0.0 if fixed and not several else min(self.share, self.removable.most)
        return RecordContention(
            name,
            tuple(place for place, _ in self.places.most_common() if place),
            self.lines,
            self.contended,
            self.share,
            Bounds(min(self.removable.least, limit), limit),
            tuple(kind for kind, count in kinds.most_common(MOST_KINDS) if count >= least),
            tuple(pairs),
            fixed,
            several,
            explained,
            owner,
            self.unknown,
            layouts is not None and not is_kernel(layouts),
            self.callers,
        )


def _kinds(finding: Finding, contended: float) -> Iterator[tuple[TriageKind, int]]:
    """The kinds of a line, each with what it can explain of the contention."""
    cost = finding.cost
    own = cost.contended - cost.removable.least
    for kind in finding.triage.kinds:
        if kind is TriageKind.FALSE_SHARING:
            yield kind, round(cost.removable.most)
        elif kind in (TriageKind.TRUE_SHARING, TriageKind.LOCK_CONTENTION):
            yield kind, round(own)
        elif kind is not TriageKind.SEVERAL_OBJECTS or len(finding.triage.kinds) == 1:
            yield kind, round(contended)


def _fixed(finding: Finding, layouts: Layouts | None) -> bool:
    """Whether the record on the line has no more bytes than the line, and begins with one."""
    first = finding.objects[0] if finding.objects else None
    if layouts is None or first is None or first.layout is None or first.outcome is not Outcome.RESOLVED:
        return False
    return first.phase == 0 and layouts.by_id(first.layout).size <= finding.bytes
