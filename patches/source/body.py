# SPDX-License-Identifier: GPL-2.0-or-later
"""A record's body in the text of its file, cut anew into atoms after each change.

A declaration of several members can be taken apart (``int a, b, c;`` as ``int a, c;`` and ``int b;``), and members get
comments that say why they stand where they do, written as the file writes its own.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.model import RefusalCode
from linesmith.patches.source.atoms import AtomKind, Declaration, MemberScope, is_inseparable, scope
from linesmith.patches.source.pieces import Heading, SourcePiece, SourceText, find, headings, pieces, width
from linesmith.patches.source.records import Declarator, RecordSpan

WIDTH = 80
Remarks = Mapping[str, str]
"""A sentence for each of the members that get one."""

_OWN_FIRST = "give it a declaration of its own first"
_BLOCK = re.compile(rb"^[ \t]*/\*+[ \t]*\r?\n", re.MULTILINE)
_TEXT_FIRST = re.compile(rb"^[ \t]*/\*+[ \t]+\S(?![^\n]*\*/)", re.MULTILINE)
_LINE = re.compile(rb"^[ \t]*//|;[ \t]*//", re.MULTILINE)
_ANY = re.compile(rb"/\*")
# Networking code of Linux has text on the first line (checkpatch.pl, NETWORKING_BLOCK_COMMENT_STYLE).
_NETWORKING = ("net/", "drivers/net/")
# Several lines of comment right above, a star in front of each; what kernel-doc collects is left to it.
_OWN_BLOCK = re.compile(rb"/\*(?!\*)[^\n]*\n(?:[ \t]*\*(?!/)[^\n]*\n)+(?P<end>)[ \t]*\*/[ \t]*\r?\n\Z")


@dataclass(frozen=True, slots=True)
class Body:
    """A record in its file. ``outer`` is what lies between its braces; ``sound`` tells that the grammar took it whole.

    ``anchors`` are members of the anonymous struct that the change is about, empty where it is about the record;
    ``headings`` the comments that stay when the member below them leaves, as the body was before any change.
    """

    origin: SourceText
    record: RecordSpan
    outer: MemberScope
    sound: bool
    anchors: frozenset[str] = frozenset()
    headings: frozenset[Heading] = frozenset()

    @property
    def home(self) -> MemberScope:
        """The scope that the change is about: ``outer``, or the anonymous struct that declares most of ``anchors``."""
        return max(_scopes(self.outer), key=lambda one: _declared(one, self.anchors)) if self.anchors else self.outer

    def common(self, names: Collection[str]) -> MemberScope:
        """The innermost scope in which all of ``names`` are declared, and in no other one next to it."""
        inside, atom = self.home, None
        while len(names) > 1:
            atom = next((one for one in inside.atoms if all(one.declares(name) for name in names)), None)
            deeper = [one for one in atom.scopes if _declared(one, names) == len(names)] if atom else []
            # Two arms that declare all of them are for two configurations: which is meant, the text does not say.
            if len(deeper) != 1:
                break
            inside = deeper[0]
        return inside

    def innermost(self, name: str) -> MemberScope:
        """The deepest scope that declares ``name`` once; ``home`` where none does."""
        inside = self.home
        while len(deeper := [one for atom in inside.atoms for one in atom.scopes if _declared(one, (name,))]) == 1:
            inside = deeper[0]
        return inside

    def rewritten(self, inside: MemberScope, cut: Sequence[SourcePiece]) -> Body:
        """The body with the lines of ``inside`` replaced by those of ``cut``."""
        source = self.origin.source
        text = source[: inside.start] + b"".join(piece.text for piece in cut) + source[inside.end :]
        record = replace(self.record, closing=self.record.closing + len(text) - len(source))
        return replace(self, origin=SourceText(text, self.origin.file), record=record, outer=scope(text, record)[0])

    def pieces(self, inside: MemberScope) -> list[SourcePiece]:
        """The lines of ``inside`` as pieces; raises ``EditRefused`` where atoms lie on the lines of its edges."""
        return pieces(self.origin, inside)


def parsed(origin: SourceText, record: RecordSpan, anchors: frozenset[str] = frozenset()) -> Body:
    """The body of ``record`` as the file has it."""
    outer, sound = scope(origin.source, record)
    return Body(origin, record, outer, sound, anchors, frozenset(headings(origin.source, outer)))


def members(inside: MemberScope) -> tuple[str, ...]:
    """The direct members of a scope in the order of the text, each once."""
    return tuple(dict.fromkeys(name for atom in inside.atoms for name in atom.names))


def all_members(inside: MemberScope) -> tuple[str, ...]:
    """Direct members and those of anonymous records, in the order of the text, each once."""
    names: dict[str, None] = {}
    for atom in inside.atoms:
        for one in atom.scopes:
            names.update(dict.fromkeys(all_members(one)))
        names.update(dict.fromkeys((*atom.names, *atom.inner)))
    return tuple(names)


def _declared(inside: MemberScope, names: Collection[str]) -> int:
    return sum(any(atom.declares(name) for atom in inside.atoms) for name in names)


def _scopes(inside: MemberScope) -> Iterator[MemberScope]:
    """All scopes within, the inner ones first."""
    for atom in inside.atoms:
        for one in atom.scopes:
            yield from _scopes(one)
    yield inside


def apart(origin: SourceText, piece: SourcePiece, runs: Sequence[Sequence[str]]) -> list[SourcePiece]:
    """``piece`` as one declaration for each of ``runs``, which hold all its names in the order of the source.

    The longest run keeps the comments above and behind. Raises ``EditRefused`` where the piece is more than one
    declaration, or that defines a record, has several lines or comments between its names.
    """
    atom = piece.atom
    if atom.kind is not AtomKind.DECLARATION or len(atom.declarations) != 1:
        listed = ", ".join(f"`{name}`" for name in atom.names)
        raise origin.refuse(RefusalCode.JOINT, atom.start, f"{listed} are on one line", _OWN_FIRST)
    declaration = atom.declarations[0]
    text = piece.text[declaration.start - atom.start : declaration.end - atom.start]
    head = text[: declaration.declarators[0].start - declaration.start]
    if is_inseparable(text):
        first, *others = (f"`{name}`" for name in atom.names)
        reason = f"{first} is declared together with {', '.join(others)}"
        raise origin.refuse(RefusalCode.JOINT, declaration.start, reason, _OWN_FIRST)
    keeper = max(runs, key=len)
    return [_declaration_of(piece, head, run, keeper=run is keeper) for run in runs]


def _declaration_of(piece: SourcePiece, head: bytes, run: Sequence[str], *, keeper: bool) -> SourcePiece:
    """The declaration of the names in ``run``, as a piece whose offsets count from where ``piece`` began."""
    declaration, base = piece.atom.declarations[0], piece.atom.start
    front, tail = piece.text[: declaration.start - base], piece.text[declaration.end - base :]
    line = front[front.rfind(b"\n") + 1 :]
    before = front if keeper else line[: len(line) - len(line.lstrip())]
    text, places = before + head, list[Declarator]()
    for one in (part for part in declaration.declarators if part.name in run):
        text += b", " if places else b""
        start = base + len(text)
        text += piece.text[one.start - base : one.end - base]
        places.append(Declarator(one.name, start, base + len(text)))
    text += b";"
    written = Declaration(base + len(before), base + len(text), tuple(places))
    text += tail if keeper else b"\r\n" if tail.endswith(b"\r\n") else b"\n"
    return SourcePiece(text, replace(piece.atom, end=base + len(text), names=tuple(run), declarations=(written,)))


def remarked(body: Body, remarks: Remarks) -> Body:
    """The body with each of ``remarks`` right above its member; raises ``EditRefused`` where one is not written."""
    for member, sentence in remarks.items():
        inside = body.innermost(member)
        cut = body.pieces(inside)
        index = find(body.origin, inside, cut, member)
        cut[index] = _with_remark(body.origin, cut[index], member, sentence)
        body = body.rewritten(inside, cut)
    return body


def indentation(text: bytes) -> bytes:
    """The blanks in front of the first line that is no directive."""
    lines = text.splitlines(keepends=True)
    line = next((line for line in lines if not line.lstrip().startswith(b"#")), lines[0])
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _with_remark(origin: SourceText, piece: SourcePiece, member: str, sentence: str) -> SourcePiece:
    # The line that declares the member; the piece's first where it is in a block of several arms.
    known = piece.atom.declarations
    declared = [one for one in known if any(part.name == member for part in one.declarators)] or list(known)
    place = piece.text.rfind(b"\n", 0, declared[0].start - piece.atom.start) + 1 if declared else 0
    indent = indentation(piece.text[place:])
    ending = b"\r\n" if piece.text[place:].partition(b"\n")[0].endswith(b"\r") else b"\n"
    above = _OWN_BLOCK.search(piece.text[:place])
    column = width(indent)
    rows = [" *", *_wrapped(column, sentence)] if above else _rows(origin, column, sentence)
    place = above.start("end") if above else place
    text = b"".join(indent + row.encode() + ending for row in rows)
    return replace(piece, text=piece.text[:place] + text + piece.text[place:])


def _rows(origin: SourceText, column: int, sentence: str) -> list[str]:
    """The lines of a comment that says ``sentence``, without indentation."""
    source = origin.source
    if len(_LINE.findall(source)) > len(_ANY.findall(source)):
        return [f"//{row[2:]}" for row in _wrapped(column, sentence)]
    single = f"/* {sentence} */"
    if column + len(single) <= WIDTH:
        return [single]
    rows = _wrapped(column, sentence)
    if origin.file.startswith(_NETWORKING) or len(_TEXT_FIRST.findall(source)) > len(_BLOCK.findall(source)):
        return [f"/{rows[0][1:]}", *rows[1:], " */"]
    return ["/*", *rows, " */"]


def _wrapped(column: int, sentence: str) -> list[str]:
    """The lines between those that open and close a block comment."""
    return [f" * {row}" for row in textwrap.wrap(sentence, WIDTH - column - 3)]
