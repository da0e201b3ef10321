# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies the moves of a candidate to the source text of a record: atoms change places, nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import Candidate, Move, MoveKind, Refusal, RefusalCode
from linesmith.patches.atoms import AtomKind, Scope
from linesmith.patches.body import Body, all_members, members, parsed
from linesmith.patches.insertions import asserted, marked, padded
from linesmith.patches.kernel_doc import followed
from linesmith.patches.moves import moved, swapped
from linesmith.patches.order import check_bit_fields, check_order
from linesmith.patches.pieces import Origin, find, with_attribute
from linesmith.patches.records import Record, is_packed
from linesmith.patches.remarks import Remarks, remarked
from linesmith.patches.spelling import Spelling
from linesmith.patches.spelt import spelt, word


@dataclass(frozen=True, slots=True)
class Edit:
    """The whole file after the edit; ``order`` is the order of the record's direct members then."""

    source: bytes
    order: tuple[str, ...]


def edit(
    origin: Origin,
    record: Record,
    candidate: Candidate,
    spelling: Spelling | None = None,
    remarks: Remarks | None = None,
) -> Edit:
    """The file with the candidate's moves made; ``spelling`` says how what it adds is written.

    ``remarks`` are written above the members that they are about, and the record's kernel-doc comment follows. Raises
    ``EditRefused`` where whole atoms cannot do it, or would carry other members along.
    """
    check_record(origin, record)
    before = body = parsed(origin, record, _anchors(candidate))
    names = all_members(before.outer)
    candidate = spelt(candidate, names)
    if not body.sound and any(atom.kind is AtomKind.BROKEN for atom in body.outer.atoms):
        _refuse_broken(origin, body.outer, candidate.moves)
    for move in candidate.moves:
        try:
            body = _made(body, move, spelling or Spelling())
        except EditRefused as refused:
            raise EditRefused(_placed(refused.refusal, before, body, move.member)) from refused
    check_order(before, body, candidate)
    check_bit_fields(before, body, candidate)
    body = remarked(body, {word(name, names): sentence for name, sentence in (remarks or {}).items()})
    source = followed(body.origin.source, record, names, all_members(body.outer))
    return Edit(source, members(body.outer))


def check_record(origin: Origin, record: Record) -> None:
    """Raises ``EditRefused`` for a record of which no member can move, whatever a candidate wants."""
    if record.kind != "struct":
        reason = f"{record.kind} {record.name} is no struct: order means nothing in it"
        raise origin.refuse(RefusalCode.NO_STRUCT, record.start, reason)
    if is_packed(origin.source, record):
        reason = f"{record.title} is packed, so no member is where its type would have it"
        raise origin.refuse(RefusalCode.PACKED, record.start, reason)


def _anchors(candidate: Candidate) -> frozenset[str]:
    """The members of the anonymous struct that a candidate rearranges, if it is one."""
    names = () if candidate.before.name else candidate.before.members
    return frozenset(member.name for member in names if member.name)


def _refuse_broken(origin: Origin, outer: Scope, moves: Sequence[Move]) -> None:
    """A stretch the grammar does not know may hide where declarations begin: stay clear of its neighbours."""
    named = {name for move in moves for name in (move.member, move.after, move.partner) if name}
    for before, atom, after in zip((None, *outer.atoms), outer.atoms, (*outer.atoms[1:], None), strict=False):
        if atom.kind is not AtomKind.BROKEN:
            continue
        near = [one for one in (before, atom, after) if one and any(one.declares(name) for name in named)]
        if near:
            reason = "this text is not plain C, so the members beside it cannot be moved safely"
            raise origin.refuse(RefusalCode.NOT_C, atom.start, reason)


def _made(body: Body, move: Move, spelling: Spelling) -> Body:
    if move.kind is MoveKind.PAD:
        return padded(body, move, spelling)
    if move.kind is MoveKind.GROUP:
        return asserted(marked(body, move, spelling), move)
    if move.kind is MoveKind.SWAP and move.partner is not None:
        body = swapped(body, move.member, move.partner)
    elif move.kind is not MoveKind.ALIGN:
        body = moved(body, move)
    return body if move.align is None else _aligned(body, move.member, spelling.attribute(move.align))


def _aligned(body: Body, member: str, attribute: str) -> Body:
    inside = body.innermost(member)
    cut = body.pieces(inside)
    index = find(body.origin, inside, cut, member)
    piece = with_attribute(body.origin, cut[index], member, attribute)
    return body.rewritten(inside, [*cut[:index], piece, *cut[index + 1 :]])


def _placed(refusal: Refusal, before: Body, now: Body, member: str) -> Refusal:
    """The refusal with a place in the file as it was: lines are others behind a step."""
    if now is before:
        return refusal
    atom = next((one for one in before.innermost(member).atoms if one.declares(member)), None)
    return replace(refusal, place=before.origin.place(atom.start if atom else before.record.start))
