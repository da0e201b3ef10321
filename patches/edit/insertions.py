# SPDX-License-Identifier: GPL-2.0-or-later
"""Members without size that a change adds to a body: padding in front of a member, marks around a group."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Layout, Move, MoveKind, RefusalCode
from linesmith.patches.edit.moves import before, split
from linesmith.patches.source.atoms import Atom, AtomKind, Scope
from linesmith.patches.source.body import Body, indentation
from linesmith.patches.source.columns import Origin, Piece, find
from linesmith.patches.source.macros import written_name
from linesmith.patches.source.tree import source_bytes

# How alignments, padding and marks of groups are written in a tree.

_CACHE_HEADER = "include/linux/cache.h"
_PADDING = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w*PADDING)\((\w+)\)[ \t]+struct[ \t]+\w+[ \t]+\2(;?)", re.MULTILINE
)
_MARKERS = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+__cacheline_group_begin\(", re.MULTILINE)
_PLAIN_ATTRIBUTE = "__attribute__((aligned({})))"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a file can use: attributes of the ``kernel``, and a statement for ``padding`` with ``{}`` for the name.

    ``markers`` tells that there are ``__cacheline_group_begin()`` and its end.
    """

    kernel: bool = False
    padding: str = ""
    markers: bool = False


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write what a candidate asks for.

    ``alignments`` has the attribute for each number of bytes, ``padding`` a statement with ``{}`` for the name.
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


def vocabulary(root: Path, source: bytes, *, kernel: bool) -> Vocabulary:
    """The words that a file of the tree at ``root`` has: those it defines itself, and those of a kernel."""
    common = (source_bytes(root, _CACHE_HEADER) or b"") if kernel else b""
    match = _PADDING.search(source) or _PADDING.search(common)
    padding = f"{match[1].decode()}({{}}){'' if match[3] else ';'}" if match else ""
    return Vocabulary(kernel, padding, bool(_MARKERS.search(source) or _MARKERS.search(common)))


def spellings(moves: Sequence[Move], words: Vocabulary) -> tuple[Spelling, ...]:
    """Ways to write what ``moves`` ask for, to try in order.

    A header can use ``____cacheline_aligned_in_smp`` only where it sees linux/cache.h; compiling tells.
    """
    wanted = sorted({move.align for move in moves if move.align})
    if not words.kernel:
        return (Spelling({}, words.padding, words.markers),)
    plain = {align: f"__aligned({align})" for align in wanted}
    last = Spelling(plain, "", words.markers)
    if CACHE_LINE_BYTES not in plain:
        return (last,)
    in_smp = {**plain, CACHE_LINE_BYTES: "____cacheline_aligned_in_smp"}
    ways = [Spelling(in_smp, "", words.markers), last]
    macro = words.padding and any(move.kind is MoveKind.PAD for move in moves)
    return tuple([Spelling(in_smp, words.padding, words.markers)] * bool(macro) + ways)


_IF = re.compile(rb"^[ \t]*#[ \t]*if[^\n]*\n(?:(?<=\\\n)[^\n]*\n)*", re.MULTILINE)
_SHUFFLED = b"__randomize_layout"
_EDGES = ("begin", "end")


def with_padding(body: Body, move: Move, spelling: Spelling) -> Body:
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


# A candidate in the names of the source, where a macro gives members others than the compiler knows.


def spelt(candidate: Candidate, declared: Collection[str]) -> Candidate:
    """``candidate`` with the names that are not among the ``declared`` members in the words of the source."""
    return replace(
        candidate,
        moves=tuple(_move(move, declared) for move in candidate.moves),
        before=_layout(candidate.before, declared),
        after=_layout(candidate.after, declared),
    )


def word(name: str, declared: Collection[str]) -> str:
    """The name of one member in the source."""
    other = written_name(name)
    return other if name not in declared and other in declared else name


def _move(move: Move, declared: Collection[str]) -> Move:
    return replace(
        move,
        member=word(move.member, declared),
        after=word(move.after, declared) if move.after else move.after,
        partner=word(move.partner, declared) if move.partner else move.partner,
        members=tuple(word(name, declared) for name in move.members),
    )


def _layout(layout: Layout, declared: Collection[str]) -> Layout:
    members = tuple(replace(one, name=word(one.name, declared)) for one in layout.members)
    return replace(layout, members=members)
