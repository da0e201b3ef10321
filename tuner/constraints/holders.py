# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records hold a record by value, as far as that limits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import refusal
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member, RecordKind
from linesmith.analyzer.store import Part, outlines_of
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.freedom import Limit
from linesmith.tuner.constraints.record import Fixed, Record, Remark

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Held:
    """Member ``number`` of ``holder``, which is the record or an array of it."""

    holder: Layout
    number: int

    @property
    def member(self) -> Member:
        """The member itself."""
        return self.holder.members[self.number]


def rigid_holders(record: Record) -> Iterator[Limit]:
    """A record inside one whose members are not where C's rules put them keeps its size."""
    rigid = _rigid(record.outer, record.layouts)
    if rigid is not None:
        size, title = record.layout.size, record.outer.title
        reason = f"{rigid.title} holds it, whose members are not where C's rules put them"
        yield Limit(size, size, Constraint(ConstraintKind.SIZE, title, reason, "offsets of its holder"))


def bases(record: Record) -> Iterator[Remark]:
    """A record that others begin with is what code casts them to: whatever it becomes, it stays in front of them."""
    named = dict.fromkeys(
        one.holder.title
        for one in held(record.layout.id, record.layouts)
        if not one.member.offset and one.holder.name and one.holder.kind is RecordKind.STRUCT
    )
    if named:
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        holders = ", ".join(list(named)[:_MOST_NAMED]) + more
        reason = f"in {holders} the other members move when it changes size"
        yield Remark(Constraint(ConstraintKind.BASE, record.layout.title, reason, "C11 6.7.2.1p15"))


def common_beginnings(record: Record) -> Iterator[Fixed]:
    """Records of one union may be read through each other as far as they begin alike."""
    count, other = _common_beginning(record)
    for atom in range(max((owner + 1 for owner in record.owners[:count]), default=0)):
        name = record.parts[atom].name or "an anonymous member"
        reason = f"{other} begins with the same members in the same union, so each may be read as the other"
        yield Fixed(atom, Constraint(ConstraintKind.POSITION, name, reason, "C11 6.5.2.3p6"))


def _common_beginning(record: Record) -> tuple[int, str]:
    """How many members the record has in common with another one of a union, and the other's title."""
    best = 0, ""
    for place in held(record.layout.id, record.layouts):
        if place.holder.kind is RecordKind.UNION and not place.member.dimensions:
            for member in place.holder.members:
                if member.record not in (None, record.layout.id):
                    other = record.layouts.by_id(member.record)
                    best = max(best, (_alike(record.layout, other), other.title if other.name else "another struct"))
    return best


def _alike(one: Layout, other: Layout) -> int:
    """Members from the first on whose types and places are the same."""
    if other.kind is not RecordKind.STRUCT:
        return 0
    pairs = zip(one.members, other.members, strict=False)
    return next((at for at, pair in enumerate(pairs) if _looks(pair[0]) != _looks(pair[1])), len(one.members))


def _looks(member: Member) -> tuple[object, ...]:
    return member.type, member.offset, member.size, member.bit_offset, member.bit_size, member.dimensions


def _rigid(layout: Layout, layouts: Layouts) -> Layout | None:
    """A record that holds ``layout`` at any depth and cannot be laid out around another size of it."""
    seen, waiting = {layout.id}, [layout.id]
    while waiting:
        for place in held(waiting.pop(), layouts):
            if place.holder.id in seen:
                continue
            if place.holder.kind is not RecordKind.UNION and refusal(with_inferred_alignment(place.holder)):
                return place.holder
            seen.add(place.holder.id)
            waiting.append(place.holder.id)
    return None


def held(layout_id: int, layouts: Layouts) -> Iterator[Held]:
    """Who has a member of the record."""
    for number, at in _holders(layouts).get(layout_id, ()):
        yield Held(layouts.by_id(number), at)


@lru_cache(maxsize=1)
def _holders(layouts: Layouts) -> Mapping[int, list[tuple[int, int]]]:
    """The ids of those who have a member of each record, by the record's id, each with the number of the member."""
    found: dict[int, list[tuple[int, int]]] = {}
    for layout in outlines_of(layouts):
        members: Sequence[Member | Part] = layout.members
        for at, member in enumerate(members):
            if member.record is not None:
                found.setdefault(member.record, []).append((layout.id, at))
    return found
