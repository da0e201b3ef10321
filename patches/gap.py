# SPDX-License-Identifier: GPL-2.0-or-later
"""The empty line that stood between a member that leaves and its neighbours, where two of them would meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linesmith.patches.atoms import AtomKind
from linesmith.patches.pieces import Piece


def without_gap(cut: Sequence[Piece], index: int) -> tuple[list[Piece], tuple[Piece, ...]]:
    """The pieces without ``cut[index]``, and the empty line that goes with it: the one in front, or none.

    It goes where the piece stands between two empty lines, or between one and the end of its scope, so that neither two
    of them meet nor one stands in front of a closing brace.
    """
    rest = [*cut[:index], *cut[index + 1 :]]
    front = _blank_end(cut[index - 1]) if index else b""
    if not front or not (_is_end(cut, index + 1) or _begins_blank(cut[index + 1])):
        return rest, ()
    shortened = replace(rest[index - 1], text=rest[index - 1].text.removesuffix(front))
    return [*rest[: index - 1], shortened, *rest[index:]], (Piece(front),)


def _blank_end(piece: Piece) -> bytes:
    """The last line of what lies between two atoms, where that is empty."""
    lines = piece.text.splitlines(keepends=True) if piece.atom.kind is AtomKind.LOOSE else []
    return lines[-1] if lines and not lines[-1].strip() else b""


def _begins_blank(piece: Piece) -> bool:
    return piece.atom.kind is AtomKind.LOOSE and bool(piece.text) and not piece.text.splitlines()[0].strip()


def _is_end(cut: Sequence[Piece], index: int) -> bool:
    return not b"".join(piece.text for piece in cut[index:]).strip(b" \t")
