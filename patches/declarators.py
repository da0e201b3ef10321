# SPDX-License-Identifier: GPL-2.0-or-later
"""A declaration of several members taken apart: ``int a, b, c;`` as ``int a, c;`` and ``int b;``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from linesmith.analyzer.model import RefusalCode
from linesmith.patches.atoms import AtomKind, Declaration
from linesmith.patches.grammar import Declarator
from linesmith.patches.masking import without_comments
from linesmith.patches.pieces import Origin, Piece

_OWN_FIRST = "give it a declaration of its own first"


@dataclass(frozen=True, slots=True)
class _Part:
    """One declarator. ``above`` are lines of comments before its own line, ``lead`` the blanks in front of it there.

    ``between`` follows up to its comma, ``behind`` stands between the comma and the end of the line or the next
    declarator. ``fresh`` tells that its line begins with it.
    """

    name: str
    text: bytes
    above: bytes = b""
    lead: bytes = b""
    between: bytes = b""
    behind: bytes = b""
    fresh: bool = False


def apart(origin: Origin, piece: Piece, runs: Sequence[Sequence[str]]) -> list[Piece]:
    """``piece`` as one declaration for each of ``runs``, which hold all its names in the order of the source.

    The longest run keeps the comments above, and behind a declaration on one line. Raises ``EditRefused`` where the
    declaration defines a record, or is more than one.
    """
    atom = piece.atom
    if atom.kind is not AtomKind.DECLARATION or len(atom.declarations) != 1:
        listed = ", ".join(f"`{name}`" for name in atom.names)
        raise origin.refuse(RefusalCode.JOINT, atom.start, f"{listed} are on one line", _OWN_FIRST)
    declaration = atom.declarations[0]
    base = atom.start
    head = piece.text[declaration.start - base : declaration.declarators[0].start - base]
    parts = _parts(piece, declaration)
    if parts is None or b"{" in without_comments(head):
        first, *others = (f"`{name}`" for name in atom.names)
        reason = f"{first} is declared together with {', '.join(others)}"
        raise origin.refuse(RefusalCode.JOINT, declaration.start, reason, _OWN_FIRST)
    keeper = _keeper(parts, runs)
    return [_declared(piece, head, parts, run, keeper=run is keeper) for run in runs]


def _keeper(parts: Sequence[_Part], runs: Sequence[Sequence[str]]) -> Sequence[str]:
    """The run that keeps the comments of the whole: the longest, or the first where each has a line of its own."""
    return runs[0] if any(part.fresh for part in parts) else max(runs, key=len)


def _parts(piece: Piece, declaration: Declaration) -> list[_Part] | None:
    """The declarators with what belongs to each; ``None`` where something else than comments stands between them."""
    base, parts = piece.atom.start, []
    start: tuple[bytes, bytes, bool] = (b"", b"", False)
    for one, following in pairwise(declaration.declarators):
        gap = piece.text[one.end - base : following.start - base]
        comma = _comma(gap)
        if comma is None:
            return None
        behind, newline, rest = gap[comma + 1 :].partition(b"\n")
        text = piece.text[one.start - base : one.end - base]
        parts.append(_Part(one.name, text, *start[:2], gap[:comma], behind, start[2]))
        line = rest.rfind(b"\n") + 1
        start = (rest[:line], rest[line:], bool(newline))
    last = declaration.declarators[-1]
    text = piece.text[last.start - base : last.end - base]
    return [
        *parts,
        _Part(last.name, text, *start[:2], piece.text[last.end - base : declaration.end - 1 - base], b"", start[2]),
    ]


def _comma(gap: bytes) -> int | None:
    """Where the comma is that ends a declarator; ``None`` where code stands between it and the next one."""
    code = without_comments(gap)
    comma = code.rfind(b",")
    return comma if comma >= 0 and not code[comma + 1 :].strip() else None


def _declared(piece: Piece, head: bytes, parts: Sequence[_Part], run: Sequence[str], *, keeper: bool) -> Piece:
    """The declaration of the names in ``run``, as a piece whose offsets count from where ``piece`` began."""
    declaration, base = piece.atom.declarations[0], piece.atom.start
    own = [part for part in parts if part.name in run]
    before = _before(piece, declaration, keeper=keeper)
    text = _indented(own[0].above, before) + before
    begin = len(text)
    text += head
    places = []
    for part, following in zip_longest(own, own[1:]):
        places.append(Declarator(part.name, base + len(text), base + len(text) + len(part.text)))
        text += part.text + part.between + (_gap(part, following) if following else b";")
    written = Declaration(base + begin, base + len(text), tuple(places))
    text += _behind(piece, declaration, parts, own[-1], keeper=keeper)
    return Piece(text, replace(piece.atom, end=base + len(text), names=tuple(run), declarations=(written,)))


def _before(piece: Piece, declaration: Declaration, *, keeper: bool) -> bytes:
    before = piece.text[: declaration.start - piece.atom.start]
    line = before[before.rfind(b"\n") + 1 :]
    return before if keeper else line[: len(line) - len(line.lstrip())]


def _indented(comment: bytes, indent: bytes) -> bytes:
    """Lines of comment as far to the right as the declaration, to which they would not belong otherwise."""
    lines = (line.lstrip() for line in comment.splitlines(keepends=True))
    return b"".join(indent + (b" " if line.startswith(b"*") else b"") + line for line in lines)


def _gap(part: _Part, following: _Part) -> bytes:
    """What parts two declarators of one declaration."""
    if following.fresh:
        return b"," + part.behind + b"\n" + following.above + following.lead
    return b"," + (part.behind if part.behind[-1:].isspace() else part.behind + b" ")


def _behind(piece: Piece, declaration: Declaration, parts: Sequence[_Part], last: _Part, *, keeper: bool) -> bytes:
    """What stands behind the semicolon: the comment of the last declarator's line, and the line's end."""
    tail = piece.text[declaration.end - piece.atom.start :]
    ending = b"\r\n" if tail.endswith(b"\r\n") else b"\n"
    one_line = not any(part.fresh for part in parts)
    return last.behind.rstrip() + (tail if (keeper if one_line else last is parts[-1]) else ending)
