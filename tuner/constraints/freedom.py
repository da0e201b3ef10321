# SPDX-License-Identifier: GPL-2.0-or-later
"""Which layouts of a record are legal: plain data for those who search, and the one predicate that all of them ask.

Below that, what every rule looks at (``RuledRecord``), the effects that rules have, and the premises of proposals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import LayoutAtom, MemberPlace, visible_places
from linesmith.analyzer.model import NO_FACTS, FactKind, Finding, Layout, SourceFact, SourceFacts
from linesmith.analyzer.slab.allocation import Kernel


class ConstraintKind(StrEnum):
    """The rule that binds; the value is what a user reads."""

    FIRST = "stays first"
    LAST = "stays last"
    MARKER = "stays between the same members"
    GROUP = "moves as a whole"
    BIT_FIELDS = "move together"
    BIT_FIELDS_APART = "stays apart from other bit-fields"
    ALIGNED = "keeps its alignment"
    RANGE = "moves with its range"
    BLOCK = "moves with its block"
    POSITION = "keeps its turn"
    OFFSET = "keeps its offset"
    APART = "stays on another line"
    SIZE = "is limited in size"
    RANDOMIZED = "may be shuffled"
    BASE = "is what others begin with"
    FREE_POINTER = "shares its place"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule for one atom (or the record, by its title); ``source`` is where the rule comes from.

    ``everywhere`` tells a rule that limits every order from one that only binds those who move ``member``.
    """

    kind: ConstraintKind
    member: str
    reason: str
    source: str
    everywhere: bool = False

    def __str__(self) -> str:
        return f"{self.member} {self.kind.value}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Pin:
    """An atom that stays at its byte ``offset`` of the record; ``position`` is that of its first member."""

    atom: int
    position: int
    offset: int
    why: Constraint


@dataclass(frozen=True, slots=True)
class Stretch:
    """``size`` bytes from byte ``start`` of the member at ``position`` in the present layout."""

    position: int
    start: int
    size: int

    def lines(self, starts: Sequence[int], base: int, line_bytes: int) -> range:
        """The lines it lies on, counted from the record's first byte."""
        first = starts[self.position] - base + self.start
        return range(first // line_bytes, (first + max(self.size, 1) - 1) // line_bytes + 1)


@dataclass(frozen=True, slots=True)
class ApartMembers:
    """Two stretches that may not be on one line of ``line_bytes``, lines counted from the record's first byte."""

    first: Stretch
    second: Stretch
    line_bytes: int
    why: Constraint

    def broken(self, starts: Sequence[int], base: int) -> bool:
        """Whether they meet where members begin at bytes ``starts`` of the object, the record at ``base``."""
        one = self.first.lines(starts, base, self.line_bytes)
        other = self.second.lines(starts, base, self.line_bytes)
        return one.start < other.stop and other.start < one.stop


@dataclass(frozen=True, slots=True)
class Below:
    """Byte ``start`` of the member at ``position`` lies within the first ``bytes`` of the object."""

    position: int
    start: int
    bytes: int
    why: Constraint


@dataclass(frozen=True, slots=True)
class Limit:
    """The record may have ``least`` to ``most`` bytes."""

    least: int
    most: int
    why: Constraint


@dataclass(frozen=True, slots=True)
class BitFieldRun:
    """An atom that begins with a bit-field (``first``) or ends with one (``last``)."""

    atom: int
    first: bool
    last: bool
    why: Constraint


@dataclass(frozen=True, slots=True)
class Freedom:
    """What is legal for the atoms of a record that begins at byte ``base`` of its object.

    ``segments`` are numbers by atom, ascending in declaration order: an order is legal when every atom stays in its
    segment. ``fixed`` are the reasons of the atoms that are alone in theirs; ``constraints`` all reasons there are.
    """

    segments: tuple[int, ...]
    constraints: tuple[Constraint, ...]
    fixed: Mapping[int, Constraint] = field(default_factory=dict)
    pins: tuple[Pin, ...] = ()
    apart: tuple[ApartMembers, ...] = ()
    limits: tuple[Limit, ...] = ()
    below: tuple[Below, ...] = ()
    runs: tuple[BitFieldRun, ...] = ()
    base: int = 0

    @property
    def pinned(self) -> dict[int, int]:
        """Byte offset in the record by atom, for those that keep theirs."""
        return {pin.atom: pin.offset for pin in self.pins}

    @property
    def ceiling(self) -> int | None:
        """Bytes that the record may have at most; ``None`` where nothing limits it."""
        return min((limit.most for limit in self.limits), default=None)

    @property
    def floor(self) -> int:
        """Bytes that the record must have at least."""
        return max((limit.least for limit in self.limits), default=0)

    def places(self, atom: int) -> range:
        """Positions that ``atom`` may take in an order, its own included."""
        segment = self.segments[atom]
        first = self.segments.index(segment)
        return range(first, first + self.segments.count(segment))

    def refuses(self, order: Sequence[int], starts: Sequence[int], size: int) -> Constraint | None:
        """The first rule that a layout breaks, or ``None`` when it is legal.

        ``order`` holds atoms; ``starts`` are bytes in the object by the members' positions in the present layout;
        ``size`` is that of the record in bytes.
        """
        if tuple(map(self.segments.__getitem__, order)) != self.segments:
            return self._crossed(order)
        return self._mixed(order) or next(self._broken(starts, size), None)

    def _mixed(self, order: Sequence[int]) -> Constraint | None:
        """The rule of a run of bit-fields that another one comes to stand behind."""
        if len(self.runs) < 2:
            return None
        runs = {run.atom: run for run in self.runs}
        for one, other in pairwise(order):
            if one in runs and other in runs and runs[one].last and runs[other].first and other != one + 1:
                return runs[one].why
        return None

    def _broken(self, starts: Sequence[int], size: int) -> Iterator[Constraint]:
        for pin in self.pins:
            if starts[pin.position] - self.base != pin.offset:
                yield pin.why
        for limit in self.limits:
            if not limit.least <= size <= limit.most:
                yield limit.why
        for head in self.below:
            if starts[head.position] + head.start >= head.bytes:
                yield head.why
        for pair in self.apart:
            if pair.broken(starts, self.base):
                yield pair.why

    def _crossed(self, order: Sequence[int]) -> Constraint:
        """The rule of an atom that another one has crossed, or that has itself left its place."""
        place, atom = next(
            (place, atom) for place, atom in enumerate(order) if self.segments[atom] != self.segments[place]
        )
        low, high = sorted((self.segments[place], self.segments[atom]))
        return next(why for one, why in self.fixed.items() if low <= self.segments[one] <= high)


@dataclass(frozen=True, slots=True)
class Fixed:
    """The atom stays where it is among the others, and none crosses it."""

    atom: int
    why: Constraint


@dataclass(frozen=True, slots=True)
class RuleRemark:
    """A rule that no order breaks, or that the atoms keep already; a reader should know it."""

    why: Constraint


Effect = Fixed | Pin | ApartMembers | Below | Limit | BitFieldRun | RuleRemark


@dataclass(frozen=True, slots=True)
class RuledRecord:
    """The record to rearrange, at byte ``base`` of its object, cut into ``parts``; ``facts`` are of its source.

    ``outer`` is the object's record: itself, or that in which it is an anonymous struct. ``owners`` are the atoms by
    member position.
    """

    layout: Layout
    parts: tuple[LayoutAtom, ...]
    layouts: Layouts
    facts: tuple[SourceFact, ...]
    base: int
    outer: Layout
    owners: tuple[int, ...]
    places: dict[str, MemberPlace]

    def of(self, *kinds: FactKind) -> Iterator[SourceFact]:
        """The facts of these kinds."""
        return (fact for fact in self.facts if fact.kind in kinds)

    def known(self, fact: SourceFact) -> list[MemberPlace]:
        """The places of the fact's members that this build has."""
        return [self.places[name] for name in fact.members if name in self.places]

    def atoms_of(self, fact: SourceFact) -> list[int]:
        """The atoms of the fact's members, each once, ascending."""
        return sorted({self.owners[place.member] for place in self.known(fact)})


def record_of(
    layout: Layout,
    parts: tuple[LayoutAtom, ...],
    layouts: Layouts,
    facts: tuple[SourceFact, ...],
    base: int,
    outer: Layout,
) -> RuledRecord:
    """The record as rules see it."""
    owners = tuple(atom for atom, part in enumerate(parts) for _ in part.members)
    return RuledRecord(layout, parts, layouts, facts, base, outer, owners, visible_places(layout, layouts))


def source_of(fact: SourceFact) -> str:
    """Where the fact is from."""
    return fact.place or "the source"


@dataclass(frozen=True, slots=True)
class ConfiguredBuild:
    """Another build of the same source, in which other members are there; ``title`` is what a user knows it by."""

    title: str
    layouts: Layouts


@dataclass(frozen=True, slots=True)
class Premises:
    """``facts`` of the source; the ``kernel`` whose slab caches hold the objects, ``None`` for a program.

    ``growth`` is by how many bytes a record may grow; ``None`` lets it grow where nothing else helps. A change must be
    legal in all ``configurations``. ``accesses`` are what the code touches, ``None`` where that is not known.
    ``parsed`` says of records, by name, how many units of the source were parsed for the facts, where it was scanned.
    ``beside`` are findings on further lines of the same records, on which little waits: who uses them counts too.
    ``shares`` are those of a line's record in all contention of the profile, by the rank of the line, where known.
    """

    facts: SourceFacts = field(default=NO_FACTS)
    kernel: Kernel | None = None
    growth: int | None = None
    configurations: tuple[ConfiguredBuild, ...] = ()
    accesses: AccessMap | None = None
    beside: tuple[Finding, ...] = ()
    parsed: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[int, float] = field(default_factory=dict)


NO_PREMISES = Premises()


def known_facts(facts: SourceFacts, layouts: Layouts) -> SourceFacts:
    """The facts of records and members that the build has; a scan of its source may tell of others.

    A fact of several members holds for those that are there; one of members that are not says nothing.
    """
    records = []
    for record, facts_of_it in facts.records:
        names = {name for variant in layouts.variants(record) for name in visible_places(variant, layouts)}
        there = [replace(one, members=tuple(name for name in one.members if name in names)) for one in facts_of_it]
        pairs = zip(facts_of_it, there, strict=True)
        records.append((record, tuple(new for old, new in pairs if names and (new.members or not old.members))))
    return SourceFacts(tuple(records))
