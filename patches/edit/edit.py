# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies the moves of a candidate to the source text of a record: atoms change places, nothing else changes.

A candidate can be written in another way first: with padding in place of alignments, with marks around a group.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    FactKind,
    Member,
    Move,
    MoveKind,
    Refusal,
    RefusalCode,
    SourceFact,
)
from linesmith.patches.edit.insertions import AddedText, marked, spelt, with_padding, word
from linesmith.patches.edit.moves import check_bit_fields, check_order, moved, swapped
from linesmith.patches.source.atoms import AtomKind, MemberScope
from linesmith.patches.source.body import Body, Remarks, all_members, parsed, remarked
from linesmith.patches.source.pieces import SourceText, find, followed, with_attribute
from linesmith.patches.source.records import RecordSpan, is_packed


def edit(
    origin: SourceText,
    record: RecordSpan,
    candidate: Candidate,
    spelling: AddedText | None = None,
    remarks: Remarks | None = None,
) -> bytes:
    """The file with the candidate's moves made; ``spelling`` says how what it adds is written.

    ``remarks`` are written above the members that they are about, and the record's kernel-doc comment follows. Raises
    ``EditRefused`` where whole atoms cannot do it, or would carry other members along.
    """
    check_record(origin, record)
    # The members of the anonymous struct that a candidate rearranges, if it is one.
    inner = () if candidate.before.name else candidate.before.members
    before = body = parsed(origin, record, frozenset(member.name for member in inner if member.name))
    names = all_members(before.outer)
    candidate = spelt(candidate, names)
    if not body.sound and any(atom.kind is AtomKind.BROKEN for atom in body.outer.atoms):
        _refuse_broken(origin, body.outer, candidate.moves)
    for move in candidate.moves:
        try:
            body = _made(body, move, spelling or AddedText())
        except EditRefused as refused:
            if body is before:
                raise
            # Lines are others behind a step: what is named is a place in the file as it was.
            atom = next((one for one in before.innermost(move.member).atoms if one.declares(move.member)), None)
            place = origin.place(atom.start if atom else record.start)
            raise EditRefused(replace(refused.refusal, place=place)) from refused
    check_order(before, body, candidate)
    check_bit_fields(before, body, candidate)
    body = remarked(body, {word(name, names): sentence for name, sentence in (remarks or {}).items()})
    return followed(body.origin.source, record, names, all_members(body.outer))


def check_record(origin: SourceText, record: RecordSpan) -> None:
    """Raises ``EditRefused`` for a record of which no member can move, whatever a candidate wants."""
    if record.kind != "struct":
        reason = f"{record.kind} {record.name} is no struct: order means nothing in it"
        raise origin.refuse(RefusalCode.NO_STRUCT, record.start, reason)
    if is_packed(origin.source, record):
        reason = f"{record.title} is packed, so no member is where its type would have it"
        raise origin.refuse(RefusalCode.PACKED, record.start, reason)


def _refuse_broken(origin: SourceText, outer: MemberScope, moves: Sequence[Move]) -> None:
    """A stretch the grammar does not know may hide where declarations begin: stay clear of its neighbours."""
    named = {name for move in moves for name in (move.member, move.after, move.partner) if name}
    for before, atom, after in zip((None, *outer.atoms), outer.atoms, (*outer.atoms[1:], None), strict=False):
        if atom.kind is not AtomKind.BROKEN:
            continue
        if any(one.declares(name) for one in (before, atom, after) if one for name in named):
            reason = "this text is not plain C, so the members beside it cannot be moved safely"
            raise origin.refuse(RefusalCode.NOT_C, atom.start, reason)


def _made(body: Body, move: Move, spelling: AddedText) -> Body:
    if move.kind is MoveKind.PAD:
        return with_padding(body, move, spelling)
    if move.kind is MoveKind.GROUP:
        return marked(body, move, spelling)
    if move.kind is MoveKind.SWAP and move.partner is not None:
        body = swapped(body, move.member, move.partner)
    elif move.kind is not MoveKind.ALIGN:
        body = moved(body, move)
    if move.align is None:
        return body
    inside = body.innermost(move.member)
    cut = body.pieces(inside)
    index = find(body.origin, inside, cut, move.member)
    cut[index] = with_attribute(body.origin, cut[index], move.member, spelling.attribute(move.align))
    return body.rewritten(inside, cut)


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
        # The padding has no size and begins where the member does, which needs no alignment of its own then.
        placed = (
            (_mark(name, one.offset), replace(one, alignment=None)) if one.name == move.member else (one,)
            for one in after.members
        )
        after = replace(after, members=tuple(part for parts in placed for part in parts))
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
        if fact.kind is not FactKind.POSITIONAL:
            continue
        # A name that is not there is one of an anonymous record, which may be anywhere.
        known = all(name in names for name in fact.members)
        end = max((names.index(name) + 1 for name in fact.members), default=0) if known else len(names)
        if any(at < end for at in added):
            cause = f"{fact.reason} ({fact.place})" if fact.place else fact.reason
            reason = f"`{names[added[0]]}` would take the value that is meant for a member behind it: {cause}"
            lift = "leave --padding and --group out, or name the members in the initialiser first"
            raise EditRefused(Refusal(RefusalCode.POSITIONAL, written.after.place, reason, lift))


def _mark(name: str, offset: int) -> Member:
    return Member(name, "char", f"{name}[0]", offset, 0, dimensions=(0,))


def _end(member: Member) -> int:
    """The first byte behind a member; the storage unit of a bit-field may reach further."""
    if member.bit_offset is None or member.bit_size is None:
        return member.end
    return -(-(member.bit_offset + member.bit_size) // _BITS)
