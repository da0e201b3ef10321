# SPDX-License-Identifier: GPL-2.0-or-later
"""The column in which a declaration has its name: a member that moves takes that of its new neighbours.

It does only where its old neighbours had its own column and its new ones agree on another, so that moving back gives
the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linesmith.patches.atoms import AtomKind, Declaration
from linesmith.patches.columns import blanks, replaced_blanks, width
from linesmith.patches.pieces import Piece

_ONE_SPACE = -1
_NO_COLUMN = -2


@dataclass(frozen=True, slots=True)
class _Split:
    """A declaration of one line: offsets in the piece's text of the blanks in front of its first name."""

    line: int
    start: int
    end: int
    column: int


def fitted(piece: Piece, old: Sequence[Piece | None], new: Sequence[Piece | None]) -> Piece:
    """``piece`` as it is written among ``new``, the pieces that it comes between; it stood between ``old``."""
    own, there, here = _split(piece), _column(old), _column(new)
    if own is None or there != own.column or here in (own.column, _NO_COLUMN):
        return piece
    return _written(piece, own, here)


def _column(beside: Sequence[Piece | None]) -> int:
    """The column of the declarations right above and below; one alone with one space tells nothing of the others."""
    splits = [_split(piece) for piece in beside if piece is not None and piece.atom.kind is AtomKind.DECLARATION]
    columns = [one.column if one else _NO_COLUMN for one in splits]
    agreed = len(set(columns)) == 1 and (len(columns) == len(beside) or columns[0] != _ONE_SPACE)
    return columns[0] if agreed else _NO_COLUMN


def _split(piece: Piece) -> _Split | None:
    """Where the blanks in front of the name are; ``None`` for a declaration that is not one line of its own."""
    found = piece.atom.declarations
    if piece.atom.kind is not AtomKind.DECLARATION or len(found) != 1 or not found[0].declarators:
        return None
    return _split_of(piece, found[0])


def _split_of(piece: Piece, declaration: Declaration) -> _Split | None:
    base = piece.atom.start
    end = declaration.declarators[0].start - base
    line = piece.text.rfind(b"\n", 0, declaration.start - base) + 1
    if b"\n" in piece.text[line : declaration.end - base]:
        return None
    start = len(piece.text[:end].rstrip(b" \t"))
    gap = piece.text[start:end]
    if gap == b" ":
        return _Split(line, start, end, _ONE_SPACE)
    column = width(piece.text[line:end])
    canonical = gap == blanks(width(piece.text[line:start]), column, b"\t") and not gap.strip(b"\t")
    return _Split(line, start, end, column) if canonical else None


def _written(piece: Piece, split: _Split, column: int) -> Piece:
    """The piece with its name at ``column``; as it is where there is no room, or a comment would lose its column."""
    used = width(piece.text[split.line : split.start])
    gap = b" " if column == _ONE_SPACE else blanks(used, column, b"\t")
    if column != _ONE_SPACE and used >= column:
        return piece
    text = replaced_blanks(piece.text[split.line :], split.start - split.line, split.end - split.line, gap)
    return piece if text is None else replace(piece, text=piece.text[: split.line] + text)
