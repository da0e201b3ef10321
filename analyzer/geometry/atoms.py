# SPDX-License-Identifier: GPL-2.0-or-later
"""Atoms of a layout: runs of members that move as one.

A run of bit-fields shares storage units; a range between ``__cacheline_group_begin__X`` and
``__cacheline_group_end__X`` was grouped on purpose and is asserted at compile time (include/linux/cache.h). What the
source treats as one range, or keeps in one block, is told by facts. Every other member, an anonymous struct or union
included, is an atom of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import FactKind, Layout, Member, RecordKind, SourceFact

GROUP_BEGIN = "__cacheline_group_begin__"
GROUP_END = "__cacheline_group_end__"
GROUP_PAD = "__cacheline_group_pad__"


@dataclass(frozen=True, slots=True)
class Atom:
    """Members that move together, in order; ``name`` and ``last`` are the first and last name to find them by.

    ``names`` are those of all of them, an anonymous record by the first name inside.
    """

    names: tuple[str, ...]
    members: tuple[Member, ...]

    @property
    def name(self) -> str:
        """What the first member is found by."""
        return self.names[0]

    @property
    def last(self) -> str:
        """What the last member is found by."""
        return self.names[-1]

    @property
    def is_group(self) -> bool:
        """Whether the atom is a range between cacheline group markers."""
        return len(self.members) > 1 and self.members[0].name.startswith(GROUP_BEGIN)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a member of the outermost scope lies: the position of its member, the byte in it, and its size."""

    member: int
    start: int
    size: int


def atoms(layout: Layout, layouts: Layouts, facts: Iterable[SourceFact] = ()) -> tuple[Atom, ...]:
    """The atoms of ``layout`` in declaration order; together they hold each member once.

    Of the ``facts`` of the record, those of ranges and blocks make the members in between one atom. A group whose
    markers are walls is opened: its members are atoms of their own.
    """
    told = tuple(facts)
    walls = frozenset(name for fact in told if fact.kind is FactKind.WALL for name in fact.members)
    joined = _joined(_runs(layout, walls), _told(layout, layouts, told))
    runs = [layout.members[run.start : run.stop] for run in joined]
    return tuple(Atom(tuple(spoken_name(member, layouts) for member in run), run) for run in runs)


def _runs(layout: Layout, walls: frozenset[str]) -> list[range]:
    """Positions of members that the layout itself shows to move together; groups between ``walls`` are open."""
    runs: list[range] = []
    group_end: str | None = None
    for position, member in enumerate(layout.members):
        if runs and (group_end or _continues(layout.members[position - 1], member)):
            runs[-1] = range(runs[-1].start, position + 1)
        else:
            runs.append(range(position, position + 1))
        if member.name.startswith(GROUP_BEGIN) and member.name not in walls:
            group_end = GROUP_END + member.name.removeprefix(GROUP_BEGIN)
        elif member.name == group_end:
            group_end = None
    return runs


def _told(layout: Layout, layouts: Layouts, facts: Iterable[SourceFact]) -> list[range]:
    """Positions from the first to the last member of each range and block that the source tells of."""
    told = [fact for fact in facts if fact.kind in (FactKind.RANGE, FactKind.TOGETHER)]
    places = visible_places(layout, layouts) if told else {}
    found = ([places[name].member for name in fact.members if name in places] for fact in told)
    return [range(min(positions), max(positions) + 1) for positions in found if positions]


def _joined(runs: Sequence[range], told: Sequence[range]) -> list[range]:
    """``runs``, which cover all positions, with those merged that one of ``told`` has in common."""
    joined: list[range] = []
    for run in runs:
        if joined and any(one.start < run.start < one.stop for one in told):
            joined[-1] = range(joined[-1].start, run.stop)
        else:
            joined.append(run)
    return joined


def _continues(last: Member, member: Member) -> bool:
    """Whether ``member`` belongs to the atom that ``last`` ends (no group is open)."""
    if last.name.startswith(GROUP_END):
        return member.name == GROUP_PAD + last.name.removeprefix(GROUP_END)
    return last.is_bit_field and member.is_bit_field


def spoken_name(member: Member, layouts: Layouts) -> str:
    """The member's name; for an anonymous record the first name inside, ``""`` where there is none."""
    return next((name for name, _, _ in visible(member, layouts)), "")


def visible_places(layout: Layout, layouts: Layouts) -> dict[str, Place]:
    """Every name that ``object->name`` reaches, members of anonymous records included."""
    found: dict[str, Place] = {}
    for position, member in enumerate(layout.members):
        for name, start, size in visible(member, layouts):
            found.setdefault(name, Place(position, start, size))
    return found


def visible(member: Member, layouts: Layouts, entered: frozenset[int] = frozenset()) -> Iterator[tuple[str, int, int]]:
    """Names that ``member`` gives the record it is in, each with its first byte in the member and its size.

    ``entered`` are records not to enter: damaged debug information may let one hold itself.
    """
    if member.name:
        yield member.name, 0, member.size
    elif member.record is not None and member.record not in entered:
        for part in layouts.by_id(member.record).members:
            for name, start, size in visible(part, layouts, entered | {member.record}):
                yield name, part.offset + start, size


def anonymous_struct(member: Member, layouts: Layouts) -> Layout | None:
    """The layout of an anonymous struct (not union) whose members could be moved among themselves.

    A part that has a tag is none: its members are declared elsewhere, perhaps for others too (-fms-extensions, a base
    in C++).
    """
    if member.name or member.record is None or member.dimensions:
        return None
    inner = layouts.by_id(member.record)
    return inner if inner.kind is RecordKind.STRUCT and not inner.name else None
