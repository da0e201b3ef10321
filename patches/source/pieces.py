# SPDX-License-Identifier: GPL-2.0-or-later
"""A body cut into pieces that can change places without losing a byte, and what follows a piece that moves.

- A comment that seems to head several members stays when the first of these leaves.
- The comment above the record that describes its members has its entries in their order. Plain comments that describe
  members as ``@name:`` are taken alike. Source: Documentation/doc-guide/kernel-doc.rst.
- Where two empty lines would meet, one of them goes along.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.source.atoms import Atom, AtomKind, MemberScope, line_number
from linesmith.patches.source.records import RecordSpan

TAB = 8
_BETWEEN = Atom(AtomKind.LOOSE, 0, 0)
_MOVABLE = (AtomKind.DECLARATION, AtomKind.CONDITIONAL, AtomKind.BIT_FIELDS, AtomKind.GROUP)
_COMMENT = (b"/*", b"//")
_FOLLOWERS = 2

Heading = tuple[bytes, str]
"""A line of comment, and the first member that it heads."""


@dataclass(frozen=True, slots=True)
class SourcePiece:
    """Whole lines: those of an atom, or what lies between two atoms (a loose atom without names then)."""

    text: bytes
    atom: Atom = _BETWEEN

    @property
    def names(self) -> tuple[str, ...]:
        """Members that the piece declares directly."""
        return self.atom.names


@dataclass(frozen=True, slots=True)
class SourceText:
    """Where pieces come from: the bytes of the file and the name that messages call it by."""

    source: bytes
    file: str

    def refuse(self, code: RefusalCode, offset: int, reason: str, lift: str = "") -> EditRefused:
        """The error for the line that holds ``offset``; ``lift`` is what a person can do about it."""
        return EditRefused(Refusal(code, self.place(offset), reason, lift))

    def place(self, offset: int) -> str:
        """``file:line`` of an offset."""
        return f"{self.file}:{line_number(self.source, offset)}"


def pieces(origin: SourceText, scope: MemberScope) -> list[SourcePiece]:
    """The lines of ``scope`` as pieces; their texts put together are the scope's."""
    cut: list[SourcePiece] = []
    position = scope.start
    for atom in scope.atoms:
        if atom.start < scope.start or atom.end > scope.end:
            reason = "a member shares its line with a brace of the record"
            raise origin.refuse(RefusalCode.BRACE_LINE, atom.start, reason, "give it its own line")
        if atom.start > position:
            cut.append(SourcePiece(origin.source[position : atom.start]))
        cut.append(SourcePiece(origin.source[atom.start : atom.end], atom))
        position = atom.end
    return [*cut, SourcePiece(origin.source[position : scope.end])]


def find(origin: SourceText, scope: MemberScope, cut: Sequence[SourcePiece], name: str) -> int:
    """Index of the piece that declares ``name``; raises ``EditRefused`` where it is no atom that can move."""
    found = [index for index, piece in enumerate(cut) if piece.atom.declares(name)]
    if not found:
        reason = (
            f"no declaration of `{name}` is written in the body: a macro expands to it, or the tree is another version"
        )
        raise origin.refuse(RefusalCode.NOT_WRITTEN, scope.start - 1, reason)
    atom = cut[found[0]].atom
    if len(found) > 1:
        reason = f"`{name}` is declared in several places of the body"
        raise origin.refuse(RefusalCode.DECLARED_TWICE, scope.start - 1, reason)
    if atom.kind not in _MOVABLE:
        raise origin.refuse(RefusalCode.NOT_C, atom.start, f"`{name}` belongs to {atom.kind.value}")
    return found[0]


def with_attribute(origin: SourceText, piece: SourcePiece, name: str, attribute: str) -> SourcePiece:
    """The piece with ``attribute`` behind the declarator of ``name``, which it then holds for alone.

    Raises ``EditRefused`` where the piece is no plain declaration. Source: GCC manual, 6.39 Attribute Syntax.
    """
    atom = piece.atom
    if atom.kind is not AtomKind.DECLARATION or name not in atom.names or len(atom.declarations) > 1:
        reason = f"`{name}` is not the only member of {atom.kind.value}, so it cannot be aligned by itself"
        raise origin.refuse(RefusalCode.NOT_ALONE, atom.start, reason, "give it a declaration of its own")
    declaration = atom.declarations[0]
    one = next(part for part in declaration.declarators if part.name == name)
    behind = declaration.end - 1 if one is declaration.declarators[-1] else one.end
    place = behind - atom.start
    return replace(piece, text=piece.text[:place] + b" " + attribute.encode() + piece.text[place:])


def headings(source: bytes, scope: MemberScope) -> Iterator[Heading]:
    """The lines of comment in a body that seem to head several members.

    Such a line stands alone behind an empty one, does not name the member below, and right below that at least two
    more follow that have no comment above them.
    """
    for index, atom in enumerate(scope.atoms):
        for inner in atom.scopes:
            yield from headings(source, inner)
        line = heading(source[atom.start : atom.end], atom)
        above = source[source.rfind(b"\n", 0, max(atom.start - 1, 0)) + 1 : atom.start]
        alone = atom.start == scope.start or not above.strip()
        if line and alone and _has_followers(source, scope.atoms[index:]):
            yield line, atom.names[0]


def heading(text: bytes, atom: Atom) -> bytes:
    """The one line of comment above a declaration; empty where there is none, or more, or it names a member."""
    if atom.kind is not AtomKind.DECLARATION or not atom.names or not _is_headed(text):
        return b""
    line, _, rest = text.partition(b"\n")
    whole = line.rstrip().endswith(b"*/") or line.lstrip().startswith(b"//")
    named = b"@" in line or any(re.search(rb"\b%b\b" % name.encode(), line) for name in atom.names)
    return line + b"\n" if whole and not named and not _is_headed(rest) else b""


def heading_apart(cut: Sequence[SourcePiece], index: int, known: frozenset[Heading]) -> list[SourcePiece]:
    """The pieces with the comment above the member of ``cut[index]`` apart, where it is one of ``known``."""
    piece = cut[index]
    line = heading(piece.text, piece.atom)
    if not line or (line, piece.names[0]) not in known:
        return list(cut)
    atom = replace(piece.atom, start=piece.atom.start + len(line))
    return [*cut[:index], SourcePiece(line), SourcePiece(piece.text[len(line) :], atom), *cut[index + 1 :]]


def _is_headed(text: bytes) -> bool:
    return text.lstrip().startswith(_COMMENT)


def _has_followers(source: bytes, atoms: Sequence[Atom]) -> bool:
    """Whether enough plain members without a comment above follow the first of ``atoms`` without an empty line."""
    rows = list(pairwise(atoms[: _FOLLOWERS + 1]))
    return len(rows) == _FOLLOWERS and all(
        atom.start == last.end and atom.kind is AtomKind.DECLARATION and not _is_headed(source[atom.start : atom.end])
        for last, atom in rows
    )


_ENTRY = re.compile(rb"[ \t]*\*?[ \t]*@(?P<name>\w+)[\w.\[\]]*(?:\s*,\s*@?\w+)*\s*(?::|-\s)")
_BLANK = re.compile(rb"[ \t]*\*?[ \t]*\r?\n?\Z")
# After an empty line a text that is not indented describes the record again.
_UNINDENTED = re.compile(rb"[ \t]*\*[ \t]?[^\s@]")
_SECTION = re.compile(rb"[ \t]*\*[ \t]?(?:description|context|returns?|notes?|examples?|locking)[ \t]*:", re.IGNORECASE)
_ABOVE_RECORD = re.compile(rb"\s*(?:\#[^\n]*\n\s*)*(?:(?:typedef|static|const|volatile|__\w+)\s+)*\Z")
_MOST_COMMENTS = 3


@dataclass(frozen=True, slots=True)
class _MemberDescription:
    """Whole lines ``start`` … ``end`` of the file that describe the member ``name``."""

    name: str
    start: int
    end: int


def followed(source: bytes, record: RecordSpan, before: Sequence[str], after: Sequence[str]) -> bytes:
    """``source`` with the entries of the comment above ``record`` in the order in which the members are now.

    ``before`` and ``after`` are all members of the record in the old and in the new order. Each entry takes the place
    of another one, so that following back gives the same bytes. Entries in another order than the members had stay.
    """
    entries = _entries(source, record, before)
    described = {entry.name for entry in entries}
    old, new = ([name for name in order if name in described] for order in (before, after))
    moved = {name for name, other in zip(old, new, strict=False) if name != other}
    slots = [entry for entry in entries if entry.name in moved]
    if not moved or len(described) < len(entries) or sorted(old) != sorted(new):
        return source
    if [entry.name for entry in slots] != [name for name in old if name in moved]:
        return source
    texts = {entry.name: source[entry.start : entry.end] for entry in slots}
    parts, position = [], 0
    for slot, text in zip(slots, [texts[name] for name in new if name in moved], strict=True):
        parts += [source[position : slot.start], text]
        position = slot.end
    return b"".join((*parts, source[position:]))


def _entries(source: bytes, record: RecordSpan, names: Collection[str]) -> list[_MemberDescription]:
    """The entries of members in the nearest comment above the record that has any."""
    position = record.start
    for _ in range(_MOST_COMMENTS):
        end = source.rfind(b"*/", 0, position)
        start = source.rfind(b"/*", 0, end)
        if start < 0 or not _ABOVE_RECORD.match(source, end + 2, position):
            return []
        found = list(_entries_of(source, start, end, names))
        if found:
            return found
        position = start
    return []


def _entries_of(source: bytes, start: int, end: int, names: Collection[str]) -> Iterator[_MemberDescription]:
    """Entries between the line that opens a comment and the one that closes it."""
    opened: _MemberDescription | None = None
    blank = False
    for first, last in _lines(source, start, end):
        line = source[first:last]
        match = _ENTRY.match(line)
        name = match["name"].decode() if match else ""
        if match and opened and name == opened.name:
            opened = _MemberDescription(name, opened.start, last)
        elif match or (opened and (_SECTION.match(line) or (blank and _UNINDENTED.match(line)))):
            if opened:
                yield opened
            opened = _MemberDescription(name, first, last) if name in names else None
        elif opened and not _BLANK.match(line):
            opened = _MemberDescription(opened.name, opened.start, last)
        blank = bool(_BLANK.match(line))
    if opened:
        yield opened


def _lines(source: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The whole lines behind the one with ``/*`` and before the one with ``*/``."""
    first = source.find(b"\n", start, end) + 1
    while 0 < first <= end:
        last = source.find(b"\n", first, end) + 1
        if not last:
            return
        yield first, last
        first = last


def without_gap(cut: Sequence[SourcePiece], index: int) -> tuple[list[SourcePiece], tuple[SourcePiece, ...]]:
    """The pieces without ``cut[index]``, and the empty line that goes with it: the one in front, or none.

    It goes where the piece stands between two empty lines, or between one and the end of its scope, so that neither two
    of them meet nor one stands in front of a closing brace.
    """
    rest = [*cut[:index], *cut[index + 1 :]]
    lines = cut[index - 1].text.splitlines(keepends=True) if index else []
    front = lines[-1] if lines and cut[index - 1].atom.kind is AtomKind.LOOSE and not lines[-1].strip() else b""
    is_last = not b"".join(piece.text for piece in rest[index:]).strip(b" \t")
    below = b"" if is_last or rest[index].atom.kind is not AtomKind.LOOSE else rest[index].text
    if not front or not (is_last or (below and not below.splitlines()[0].strip())):
        return rest, ()
    shortened = replace(rest[index - 1], text=rest[index - 1].text.removesuffix(front))
    return [*rest[: index - 1], shortened, *rest[index:]], (SourcePiece(front),)


def width(text: bytes) -> int:
    """The columns that ``text``, which begins a line, takes."""
    return len(text.decode("utf-8", "replace").expandtabs(TAB))
