# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies the moves of a candidate to the source text of a record: atoms change places, nothing else changes.

Each step happens in the innermost scope that holds all it names, so that nothing enters or leaves an ``#if`` block, a
cacheline group or an anonymous struct. Afterwards the body is in the order that the candidate wants, or it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.base.text import shortened
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Layout, Move, MoveKind, RefusalCode
from linesmith.patches.source import pieces
from linesmith.patches.source.atoms import Atom, AtomKind, MemberScope
from linesmith.patches.source.body import Body, Remarks, all_members, apart, members, parsed, remarked
from linesmith.patches.source.macros import written_name
from linesmith.patches.source.records import RecordSpan, is_packed

Attributes = Mapping[int, str]
"""The attribute that aligns a member, by the number of bytes."""


def edit(
    origin: pieces.SourceText,
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
    return pieces.followed(body.origin.source, record, names, all_members(body.outer))


def check_record(origin: pieces.SourceText, record: RecordSpan) -> None:
    """Raises ``EditRefused`` for a record of which no member can move, whatever a candidate wants."""
    if record.kind != "struct":
        reason = f"{record.kind} {record.name} is no struct: order means nothing in it"
        raise origin.refuse(RefusalCode.NO_STRUCT, record.start, reason)
    if is_packed(origin.source, record):
        reason = f"{record.title} is packed, so no member is where its type would have it"
        raise origin.refuse(RefusalCode.PACKED, record.start, reason)


def _refuse_broken(origin: pieces.SourceText, outer: MemberScope, moves: Sequence[Move]) -> None:
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
    index = pieces.find(body.origin, inside, cut, move.member)
    attribute = spelling.get(move.align, f"__attribute__((aligned({move.align})))")
    cut[index] = pieces.with_attribute(body.origin, cut[index], move.member, attribute)
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


# One step of a candidate in the text of a body.

_SHOWN = 4
OTHER_CANDIDATE = "take another candidate with --candidate"
Names = tuple[str, ...]
_LOOSE = (AtomKind.LOOSE, AtomKind.FENCE)
_WHOLE = {
    AtomKind.CONDITIONAL: RefusalCode.CONDITIONAL,
    AtomKind.BIT_FIELDS: RefusalCode.BIT_FIELDS,
    AtomKind.GROUP: RefusalCode.GROUP,
}


def moved(body: Body, move: Move) -> Body:
    """The body with ``move.members`` behind each other behind ``move.after``; raises ``EditRefused``."""
    after = move.after
    for name in move.members or (move.member,):
        # Members that move as one may still lie in several atoms, with an #if block that is not compiled between them.
        done = after not in (move.after, None) and any(
            one.declares(name) and one.declares(after) for one in body.home.atoms
        )
        if name and not done:
            body = _put(body, name, after)
            after = name
    return body


def swapped(body: Body, member: str, partner: str) -> Body:
    """The body with the atoms of two members exchanged; raises ``EditRefused`` where they are in one."""
    both = member, partner
    for one in both:  # it stands for itself, between those in front of it and those behind it
        body = _split(body, body.common(both), one, lambda names, at: (names[:at], (names[at],), names[at + 1 :]))
    inside = body.common(both)
    cut = body.pieces(inside)
    for name in (member, partner):
        cut = pieces.heading_apart(cut, pieces.find(body.origin, inside, cut, name), body.headings)
    first, second = (pieces.find(body.origin, inside, cut, name) for name in (member, partner))
    if first == second:
        raise _inseparable(body, cut[first], member, partner)
    _check_fences(body, cut[first], cut[second])
    cut[first], cut[second] = cut[second], cut[first]
    return body.rewritten(inside, cut)


def _split(body: Body, inside: MemberScope, member: str, runs: Callable[[Names, int], Sequence[Names]]) -> Body:
    """Takes the declaration of ``member`` in ``inside`` apart where it declares others too.

    ``runs`` are the names that stay together; it is given all of them and the place of ``member``. Raises
    ``EditRefused``.
    """
    cut = body.pieces(inside)
    index = pieces.find(body.origin, inside, cut, member)
    atom = cut[index].atom
    if atom.kind is not AtomKind.DECLARATION or member not in atom.names:
        return body
    parts = [run for run in runs(atom.names, atom.names.index(member)) if run]
    if len(parts) <= 1:
        return body
    written = zip(parts, apart(body.origin, cut[index], parts), strict=True)
    placed = [piece for run, piece in sorted(written, key=lambda one: atom.names.index(one[0][0]))]
    return body.rewritten(inside, [*cut[:index], *placed, *cut[index + 1 :]])


def whole(atom: Atom) -> RefusalCode:
    """The code for members that only move together."""
    return _WHOLE.get(atom.kind, RefusalCode.JOINT)


def _put(body: Body, member: str, after: str | None) -> Body:
    # One name leaves, the others stay one declaration; that which it goes behind ends one.
    body = _split(
        body, _meeting(body, member, after)[0], member, lambda names, at: (names[:at] + names[at + 1 :], (names[at],))
    )
    inside, other = _meeting(body, member, after)
    if other is not None:
        body = _split(body, inside, other, lambda names, at: (names[: at + 1], names[at + 1 :]))
    inside, after = _meeting(body, member, after)
    cut = body.pieces(inside)
    cut = pieces.heading_apart(cut, pieces.find(body.origin, inside, cut, member), body.headings)
    index = pieces.find(body.origin, inside, cut, member)
    if after is None:
        target = next((at for at, one in enumerate(cut) if one.atom.kind not in _LOOSE), 0)
    else:
        target = pieces.find(body.origin, inside, cut, after)
    if after is not None and target == index:
        raise _inseparable(body, cut[index], member, after)
    _check_fences(body, cut[index], cut[target])
    piece = cut[index]
    rest, gap = pieces.without_gap(cut, index)
    place = (target if after is None else target + 1) - (index < target)
    arrived = (piece, *gap) if after is None else (*gap, piece)
    return body.rewritten(inside, [*rest[:place], *arrived, *rest[place:]])


def _meeting(body: Body, member: str, after: str | None) -> tuple[MemberScope, str | None]:
    """The scope in which ``member`` comes behind ``after``, and behind what there; ``None`` is the scope's front."""
    if after is None:
        return _front(body.home, member), None
    inside = body.common((member, after))
    named = [atom for atom in inside.atoms if atom.names or atom.inner]
    first, second = ([at for at, atom in enumerate(named) if atom.declares(name)] for name in (after, member))
    # A group is named after the mark that begins it.
    begins = first and named[first[0]].kind is AtomKind.GROUP and named[first[0]].names[0] == after
    if first and second and (second[0] == first[0] + 1 or begins):
        # The block that holds the member is in its place: within, the member comes to the front.
        deeper = _declaring(named[second[0]], member)
        return (inside, after) if deeper is None else (_front(deeper, member), None)
    return inside, after


def _front(inside: MemberScope, member: str) -> MemberScope:
    """Where a member comes to the front: in the block that begins the scope, when it is in there."""
    first = next((atom for atom in inside.atoms if atom.kind not in _LOOSE), None)
    deeper = _declaring(first, member) if first else None
    return _front(deeper, member) if deeper else inside


def _declaring(atom: Atom, member: str) -> MemberScope | None:
    """The only scope of ``atom`` that declares ``member``."""
    found = [one for one in atom.scopes if any(inner.declares(member) for inner in one.atoms)]
    return found[0] if len(found) == 1 else None


def _inseparable(body: Body, piece: pieces.SourcePiece, member: str, other: str) -> EditRefused:
    reason = f"`{member}` and `{other}` are in {piece.atom.kind.value} and move as one"
    return body.origin.refuse(whole(piece.atom), piece.atom.start, reason, OTHER_CANDIDATE)


def _check_fences(body: Body, piece: pieces.SourcePiece, target: pieces.SourcePiece) -> None:
    if piece.atom.region != target.atom.region:
        name = (*piece.names, *piece.atom.inner)[0]
        reason = f"`{name}` would pass {AtomKind.FENCE.value} (private:, public: or a randomized range)"
        raise body.origin.refuse(RefusalCode.MARKER, piece.atom.start, reason, OTHER_CANDIDATE)


def check_order(before: Body, body: Body, candidate: Candidate) -> None:
    """The members known from DWARF must come out in the candidate's order; what came along shows up here."""
    order = members(body.home)
    wanted = [member.name for member in candidate.after.members if member.name in order]
    got = [name for name in order if name in wanted]
    if got == wanted:
        return
    for move in candidate.moves:
        for name in (move.member, move.partner or move.after):
            _refuse_companions(before, candidate, name)
    name = next(mine for mine, theirs in zip(got, wanted, strict=False) if mine != theirs)
    reason = f"the tree orders the members of {body.record.title} in another way than the ELF file (see `{name}`)"
    lift = "use an ELF file built from this tree"
    raise before.origin.refuse(RefusalCode.OTHER_ORDER, before.record.start, reason, lift)


def _refuse_companions(body: Body, candidate: Candidate, name: str | None) -> None:
    known = {member.name for member in candidate.before.members if member.name}
    atom = next((one for one in body.home.atoms if name in one.names), None)
    others = [f"`{other}`" for other in atom.names if other in known and other != name] if atom else []
    if atom and others:
        reason = f"`{name}` is in {atom.kind.value} with {shortened(others, _SHOWN)}, which can only move together"
        raise body.origin.refuse(whole(atom), atom.start, reason, OTHER_CANDIDATE)


def check_bit_fields(before: Body, body: Body, candidate: Candidate) -> None:
    """Refuses bit-fields next to each other that were not: they would be written as one (C11 3.14p3)."""
    compiled = [member.name for member in candidate.before.members]
    known = {*_neighbours(before.outer), *pairwise(compiled)}
    for first, second in _neighbours(body.outer):
        if (first, second) not in known:
            reason = f"the bit-fields `{first}` and `{second}` would come next to each other and share memory"
            place = next(atom.start for atom in before.innermost(second).atoms if atom.declares(second))
            raise before.origin.refuse(RefusalCode.BIT_FIELDS, place, reason, OTHER_CANDIDATE)


def _neighbours(inside: MemberScope) -> Iterator[tuple[str, str]]:
    """Names of bit-fields that follow each other with no other member between, in a scope and in those within."""
    named = [(name, atom.kind is AtomKind.BIT_FIELDS) for atom in inside.atoms for name in (*atom.names, *atom.inner)]
    for (first, one), (second, other) in pairwise(named):
        if one and other:
            yield first, second
    for atom in inside.atoms:
        for deeper in atom.scopes:
            yield from _neighbours(deeper)
