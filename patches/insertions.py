# SPDX-License-Identifier: GPL-2.0-or-later
"""Members without size that a change adds to a body: padding in front of a member, marks around a group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.model import CACHE_LINE_BYTES, Move, RefusalCode
from linesmith.patches.atoms import Atom, AtomKind, Scope
from linesmith.patches.body import Body
from linesmith.patches.moves import before, split
from linesmith.patches.pieces import Origin, Piece, find
from linesmith.patches.remarks import indentation
from linesmith.patches.spelling import Spelling

_IF = re.compile(rb"^[ \t]*#[ \t]*if[^\n]*\n(?:(?<=\\\n)[^\n]*\n)*", re.MULTILINE)
_SHUFFLED = b"__randomize_layout"
_EDGES = ("begin", "end")


def padded(body: Body, move: Move, spelling: Spelling) -> Body:
    """The body with a padding ``move.member`` in front of ``move.partner``; raises ``EditRefused``."""
    member = move.partner or ""
    body = split(body, body.innermost(member), member, before)
    inside = body.innermost(member)
    cut = body.pieces(inside)
    index = find(body.origin, inside, cut, member)
    declared = spelling.pad(move.member, move.align or CACHE_LINE_BYTES)
    return body.rewritten(inside, [*cut[:index], _line(cut[index], declared), *cut[index:]])


def marked(body: Body, move: Move, spelling: Spelling) -> Body:
    """The body with the group ``move.member`` marked around ``move.members``.

    Raises ``EditRefused`` where the tree has no such marks, or others stand among the members.
    """
    if not spelling.markers:
        reason = "the tree has no __cacheline_group_begin(), so a group cannot be marked"
        raise body.origin.refuse(RefusalCode.NO_MARKERS, body.record.start, reason, "leave the group out")
    inside = body.common(move.members)
    cut = body.pieces(inside)
    places = sorted({find(body.origin, inside, cut, name) for name in move.members})
    first, last = places[0], places[-1]
    _check_adjacent(body, cut[first : last + 1], move.members)
    begin, end = (_line(cut[first], f"__cacheline_group_{edge}({move.member});") for edge in _EDGES)
    return body.rewritten(inside, [*cut[:first], begin, *cut[first : last + 1], end, *cut[last + 1 :]])


def asserted(body: Body, move: Move) -> Body:
    """The file with assertions behind the record that the members of a marked group lie between the marks.

    A group in the first arm of an ``#if`` is asserted within the same directive. Nothing is asserted of other members
    that a configuration may leave out, of bit-fields, which have no offset, and where a compiler may shuffle all.
    """
    source, end = body.origin.source, body.record.closing
    place = source.find(b"\n", source.find(b";", end)) + 1 or len(source)
    if _SHUFFLED in source[body.record.start : body.record.opening] + source[end:place]:
        return body
    begin, stop = (f"__cacheline_group_{edge}__{move.member}" for edge in _EDGES)
    directive = _directive(body, move.members)
    inside = body.common(move.members)
    plain = [name for atom in inside.atoms if atom.kind is AtomKind.DECLARATION for name in atom.names]
    names = [name for name in move.members if name in plain] if directive is not None else []
    rows = [row for name in names for row in (_assertion(body, begin, name), _assertion(body, name, stop))]
    if directive and rows:
        rows = [directive, *rows, b"#endif\n"]
    text = source[:place] + b"".join(rows) + source[place:]
    return replace(body, origin=Origin(text, body.origin.file))


def _directive(body: Body, members: Sequence[str]) -> bytes | None:
    """The ``#if`` line above the members, empty where there is none; ``None`` where it is not that alone."""
    around = [atom for atom in _conditionals(body.outer) if all(name in atom.names for name in members)]
    if not around:
        return b""
    arm = around[0].scopes[0]
    found = _IF.search(body.origin.source, around[0].start, arm.start)
    first = all(any(atom.declares(name) for atom in arm.atoms) for name in members)
    return found[0] if found and first and len(around) == 1 else None


def _conditionals(inside: Scope) -> Iterator[Atom]:
    for atom in inside.atoms:
        if atom.kind is AtomKind.CONDITIONAL:
            yield atom
        for deeper in atom.scopes:
            yield from _conditionals(deeper)


def _assertion(body: Body, first: str, second: str) -> bytes:
    title = body.record.title
    return f"static_assert(offsetof({title}, {first}) <=\n\t      offsetof({title}, {second}));\n".encode()


def _check_adjacent(body: Body, cut: Sequence[Piece], members: Sequence[str]) -> None:
    for piece in cut:
        names = (*piece.names, *piece.atom.inner)
        if names and not any(piece.atom.declares(name) for name in members):
            reason = f"`{names[0]}` stands among the members of the group"
            raise body.origin.refuse(RefusalCode.NOT_ADJACENT, piece.atom.start, reason, "name it too")
        if piece.atom.kind is AtomKind.FENCE:
            reason = f"{AtomKind.FENCE.value} stands among the members of the group"
            raise body.origin.refuse(RefusalCode.MARKER, piece.atom.start, reason)


def _line(beside: Piece, statement: str) -> Piece:
    """A line of its own with the indentation and the end of line of ``beside``."""
    ending = b"\r\n" if beside.text.endswith(b"\r\n") else b"\n"
    return Piece(indentation(beside.text) + statement.encode() + ending)
