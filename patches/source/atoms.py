# SPDX-License-Identifier: GPL-2.0-or-later
"""Splits the body of a record into atoms: whole source lines that move as one.

An atom is a declaration with its leading and trailing comments, a whole ``#if`` … ``#endif``, a run of
bit-fields, or a range between cacheline group markers. What stays where it is: comments with a blank line behind them
or about several members, which are loose atoms, and blank and other preprocessor lines, which are in no atom.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce

from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.records import Declarator, Node, RecordSpan, body

# A comment above a member that is about a section of the record. Only its words count, so that a record that is cut
# into atoms again after a change is cut in the same way.
_OF_SECTION = re.compile(
    rb"""\A[/*\s]*(?:
         [-=\#~]{2,}                                                     # -- hardware --
       | \*{4,}
       | (?:all\s+|the\s+)*(?:following|below|next|last|first)\s+(?:are|two|three|four|few|several|fields|members)\b
       | these\b
       | (?:the\s+|all\s+)?(?:fields|members)\s+(?:below|only|used|which|that|to|for|with|protected|enclosed|are|not)\b
       | (?:[\w/-]+\s+){0,4}(?:fields|members)[.:]?\s*(?:\*/|\Z)         # read-mostly fields
       )
       | [-=\#~]{3,}\s*\*/\s*\Z""",
    re.IGNORECASE | re.VERBOSE,
)


_GROUP_EDGE = re.compile(rb"\b__cacheline_group_(begin|end)(\w*)\s*\(\s*(\w+)")
_FENCE_MACRO = re.compile(rb"\A\s*randomized_struct_fields_(?:start|end)\b")
# A comment on its own line that stands this many columns further right belongs to the declaration above.
_DEEPER = 8
_FENCE_COMMENT = re.compile(rb"\A/\*+\s*(?:private|public):")


class AtomKind(StrEnum):
    """What an atom is made of; the value completes "it belongs to …"."""

    DECLARATION = "a declaration"
    CONDITIONAL = "an #if block"
    BIT_FIELDS = "a run of bit-fields"
    GROUP = "a cacheline group"
    FENCE = "a marker that members must not pass"
    LOOSE = "text that no member owns"
    BROKEN = "text that the C grammar does not know"


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration inside an atom; ``start`` and ``end`` (behind the semicolon) are offsets in the file."""

    start: int
    end: int
    declarators: tuple[Declarator, ...]


@dataclass(frozen=True, slots=True)
class Atom:
    """Whole lines ``start`` … ``end`` (offsets in the file) of one body.

    ``names`` are the members declared, ``inner`` those of parts without a name in it. ``region`` is equal for atoms
    that no fence keeps apart. ``scopes`` hold members that can move among themselves: those of an anonymous struct,
    of one arm of a conditional, of a group between its markers.
    """

    kind: AtomKind
    start: int
    end: int
    names: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    region: int = 0
    scopes: tuple[MemberScope, ...] = ()

    def declares(self, name: str) -> bool:
        """Whether ``name`` is one of the members, be it through an anonymous record."""
        return name in self.names or name in self.inner


@dataclass(frozen=True, slots=True)
class MemberScope:
    """A body and its atoms in order; atoms that lie on the lines of the braces cannot be cut out of them.

    ``start`` … ``end`` are the whole lines between the braces, directives or markers.
    """

    start: int
    end: int
    atoms: tuple[Atom, ...]


def scope(source: bytes, record: RecordSpan) -> tuple[MemberScope, bool]:
    """The atoms of the record's body, and whether the grammar took the body whole.

    There are none in a body that is ``unreadable``, or in which declarators nest deeper than anybody writes.
    """
    nodes, sound = body(source, record)
    try:
        return _scope(source, record.opening, record.closing, nodes), sound
    except RecursionError:
        return _scope(source, record.opening, record.closing, ()), False


def line_number(source: bytes, offset: int) -> int:
    """The line of a file offset, counted from 1."""
    return source.count(b"\n", 0, offset) + 1


def _scope(source: bytes, opening: int, closing: int, nodes: Sequence[Node]) -> MemberScope:
    start, end = _line_end(source, opening), _line_start(source, closing)
    inside = list(nodes)
    while inside and inside[0].kind == "comment" and inside[0].start < start:  # it belongs to the line of the brace
        start = max(start, _line_end(source, inside.pop(0).end))
    single = [_atom(source, node) for node in inside]
    joined = _join(single, lambda last, atom: atom.start < last.end)
    joined = _join(joined, lambda last, atom: _is_continued(source, last, atom))
    joined = _join(joined, lambda last, atom: _is_headed(source, last, atom))
    joined = _join(joined, lambda last, atom: last.kind is atom.kind is AtomKind.BIT_FIELDS)
    return MemberScope(start, max(start, end), _fenced(source, _grouped(source, joined)))


def _atom(source: bytes, node: Node) -> Atom:
    start, end = _line_start(source, node.start), _line_end(source, node.end)
    bodies = node.arms(source) if node.is_conditional else node.nested_bodies(source)
    scopes = tuple(_scope(source, *edges_and_nodes) for edges_and_nodes in bodies)
    declared = (Declaration(node.start, node.end, node.declarators()),) if node.is_declaration else ()
    kind = _kind(source, node)
    if kind is AtomKind.FENCE:
        return Atom(kind, start, end)
    direct = (name for one in scopes for atom in one.atoms for name in atom.names) if node.is_conditional else ()
    declared_names = tuple(dict.fromkeys((*direct, *node.names())))
    return Atom(kind, start, end, declared_names, node.inner_names(), declared, scopes=scopes)


def _kind(source: bytes, node: Node) -> AtomKind:
    text = source[node.start : node.end]
    if _FENCE_MACRO.match(text) or (node.kind == "comment" and _FENCE_COMMENT.match(text)):
        return AtomKind.FENCE
    if node.kind == "ERROR" or (node.is_declaration and node.syntax.has_error):
        return AtomKind.BROKEN
    if node.is_conditional:
        return AtomKind.BROKEN if node.syntax.has_error else AtomKind.CONDITIONAL
    if not node.is_declaration:
        return AtomKind.LOOSE
    return AtomKind.BIT_FIELDS if node.is_bit_field(source) else AtomKind.DECLARATION


def _join(atoms: Sequence[Atom], belongs: Callable[[Atom, Atom], bool]) -> list[Atom]:
    joined: list[Atom] = []
    for atom in atoms:
        if joined and belongs(joined[-1], atom):
            joined[-1] = _merged(joined[-1], atom)
        else:
            joined.append(atom)
    return joined


def _merged(first: Atom, second: Atom) -> Atom:
    kinds = (first.kind, second.kind)
    order = (AtomKind.BROKEN, AtomKind.GROUP, AtomKind.CONDITIONAL, AtomKind.BIT_FIELDS, AtomKind.DECLARATION)
    kind = next((kind for kind in order if kind in kinds), second.kind)
    return Atom(
        kind,
        first.start,
        max(first.end, second.end),
        first.names + second.names,
        first.inner + second.inner,
        first.declarations + second.declarations,
        scopes=first.scopes + second.scopes,
    )


def _is_continued(source: bytes, last: Atom, atom: Atom) -> bool:
    """Whether a comment right below a declaration is about it: it stands further to the right than declarations do."""
    if atom.kind is not AtomKind.LOOSE or not last.declarations or atom.start != last.end:
        return False
    is_comment = source[atom.start : atom.end].lstrip().startswith((b"/*", b"//"))
    return is_comment and _is_deeper(source, atom.start, _line_start(source, last.declarations[-1].start))


def _is_headed(source: bytes, last: Atom, atom: Atom) -> bool:
    """Whether ``last`` is a comment right above the declaration ``atom`` (comments right above it included)."""
    if last.kind is not AtomKind.LOOSE or last.end != atom.start or atom.kind in (AtomKind.FENCE, AtomKind.BROKEN):
        return False
    text = source[last.start : last.end].strip()
    # What names a member with ``@`` is that one's.
    if not text.startswith((b"/*", b"//")) or (b"@" not in text and _OF_SECTION.search(text)):
        return False
    directive = source[atom.start : atom.end].lstrip().startswith(b"#")
    return directive or not _is_deeper(source, last.start, atom.start)


def _is_deeper(source: bytes, first: int, second: int) -> bool:
    """Whether the text of the line at ``first`` begins as far right of that at ``second`` as no heading does."""
    return _indentation(source, first) >= _indentation(source, second) + _DEEPER


def _grouped(source: bytes, atoms: Sequence[Atom]) -> list[Atom]:
    """Joins everything between ``__cacheline_group_begin(X)`` and its end."""
    grouped: list[Atom] = []
    opened: list[Atom] = []
    for atom in atoms:
        found = [_GROUP_EDGE.match(source, one.start) for one in atom.declarations]
        edges: list[tuple[bytes, bytes]] = []
        for edge in found:
            if edge:
                # An aligned end declares a padding, too. Source: include/linux/cache.h.
                kinds = (b"end", b"pad") if (edge[1], edge[2]) == (b"end", b"_aligned") else (edge[1],)
                edges += [(kind, edge[3]) for kind in kinds]
        if not opened and not edges:
            grouped.append(atom)
            continue
        if edges:
            # The marks are members that are called after the group and its edge.
            groups = {name.decode() for _, name in edges}
            marks = (f"__cacheline_group_{kind.decode()}__{name.decode()}" for kind, name in edges)
            names_ = (*(name for name in atom.names if name not in groups), *marks)
            atom = replace(atom, names=names_, kind=AtomKind.GROUP)
        opened.append(atom)
        if edges and edges[-1][0] in (b"end", b"pad"):
            grouped.append(_group(source, opened))
            opened = []
    return [*grouped, *([_group(source, opened)] if opened else [])]


def _group(source: bytes, atoms: Sequence[Atom]) -> Atom:
    """A group as one atom; what lies between the lines of its markers can be rearranged there."""
    whole = reduce(_merged, atoms)
    if len(atoms) <= 1:
        return whole
    inside = MemberScope(atoms[0].end, atoms[-1].start, _fenced(source, atoms[1:-1]))
    return replace(whole, scopes=(inside,))


def _fenced(source: bytes, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
    """Numbers the regions: one for each randomized range, with its private members (as kernel-doc counts) apart."""
    fenced: list[Atom] = []
    ranges = private = 0
    for atom in atoms:
        if atom.kind is AtomKind.FENCE:
            text = source[atom.start : atom.end]
            ranges += bool(_FENCE_MACRO.match(text))
            private = int(b"private:" in text)
        fenced.append(replace(atom, region=2 * ranges + private))
    return tuple(fenced)


def _line_start(source: bytes, offset: int) -> int:
    return source.rfind(b"\n", 0, offset) + 1


def _line_end(source: bytes, offset: int) -> int:
    end = source.find(b"\n", offset)
    return len(source) if end < 0 else end + 1


def _indentation(source: bytes, line: int) -> int:
    """The columns of the blanks that begin the line at ``line``."""
    text = source[line : _line_end(source, line)]
    return len(text[: len(text) - len(text.lstrip())].decode("utf-8", "replace").expandtabs(8))


def is_inseparable(declaration: bytes) -> bool:
    """Whether the names of a declaration move as one: it defines a record, has several lines, or comments between."""
    return b"{" in declaration or b"\n" in declaration or without_comments(declaration) != declaration


def inseparable_members(source: bytes, record: RecordSpan) -> tuple[tuple[str, ...], ...]:
    """Members that only move together: those of one ``#if`` block, group, run of bit-fields, or defined record."""
    found = []
    for atom in scope(source, record)[0].atoms:
        if atom.kind is AtomKind.DECLARATION:
            several = (one for one in atom.declarations if len(one.declarators) > 1)
            joint = any(is_inseparable(source[one.start : one.end]) for one in several)
        else:
            joint = atom.kind not in (AtomKind.LOOSE, AtomKind.FENCE) and len(atom.names) + len(atom.inner) > 1
        if joint:
            found.append((*atom.names, *atom.inner))
    return tuple(found)
