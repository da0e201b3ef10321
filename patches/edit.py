# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies the moves of a candidate to the source text of a record: atoms change places, nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Candidate, Move, MoveKind, RefusalCode
from linesmith.patches.atoms import Atom, AtomKind, Scope, scope
from linesmith.patches.pieces import Origin, Piece, find, pieces, split, with_attribute
from linesmith.patches.records import Record
from linesmith.patches.spelling import Spelling

_SHOWN = 4
_OTHER_CANDIDATE = "take another candidate with --candidate"
_WHOLE = {
    AtomKind.CONDITIONAL: RefusalCode.CONDITIONAL,
    AtomKind.BIT_FIELDS: RefusalCode.BIT_FIELDS,
    AtomKind.GROUP: RefusalCode.GROUP,
}


@dataclass(frozen=True, slots=True)
class Edit:
    """The whole file after the edit; ``order`` is the order of the record's direct members then."""

    source: bytes
    order: tuple[str, ...]


def edit(origin: Origin, record: Record, candidate: Candidate, spelling: Spelling | None = None) -> Edit:
    """The file with the candidate's moves made; ``spelling`` has the attributes that alignments are written as.

    Raises ``EditRefused`` with place and reason where whole atoms cannot do it, or would carry other members along.
    """
    if record.kind != "struct":
        reason = f"{record.kind} {record.name} is no struct: order means nothing in it"
        raise origin.refuse(RefusalCode.NO_STRUCT, record.start, reason)
    outer, sound = scope(origin.source, record)
    if not sound and any(atom.kind is AtomKind.BROKEN for atom in outer.atoms):
        _refuse_broken(origin, outer, candidate.moves)
    inner = _scope_of(outer, candidate.moves)
    cut = pieces(origin, inner)
    for move in candidate.moves:
        cut = _made(origin, inner, cut, move, spelling or {})
    text = origin.source[: inner.start] + b"".join(piece.text for piece in cut) + origin.source[inner.end :]
    order = tuple(name for piece in cut for name in piece.names)
    if inner is outer:
        _check_order(origin, record, candidate, cut)
    return Edit(text, order)


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


def _scope_of(outer: Scope, moves: Sequence[Move]) -> Scope:
    """The body in which the moves happen: that of an anonymous struct when it holds all the members named."""
    named = {name for move in moves for name in (move.member, move.after, move.partner) if name}
    for atom in outer.atoms:
        if len(named) > 1 and all(name in atom.inner for name in named):
            inside = [one for one in atom.scopes if all(any(a.declares(n) for a in one.atoms) for n in named)]
            return _scope_of(inside[0], moves) if inside else outer
    return outer


def _made(origin: Origin, body: Scope, cut: list[Piece], move: Move, spelling: Spelling) -> list[Piece]:
    if move.kind is MoveKind.SWAP and move.partner is not None:
        cut = _swapped(origin, body, cut, move.member, move.partner)
    elif move.kind is not MoveKind.ALIGN:
        cut = _put_behind(origin, body, cut, move)
    if move.align is None:
        return cut
    attribute = spelling.get(move.align, f"__attribute__((aligned({move.align})))")
    return _aligned(origin, body, cut, move, attribute)


def _put_behind(origin: Origin, body: Scope, cut: list[Piece], move: Move) -> list[Piece]:
    after = move.after
    for name in move.members or (move.member,):
        # Members that move as one may still lie in several atoms, with an #if block that is not compiled between them.
        done = after != move.after and after is not None and _together(cut, name, after)
        if name and not done:
            cut = _moved(origin, body, cut, name, after)
            after = name
    return cut


def _together(cut: Sequence[Piece], first: str, second: str) -> bool:
    return any(piece.atom.declares(first) and piece.atom.declares(second) for piece in cut)


def _aligned(origin: Origin, body: Scope, cut: list[Piece], move: Move, attribute: str) -> list[Piece]:
    index = find(origin, body, cut, move.member)
    piece = with_attribute(origin, cut[index], move.member, attribute)
    return [*cut[:index], piece, *cut[index + 1 :]]


def _moved(origin: Origin, body: Scope, cut: list[Piece], member: str, after: str | None) -> list[Piece]:
    index = find(origin, body, cut, member)
    target = _first_atom(cut) if after is None else find(origin, body, cut, after)
    cut = _alone(origin, cut, index, member)
    index = find(origin, body, cut, member)
    if after is not None:
        target = find(origin, body, cut, after)
        if target == index:
            _refuse_same(origin, cut[index], member, after)
    _check_fences(origin, cut[index], cut[target])
    moved = cut.pop(index)
    place = (target if after is None else target + 1) - (index < target)
    return [*cut[:place], moved, *cut[place:]]


def _alone(origin: Origin, cut: list[Piece], index: int, member: str) -> list[Piece]:
    """Gives ``member`` a piece of its own when a plain declaration holds others too."""
    atom = cut[index].atom
    if atom.kind is not AtomKind.DECLARATION or len(atom.names) < 2 or member not in atom.names:
        return cut
    rest, alone = split(origin, cut[index], member)
    behind = member != atom.names[0]
    return [*cut[:index], *((rest, alone) if behind else (alone, rest)), *cut[index + 1 :]]


def _swapped(origin: Origin, body: Scope, cut: list[Piece], member: str, partner: str) -> list[Piece]:
    cut = _alone(origin, cut, find(origin, body, cut, member), member)
    cut = _alone(origin, cut, find(origin, body, cut, partner), partner)
    first, second = find(origin, body, cut, member), find(origin, body, cut, partner)
    if first == second:
        _refuse_same(origin, cut[first], member, partner)
    _check_fences(origin, cut[first], cut[second])
    cut = list(cut)
    cut[first], cut[second] = cut[second], cut[first]
    return cut


def _first_atom(cut: Sequence[Piece]) -> int:
    loose = (AtomKind.LOOSE, AtomKind.FENCE)
    return next((index for index, piece in enumerate(cut) if piece.atom.kind not in loose), 0)


def _refuse_same(origin: Origin, piece: Piece, member: str, other: str) -> None:
    reason = f"`{member}` and `{other}` are in {piece.atom.kind.value} and move as one"
    raise origin.refuse(_whole(piece.atom), piece.atom.start, reason, _OTHER_CANDIDATE)


def _whole(atom: Atom) -> RefusalCode:
    """The code for members that only move together."""
    return _WHOLE.get(atom.kind, RefusalCode.JOINT)


def _check_fences(origin: Origin, moved: Piece, target: Piece) -> None:
    if moved.atom.region != target.atom.region:
        name = (*moved.names, *moved.atom.inner)[0]
        reason = f"`{name}` would pass {AtomKind.FENCE.value} (private:, public: or a randomized range)"
        raise origin.refuse(RefusalCode.MARKER, moved.atom.start, reason, _OTHER_CANDIDATE)


def _check_order(origin: Origin, record: Record, candidate: Candidate, cut: Sequence[Piece]) -> None:
    """The members known from DWARF must come out in the candidate's order; what came along shows up here."""
    order = [name for piece in cut for name in piece.names]
    wanted = [member.name for member in candidate.after.members if member.name in order]
    got = list(dict.fromkeys(name for name in order if name in wanted))
    if got == wanted:
        return
    for move in candidate.moves:
        for name in (move.member, move.partner or move.after):
            _refuse_companions(origin, cut, candidate, name)
    name = next(mine for mine, theirs in zip(got, wanted, strict=False) if mine != theirs)
    reason = f"the tree orders the members of {record.title} in another way than the ELF file (see `{name}`)"
    raise origin.refuse(RefusalCode.OTHER_ORDER, record.start, reason, "use an ELF file built from this tree")


def _refuse_companions(origin: Origin, cut: Sequence[Piece], candidate: Candidate, name: str | None) -> None:
    known = {member.name for member in candidate.before.members if member.name}
    atom = next((piece.atom for piece in cut if name in piece.names), None)
    others = [f"`{other}`" for other in atom.names if other in known and other != name] if atom else []
    if atom and others:
        listed = ", ".join(others[:_SHOWN]) + (", …" if len(others) > _SHOWN else "")
        reason = f"`{name}` is in {atom.kind.value} with {listed}, which can only move together"
        raise origin.refuse(_whole(atom), atom.start, reason, _OTHER_CANDIDATE)
