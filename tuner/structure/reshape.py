# SPDX-License-Identifier: GPL-2.0-or-later
"""Records with other members: one pulled in, pushed out, made smaller, left away, or moved behind another.

Members are placed by C's rules. Whether the code survives that is not asked here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches

from linesmith.analyzer.base.errors import StructureRefused
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.alignment import record_alignment, with_inferred_alignment
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import lay_out, refusal, round_up
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind
from linesmith.tuner.replay.scene import DEPTH, elements, holds

WORD = 8
# Members that a message lists.
_MOST_NAMED = 12


def explained(layout: Layout) -> Layout:
    """The layout with the alignments its offsets show; raises ``StructureRefused`` where C's rules do not give it."""
    whole = with_inferred_alignment(layout)
    if reason := refusal(whole):
        raise StructureRefused(f"{layout.title} cannot be laid out anew: {reason}")
    return whole


def at(layout: Layout, name: str) -> int:
    """The position of the member called ``name``; raises ``StructureRefused`` with the names there are."""
    names = [member.name for member in layout.members]
    if name not in names:
        raise StructureRefused(f"{layout.title} has no member {name}; {known_members(name, names)}")
    return names.index(name)


def known_members(name: str, names: Sequence[str]) -> str:
    """What to take instead of ``name``: the nearest, else the first ones and how many there are, maybe hundreds."""
    known = [one for one in names if one]
    if near := get_close_matches(name, known, 3, 0.6):
        return f"did you mean {', '.join(near)}?"
    inside = ", and what lies in its anonymous records cannot be changed so" if "" in names else ""
    return f"its members are {listed(known, _MOST_NAMED)}{inside}"


def without(layout: Layout, names: Collection[str]) -> Layout:
    """The layout without the members called so, as another configuration may have it."""
    gone = {at(layout, name) for name in names}
    return lay_out(layout, tuple(one for place, one in enumerate(layout.members) if place not in gone))


def embedded(pointer: Member, target: Layout, size: int | None, alignment: int | None) -> Member:
    """``target``, shrunk to ``size`` bytes if that is given, as the member that ``pointer`` points to now."""
    natural = max(target.natural_alignment, target.alignment or 1)
    whole = replace(
        pointer,
        type=target.title,
        declarator=pointer.name,
        size=target.size,
        natural_alignment=natural,
        alignment=alignment,
        category=MemberCategory.RECORD,
        record=target.id,
        target=None,
    )
    return whole if size is None else shrunk(whole, size)


def shrunk(member: Member, size: int) -> Member:
    """The member with ``size`` bytes in place of its own; what it then holds is not decided.

    Raises ``StructureRefused`` for a bit-field, and where it would not be smaller.
    """
    if member.is_bit_field or not 0 < size < member.size:
        said = f"{member.name} has {member.size} bytes and cannot be made {size} bytes small"
        raise StructureRefused(f"{said}; give a smaller size")
    natural = min(size & -size, WORD)
    return replace(
        member, size=size, natural_alignment=natural, record=None, category=MemberCategory.UNKNOWN, dimensions=()
    )


def pointer_to(member: Member) -> Member:
    """A pointer in place of the member; raises ``StructureRefused`` for a bit-field, which has no address."""
    if member.is_bit_field:
        raise StructureRefused(f"{member.name} is a bit-field and cannot be an object of its own")
    return replace(
        member,
        type=f"{member.type} *",
        size=WORD,
        natural_alignment=WORD,
        alignment=None,
        category=MemberCategory.POINTER,
        record=None,
        target=member.type.split()[-1],
        dimensions=(),
        flexible=False,
        declarator=member.name,
    )


def with_member(layout: Layout, position: int, member: Member) -> Layout:
    """The layout with ``member`` in place of the one at ``position``; its alignment becomes the record's too."""
    members = (*layout.members[:position], member, *layout.members[position + 1 :])
    asked = max(member.alignment or 0, layout.alignment or 0) or None
    return lay_out(replace(layout, alignment=asked), members)


def behind(layout: Layout, position: int, cold: Sequence[int]) -> Layout:
    """The layout with the member at ``position`` last but for the ``cold`` ones, in their order, behind it."""
    rest = [place for place in range(len(layout.members)) if place != position and place not in cold]
    return lay_out(layout, tuple(layout.members[place] for place in (*rest, position, *sorted(cold))))


def laid_out_around(outer: Layout, changed: Layout, layouts: Layouts, depth: int = 0) -> Layout:
    """``outer`` laid out anew around the record that ``changed`` replaces, however deep that lies in it.

    Raises ``StructureRefused`` where a record on the way does not follow C's rules. ``depth`` keeps damaged debug
    information, in which a record may hold itself, from recursing for ever.
    """
    if outer.id == changed.id:
        return changed
    if depth > DEPTH or not holds(outer, layouts, frozenset((changed.id,))):
        return outer
    whole = outer if outer.kind is RecordKind.UNION else explained(outer)
    return lay_out(whole, tuple(_resized(member, changed, layouts, depth + 1) for member in whole.members))


def _resized(member: Member, changed: Layout, layouts: Layouts, depth: int) -> Member:
    """The member with the size and alignment of the record it holds, changed."""
    old = layouts.by_id(member.record) if member.record is not None else None
    new = old and laid_out_around(old, changed, layouts, depth)
    if old is None or new is None or new is old:
        return member
    alignment = record_alignment(new)
    size = elements(member) * round_up(new.size, alignment)
    return replace(member, size=size, natural_alignment=max(member.natural_alignment, alignment))
