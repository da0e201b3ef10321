# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies the moves of a candidate to the source text of a record: atoms change places, nothing else changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Layout, Move, MoveKind, RefusalCode
from linesmith.patches.edit.moves import check_bit_fields, check_order, moved, swapped
from linesmith.patches.source.atoms import AtomKind, MemberScope
from linesmith.patches.source.body import Body, Remarks, all_members, parsed, remarked
from linesmith.patches.source.macros import written_name
from linesmith.patches.source.pieces import SourceText, find, followed, with_attribute
from linesmith.patches.source.records import RecordSpan, is_packed

Attributes = Mapping[int, str]
"""The attribute that aligns a member, by the number of bytes."""


def edit(
    origin: SourceText,
    record: RecordSpan,
    candidate: Candidate,
    spelling: Attributes | None = None,
    remarks: Remarks | None = None,
) -> bytes:
    """The file with the candidate's moves made; ``spelling`` says how alignments are written.

    ``remarks`` are written above the members that they are about, and the record's kernel-doc comment follows. Raises
    ``EditRefused`` where whole atoms cannot do it, or would carry other members along.
    """
    check_record(origin, record)
    # The members of the anonymous struct that a candidate rearranges, if it is one.
    inner = () if candidate.before.name else candidate.before.members
    before = body = parsed(origin, record, frozenset(member.name for member in inner if member.name))
    names = all_members(before.outer)
    candidate = _spelt(candidate, names)
    if not body.sound and any(atom.kind is AtomKind.BROKEN for atom in body.outer.atoms):
        _refuse_broken(origin, body.outer, candidate.moves)
    for move in candidate.moves:
        try:
            body = _made(body, move, spelling or {})
        except EditRefused as refused:
            if body is before:
                raise
            # Lines are others behind a step: what is named is a place in the file as it was.
            atom = next((one for one in before.innermost(move.member).atoms if one.declares(move.member)), None)
            place = origin.place(atom.start if atom else record.start)
            raise EditRefused(replace(refused.refusal, place=place)) from refused
    check_order(before, body, candidate)
    check_bit_fields(before, body, candidate)
    body = remarked(body, {_word(name, names): sentence for name, sentence in (remarks or {}).items()})
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


def _made(body: Body, move: Move, spelling: Attributes) -> Body:
    if move.kind is MoveKind.SWAP and move.partner is not None:
        body = swapped(body, move.member, move.partner)
    elif move.kind is not MoveKind.ALIGN:
        body = moved(body, move)
    if move.align is None:
        return body
    inside = body.innermost(move.member)
    cut = body.pieces(inside)
    index = find(body.origin, inside, cut, move.member)
    attribute = spelling.get(move.align, f"__attribute__((aligned({move.align})))")
    cut[index] = with_attribute(body.origin, cut[index], move.member, attribute)
    return body.rewritten(inside, cut)


def spellings(moves: Sequence[Move], *, kernel: bool) -> tuple[Attributes, ...]:
    """Ways to write the alignments that ``moves`` ask for, to try in order.

    A header of a kernel can use ``____cacheline_aligned_in_smp`` only where it sees that; compiling shows whether it
    does.
    """
    plain = {move.align: f"__aligned({move.align})" for move in moves if move.align} if kernel else {}
    if CACHE_LINE_BYTES not in plain:
        return (plain,)
    return ({**plain, CACHE_LINE_BYTES: "____cacheline_aligned_in_smp"}, plain)


# A candidate speaks of members as DWARF does; where a macro gives them others in the source, those words are used.


def _spelt(candidate: Candidate, declared: Collection[str]) -> Candidate:
    """``candidate`` with the names that are not among the ``declared`` members in the words of the source."""

    def placed(layout: Layout) -> Layout:
        return replace(layout, members=tuple(replace(one, name=_word(one.name, declared)) for one in layout.members))

    moves = tuple(
        replace(
            move,
            member=_word(move.member, declared),
            after=move.after and _word(move.after, declared),
            partner=move.partner and _word(move.partner, declared),
            members=tuple(_word(name, declared) for name in move.members),
        )
        for move in candidate.moves
    )
    return replace(candidate, moves=moves, before=placed(candidate.before), after=placed(candidate.after))


def _word(name: str, declared: Collection[str]) -> str:
    """The name of one member in the source."""
    other = written_name(name)
    return other if name not in declared and other in declared else name
