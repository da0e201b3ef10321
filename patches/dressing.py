# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate written in another way: padding in place of alignments, marks around a group of members."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    FactKind,
    Layout,
    Member,
    Move,
    MoveKind,
    Refusal,
    RefusalCode,
    SourceFact,
)

_PAD = re.compile(r"_pad(\d+)_\Z")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
_BITS = 8


def padded(candidate: Candidate) -> Candidate:
    """``candidate`` with a padding in front of each member that is to begin a cache line, in place of an attribute.

    The offsets are the same. Alignments to other sizes stay attributes.
    """
    number = max((int(found[1]) for one in candidate.after.members if (found := _PAD.match(one.name))), default=0)
    moves: list[Move] = []
    after = candidate.after
    for move in candidate.moves:
        if move.align != CACHE_LINE_BYTES:
            moves.append(move)
            continue
        number += 1
        name = f"_pad{number}_"
        moves += [replace(move, align=None)] * (move.kind is not MoveKind.ALIGN)
        moves.append(Move(MoveKind.PAD, name, partner=move.member, align=move.align))
        after = _with_front(after, move.member, name)
    return replace(candidate, moves=tuple(moves), after=after)


def grouped(candidate: Candidate, group: str, members: Sequence[str]) -> Candidate:
    """``candidate`` with the marks of ``group`` around ``members``, which follow each other in its layout.

    Raises ``EditRefused`` where they do not, or the name is none.
    """
    layout = candidate.after
    places = [next((at for at, one in enumerate(layout.members) if one.name == name), None) for name in members]
    known = sorted(at for at in places if at is not None)
    if not _IDENTIFIER.match(group) or len(known) < len(members) or not known:
        names = ", ".join(f"`{name}`" for name in members)
        reason = f"a group `{group}` of {names or 'no members'} cannot be: {candidate.type} must have them"
        raise EditRefused(Refusal(RefusalCode.NOT_WRITTEN, layout.place, reason, "write NAME=MEMBER,MEMBER"))
    first, last = known[0], known[-1]
    if known != list(range(first, last + 1)):
        between = next(layout.members[at].name for at in range(first, last) if at not in known)
        reason = f"{f'`{between}`' if between else 'an anonymous record'} stands among the members of the group"
        raise EditRefused(Refusal(RefusalCode.NOT_ADJACENT, layout.place, reason, "name it too"))
    parts = layout.members
    begin = _mark(f"__cacheline_group_begin__{group}", _end(parts[first - 1]) if first else 0)
    end = _mark(f"__cacheline_group_end__{group}", _end(parts[last]))
    placed = (*parts[:first], begin, *parts[first : last + 1], end, *parts[last + 1 :])
    ordered = tuple(one.name for one in parts[first : last + 1])
    move = Move(MoveKind.GROUP, group, members=ordered)
    return replace(candidate, moves=(*candidate.moves, move), after=replace(layout, members=placed))


def check_positions(plain: Candidate, written: Candidate, facts: Sequence[SourceFact]) -> None:
    """Raise ``EditRefused`` where ``written`` has a new member among those that an initialiser gives by position.

    A padding or a mark takes no room, but it takes a value. ``plain`` is the candidate without them.
    """
    there = {one.name for one in plain.after.members}
    names = [one.name for one in written.after.members]
    added = [at for at, name in enumerate(names) if name not in there]
    for fact in facts:
        if fact.kind is FactKind.POSITIONAL and any(at < _behind_last(fact, names) for at in added):
            told = f"{fact.reason} ({fact.place})" if fact.place else fact.reason
            reason = f"`{names[added[0]]}` would take the value that is meant for a member behind it: {told}"
            lift = "leave --padding and --group out, or name the members in the initialiser first"
            raise EditRefused(Refusal(RefusalCode.POSITIONAL, written.after.place, reason, lift))


def _behind_last(fact: SourceFact, names: Sequence[str]) -> int:
    """The first place that the values do not reach; a name that is not there is one of an anonymous record."""
    if not all(name in names for name in fact.members):
        return len(names)
    return max((names.index(name) + 1 for name in fact.members), default=0)


def _with_front(layout: Layout, member: str, name: str) -> Layout:
    return replace(layout, members=tuple(_fronted(layout.members, member, name)))


def _fronted(members: Sequence[Member], member: str, name: str) -> Iterator[Member]:
    for one in members:
        if one.name == member:
            yield _mark(name, one.offset)
            yield replace(one, alignment=None)
        else:
            yield one


def _mark(name: str, offset: int) -> Member:
    return Member(name, "char", f"{name}[0]", offset, 0, dimensions=(0,))


def _end(member: Member) -> int:
    """The first byte behind a member; the storage unit of a bit-field may reach further."""
    if member.bit_offset is None or member.bit_size is None:
        return member.end
    return -(-(member.bit_offset + member.bit_size) // _BITS)
