# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change adds to a body: attributes, padding in front of a member, marks around a group, in a tree's own words.

Padding and marks are members without size. A candidate speaks of members as DWARF does; where a macro gives them
others in the source, it is put in the words of the source.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Layout, Move, MoveKind, RefusalCode
from linesmith.patches.edit.moves import before, split
from linesmith.patches.source.atoms import AtomKind
from linesmith.patches.source.body import Body, indentation
from linesmith.patches.source.macros import written_name
from linesmith.patches.source.pieces import SourcePiece, find
from linesmith.patches.source.tree import source_bytes

_CACHE_HEADER = "include/linux/cache.h"
_PADDING = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w*PADDING)\((\w+)\)[ \t]+struct[ \t]+\w+[ \t]+\2(;?)", re.MULTILINE
)
_MARKERS = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+__cacheline_group_begin\(", re.MULTILINE)
_PLAIN_ATTRIBUTE = "__attribute__((aligned({})))"


_EDGES = ("begin", "end")


@dataclass(frozen=True, slots=True)
class AddedText:
    """One way to write what a candidate asks for.

    ``alignments`` has the attribute for each number of bytes, ``padding`` a statement with ``{}`` for the name;
    ``markers`` says that there are ``__cacheline_group_begin()`` and its end.
    """

    alignments: Mapping[int, str] = field(default_factory=dict)
    padding: str = ""
    markers: bool = False

    def attribute(self, align: int) -> str:
        """The attribute that aligns a member to ``align`` bytes."""
        return self.alignments.get(align, _PLAIN_ATTRIBUTE.format(align))

    def pad(self, name: str, align: int) -> str:
        """The declaration of a member without size that begins at a multiple of ``align`` bytes."""
        if self.padding and align == CACHE_LINE_BYTES:
            return self.padding.format(name)
        return f"char {name}[0] {self.attribute(align)};"


def spellings(moves: Sequence[Move], root: Path, source: bytes, *, kernel: bool) -> tuple[AddedText, ...]:
    """Ways to write what ``moves`` ask for in the text of a file of the tree at ``root``, to try in order.

    They use the macros that the file defines itself, and in a ``kernel`` those of linux/cache.h. A header can use
    ``____cacheline_aligned_in_smp`` only where it sees that; compiling shows whether it does.
    """
    common = (source_bytes(root, _CACHE_HEADER) or b"") if kernel else b""
    match = _PADDING.search(source) or _PADDING.search(common)
    padding = f"{match[1].decode()}({{}}){'' if match[3] else ';'}" if match else ""
    markers = bool(_MARKERS.search(source) or _MARKERS.search(common))
    if not kernel:
        return (AddedText({}, padding, markers),)
    plain = {move.align: f"__aligned({move.align})" for move in moves if move.align}
    last = AddedText(plain, "", markers)
    if CACHE_LINE_BYTES not in plain:
        return (last,)
    in_smp = {**plain, CACHE_LINE_BYTES: "____cacheline_aligned_in_smp"}
    ways = (AddedText(in_smp, "", markers), last)
    macro = padding and any(move.kind is MoveKind.PAD for move in moves)
    return (AddedText(in_smp, padding, markers), *ways) if macro else ways


def with_padding(body: Body, move: Move, spelling: AddedText) -> Body:
    """The body with a padding ``move.member`` in front of ``move.partner``; raises ``EditRefused``."""
    member = move.partner or ""
    body = split(body, body.innermost(member), member, before)
    inside = body.innermost(member)
    cut = body.pieces(inside)
    index = find(body.origin, inside, cut, member)
    declared = spelling.pad(move.member, move.align or CACHE_LINE_BYTES)
    return body.rewritten(inside, [*cut[:index], _line(cut[index], declared), *cut[index:]])


def marked(body: Body, move: Move, spelling: AddedText) -> Body:
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


def _check_adjacent(body: Body, cut: Sequence[SourcePiece], members: Sequence[str]) -> None:
    for piece in cut:
        names = (*piece.names, *piece.atom.inner)
        if names and not any(piece.atom.declares(name) for name in members):
            reason = f"`{names[0]}` stands among the members of the group"
            raise body.origin.refuse(RefusalCode.NOT_ADJACENT, piece.atom.start, reason, "name it too")
        if piece.atom.kind is AtomKind.FENCE:
            reason = f"{AtomKind.FENCE.value} stands among the members of the group"
            raise body.origin.refuse(RefusalCode.MARKER, piece.atom.start, reason)


def _line(beside: SourcePiece, statement: str) -> SourcePiece:
    """A line of its own with the indentation and the end of line of ``beside``."""
    ending = b"\r\n" if beside.text.endswith(b"\r\n") else b"\n"
    return SourcePiece(indentation(beside.text) + statement.encode() + ending)


def spelt(candidate: Candidate, declared: Collection[str]) -> Candidate:
    """``candidate`` with the names that are not among the ``declared`` members in the words of the source."""

    def placed(layout: Layout) -> Layout:
        return replace(layout, members=tuple(replace(one, name=word(one.name, declared)) for one in layout.members))

    moves = tuple(
        replace(
            move,
            member=word(move.member, declared),
            after=move.after and word(move.after, declared),
            partner=move.partner and word(move.partner, declared),
            members=tuple(word(name, declared) for name in move.members),
        )
        for move in candidate.moves
    )
    return replace(candidate, moves=moves, before=placed(candidate.before), after=placed(candidate.after))


def word(name: str, declared: Collection[str]) -> str:
    """The name of one member in the source."""
    other = written_name(name)
    return other if name not in declared and other in declared else name
