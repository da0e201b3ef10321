# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings the members of a record into an order that is wanted, and takes it back to the byte.

The atoms that declare the members change places among themselves. Everything else stays where it is: blank lines,
comments of sections, directives, and blocks of which no member is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import RefusalCode
from linesmith.patches.edit.insertions import word
from linesmith.patches.source.atoms import Atom, AtomKind, Scope, scope
from linesmith.patches.source.body import Body, all_members, apart, parsed
from linesmith.patches.source.columns import Origin, Piece, find
from linesmith.patches.source.comments import followed
from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.records import Record

_SHOWN = 4
_MARK = re.compile(r"__cacheline_group_(begin|end|pad)__(\w+)")
_CODES = {
    AtomKind.CONDITIONAL: RefusalCode.CONDITIONAL,
    AtomKind.BIT_FIELDS: RefusalCode.BIT_FIELDS,
    AtomKind.GROUP: RefusalCode.GROUP,
}


@dataclass(frozen=True, slots=True)
class Torn:
    """Lines ``whole`` that declared several members, and the ``parts`` they were taken apart into."""

    whole: bytes
    parts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Undo:
    """What taking an order back needs to know: what was taken apart, and whether the comment above followed."""

    torn: tuple[Torn, ...] = ()
    described: bool = True


@dataclass(frozen=True, slots=True)
class Permuted:
    """The file in the new order; with the old order, ``undo`` gives the old bytes back."""

    source: bytes
    undo: Undo


_NOTHING = Undo()


def permuted(origin: Origin, record: Record, order: Sequence[str], undo: Undo = _NOTHING) -> Permuted:
    """The file with the members of ``record`` in ``order``.

    ``order`` names each member of one body once, an anonymous record by any member in it; a body is that of the record
    or of an anonymous struct in it. Members that it leaves out stay where they are. Entries of the comment above the
    record follow. Raises ``EditRefused`` with place and reason where whole atoms cannot come into that order.
    """
    if record.kind != "struct":
        reason = f"{record.kind} {record.name} is no struct; order means nothing in it"
        raise origin.refuse(RefusalCode.NO_STRUCT, record.start, reason)
    before = parsed(origin, record)
    declared = set(all_members(before.outer))
    names = [word(name, declared) for name in order]
    after, torn = _ordered(before, before.common(names), names, undo.torn)
    text = after.origin.source
    if undo.described:
        text = followed(text, record, all_members(before.outer), all_members(after.outer))
    return Permuted(text, Undo(torn, text != after.origin.source))


def blocks(source: bytes, record: Record) -> tuple[tuple[str, ...], ...]:
    """Members that only move together: those of one ``#if`` block, group, run of bit-fields, or defined record."""
    return tuple((*atom.names, *atom.inner) for atom in scope(source, record)[0].atoms if _is_block(source, atom))


def _is_block(source: bytes, atom: Atom) -> bool:
    if atom.kind is AtomKind.DECLARATION:
        heads = (source[one.start : one.declarators[0].start] for one in atom.declarations if one.declarators)
        return len(atom.names) > 1 and any(b"{" in without_comments(head) for head in heads)
    return atom.kind not in (AtomKind.LOOSE, AtomKind.FENCE) and len(atom.names) + len(atom.inner) > 1


def _ordered(body: Body, inside: Scope, order: Sequence[str], torn: Sequence[Torn]) -> tuple[Body, tuple[Torn, ...]]:
    """The body with the atoms of ``inside`` in ``order``, those of blocks in it too, and what had to be taken apart."""
    _refuse_broken(body.origin, inside)
    found: tuple[Torn, ...] = ()
    for run in _runs(body, inside, order):
        deeper = body.common(run)
        if deeper.start != inside.start:
            body, more = _ordered(body, deeper, run, torn)
            found += more
            inside = body.common(order)
    parted, more = _parted(body, inside, order)
    arranged = _mended(_arranged(body.origin, parted, order), torn)
    return body.rewritten(inside, arranged), found + more


def _refuse_broken(origin: Origin, inside: Scope) -> None:
    for atom in inside.atoms:
        if atom.kind is AtomKind.BROKEN:
            reason = "this text is not plain C, so the members around it cannot be moved safely"
            raise origin.refuse(RefusalCode.NOT_C, atom.start, reason)


def _runs(body: Body, inside: Scope, order: Sequence[str]) -> list[tuple[str, ...]]:
    """Members of blocks that follow each other in ``order``, where they do so in another order than now."""
    cut = body.pieces(inside)
    owners = [find(body.origin, inside, cut, name) for name in order]
    runs = []
    for owner, pairs in groupby(zip(owners, order, strict=True), key=lambda pair: pair[0]):
        names = tuple(name for _, name in pairs if not _MARK.fullmatch(name))
        if cut[owner].atom.scopes and len(list(_ascending(cut[owner], names))) > 1:
            runs.append(names)
    return runs


def _parted(body: Body, inside: Scope, order: Sequence[str]) -> tuple[list[Piece], tuple[Torn, ...]]:
    """The pieces of ``inside``, with declarations taken apart whose members ``order`` has apart."""
    cut = body.pieces(inside)
    owners = [find(body.origin, inside, cut, name) for name in order]
    runs: dict[int, list[tuple[str, ...]]] = {}
    for owner, pairs in groupby(zip(owners, order, strict=True), key=lambda pair: pair[0]):
        runs.setdefault(owner, []).extend(_ascending(cut[owner], [name for _, name in pairs]))
    parted: list[Piece] = []
    torn: list[Torn] = []
    for index, piece in enumerate(cut):
        own = sorted(runs.get(index, ()), key=lambda run: _place(piece, run[0]))
        if len(own) < 2:
            parted.append(piece)
            continue
        if piece.atom.kind is not AtomKind.DECLARATION:
            raise _together(body.origin, piece, own)
        parts = apart(body.origin, piece, own)
        torn.append(Torn(piece.text, tuple(part.text for part in parts)))
        parted += parts
    return parted, tuple(torn)


def _ascending(piece: Piece, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """``names`` cut wherever one is not behind the one ahead of it in the source."""
    run: list[str] = []
    if _has_choice(piece.atom, names):  # the order is that of the arm that is compiled, and stays
        yield tuple(names)
        return
    for name in names:
        if run and not _follows(piece, run[-1], name):
            yield tuple(run)
            run = []
        run.append(name)
    yield tuple(run)


def _has_choice(atom: Atom, names: Sequence[str]) -> bool:
    """Whether several arms of a block declare one of the names, so that the text does not say which one counts."""
    arms = [set(all_members(arm)) for arm in atom.scopes]
    return atom.kind is AtomKind.CONDITIONAL and any(sum(name in arm for arm in arms) > 1 for name in names)


def _follows(piece: Piece, first: str, second: str) -> bool:
    """Whether ``second`` comes behind ``first``, and in a declaration that could be taken apart right behind it."""
    if piece.atom.kind is AtomKind.DECLARATION and {first, second} <= set(piece.atom.names):
        return piece.atom.names.index(second) == piece.atom.names.index(first) + 1
    return _place(piece, first) < _place(piece, second)


def _place(piece: Piece, name: str) -> int:
    """Where a piece of several members declares ``name`` among them."""
    if name in piece.atom.names and not piece.atom.inner:
        return piece.atom.names.index(name)
    code = without_comments(piece.text)
    mark = _MARK.fullmatch(name)
    edge = "end" if mark and mark[1] == "pad" else mark[1] if mark else ""
    pattern = rf"\b__cacheline_group_{edge}\w*\s*\(\s*{mark[2]}\b" if mark else rf"\b{name}\b(?!\s*[*\w])"
    found = re.search(pattern.encode(), code)
    return (found.start() if found else len(code)) + (mark is not None and mark[1] == "pad")


def _together(origin: Origin, piece: Piece, runs: Sequence[Sequence[str]]) -> EditRefused:
    listed = ", ".join(f"`{name}`" for name in [run[0] for run in runs][:_SHOWN])
    reason = f"{listed} are in {piece.atom.kind.value} and move as one"
    return origin.refuse(_CODES.get(piece.atom.kind, RefusalCode.JOINT), piece.atom.start, reason)


def _arranged(origin: Origin, cut: Sequence[Piece], order: Sequence[str]) -> list[Piece]:
    """The pieces that declare what ``order`` names, in that order, among those that stay."""
    units = _units(cut, order)
    owners = [next(at for at, unit in enumerate(units) if _declares(unit, name)) for name in order]
    wanted = tuple(dict.fromkeys(owners))
    arranged = list(units)
    for slot, owner in zip(sorted(wanted), wanted, strict=True):
        moved = units[owner][0].atom
        if units[slot][0].atom.region != moved.region:
            name = order[owners.index(owner)]
            reason = f"`{name}` would pass {AtomKind.FENCE.value} (private:, public: or a randomized range)"
            raise origin.refuse(RefusalCode.MARKER, moved.start, reason)
        arranged[slot] = units[owner]
    _check_bit_fields(origin, units, arranged)
    return [piece for unit in arranged for piece in unit]


def _check_bit_fields(origin: Origin, before: Sequence[Sequence[Piece]], after: Sequence[Sequence[Piece]]) -> None:
    """Refuses two runs side by side that were not: they would share memory that is written at once (C11 3.14p3)."""
    known = [(one[-1], other[0]) for one, other in _runs_side_by_side(before)]
    for one, other in _runs_side_by_side(after):
        if (one[-1], other[0]) not in known:
            names = f"`{one[-1].names[-1]}` and `{other[0].names[0]}`"
            reason = f"the bit-fields {names} would come next to each other and share a storage unit"
            raise origin.refuse(RefusalCode.BIT_FIELDS, other[0].atom.start, reason)


def _runs_side_by_side(units: Sequence[Sequence[Piece]]) -> Iterator[tuple[Sequence[Piece], Sequence[Piece]]]:
    named = [unit for unit in units if any(piece.names or piece.atom.inner for piece in unit)]
    for one, other in pairwise(named):
        if one[-1].atom.kind is other[0].atom.kind is AtomKind.BIT_FIELDS:
            yield one, other


def _units(cut: Sequence[Piece], order: Sequence[str]) -> list[list[Piece]]:
    """The pieces; a run of bit-fields that directives or blocks without wanted members divide is one unit with them."""
    units: list[list[Piece]] = []
    waiting: list[Piece] = []
    for piece in cut:
        waiting.append(piece)
        if any(piece.atom.declares(name) for name in order) or piece.atom.kind is AtomKind.FENCE:
            if len(waiting) > 1 and units and _divided(units[-1], waiting, order):
                units[-1] += waiting
            else:
                units += [[one] for one in waiting]
            waiting = []
    return units + [[one] for one in waiting]


def _divided(unit: Sequence[Piece], following: Sequence[Piece], order: Sequence[str]) -> bool:
    """Whether ``following`` goes on with the bit-fields of ``unit``, behind what no wanted member is in."""
    first, last = unit[-1].atom, following[-1].atom
    if not first.kind is last.kind is AtomKind.BIT_FIELDS:
        return False
    place = min(order.index(name) for name in order if last.declares(name))
    return place > 0 and first.declares(order[place - 1])


def _declares(unit: Sequence[Piece], name: str) -> bool:
    return any(piece.atom.declares(name) for piece in unit)


def _mended(cut: Sequence[Piece], torn: Sequence[Torn]) -> list[Piece]:
    """``cut`` with declarations put together again whose parts follow each other in their old order."""
    mended = list(cut)
    for one in torn:
        count = len(one.parts)
        texts = [piece.text for piece in mended]
        place = next((at for at in range(len(texts)) if tuple(texts[at : at + count]) == one.parts), None)
        if place is not None:
            mended[place : place + count] = [Piece(one.whole)]
    return mended
