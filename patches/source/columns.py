# SPDX-License-Identifier: GPL-2.0-or-later
"""A body cut into pieces that can change places without losing a byte, and the columns in which their text stands.

Tab stops are at every eighth column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.source.atoms import Atom, AtomKind, MemberScope, line_number

TAB = 8
_TRAILING = re.compile(rb"(?P<code>[^\n]*?;)(?P<blanks>[ \t]+)(?=/[/*])")


def width(text: bytes) -> int:
    """The columns that ``text``, which begins a line, takes."""
    return len(text.decode("utf-8", "replace").expandtabs(TAB))


def blanks(start: int, end: int, like: bytes) -> bytes:
    """Blanks from column ``start`` to ``end``, of the kind of ``like``; at least one where there is no room."""
    if b"\t" not in like:
        return b" " * max(end - start, 1)
    if end % TAB == 0 or end <= start:
        return b"\t" * max(-(-end // TAB) - start // TAB, 1)
    stop = end // TAB * TAB
    return b"\t" * max(stop // TAB - start // TAB, 0) + b" " * (end - max(stop, start))


def replaced_blanks(line: bytes, start: int, end: int, gap: bytes) -> bytes | None:
    """``line`` with ``gap`` from ``start`` to ``end``; ``None`` where a comment behind it would lose its column."""
    changed = line[:start] + gap + line[end:]
    if _TRAILING.match(line) is None:
        return changed
    moved = _realigned(line, changed, start)
    before, after = _TRAILING.match(line), _TRAILING.match(moved or b"")
    same = before is not None and after is not None and width(before[0]) == width(after[0])
    return moved if same else None


def _realigned(line: bytes, changed: bytes, place: int) -> bytes | None:
    """``changed`` with the comment behind its code in the column that it has in ``line``, as far as there is room."""
    before, after = _TRAILING.match(line), _TRAILING.match(changed)
    if before is None or after is None or before.end("code") < place:
        return None
    gap = blanks(width(after["code"]), width(before[0]), before["blanks"])
    return after["code"] + gap + changed[after.end() :]


_BETWEEN = Atom(AtomKind.LOOSE, 0, 0)
_MOVABLE = (AtomKind.DECLARATION, AtomKind.CONDITIONAL, AtomKind.BIT_FIELDS, AtomKind.GROUP)


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
    start = piece.text.rfind(b"\n", 0, behind - atom.start) + 1
    line, place = piece.text[start:], behind - atom.start - start
    longer = line[:place] + b" " + attribute.encode() + line[place:]
    # A comment behind the code stays in its column if it can.
    return replace(piece, text=piece.text[:start] + (_realigned(line, longer, place) or longer))
