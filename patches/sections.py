# SPDX-License-Identifier: GPL-2.0-or-later
"""Comments that seem to head several members, and so stay when the first of these leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from linesmith.patches.atoms import Atom, AtomKind, Scope
from linesmith.patches.pieces import Piece

_COMMENT = (b"/*", b"//")
_FOLLOWERS = 2

Heading = tuple[bytes, str]
"""A line of comment, and the first member that it heads."""


def headings(source: bytes, scope: Scope) -> Iterator[Heading]:
    """The lines of comment in a body that seem to head several members.

    Such a line stands alone behind an empty one, does not name the member below, and right below that at least two
    more follow that have no comment above them.
    """
    for index, atom in enumerate(scope.atoms):
        for inner in atom.scopes:
            yield from headings(source, inner)
        line = heading(source[atom.start : atom.end], atom)
        if line and _begins_block(source, scope, atom) and _has_followers(source, scope.atoms[index:]):
            yield line, atom.names[0]


def heading(text: bytes, atom: Atom) -> bytes:
    """The one line of comment above a declaration; empty where there is none, or more, or it names a member."""
    if atom.kind is not AtomKind.DECLARATION or not atom.names or not _is_headed(text):
        return b""
    line, _, rest = text.partition(b"\n")
    whole = line.rstrip().endswith(b"*/") or line.lstrip().startswith(b"//")
    named = b"@" in line or any(re.search(rb"\b%b\b" % name.encode(), line) for name in atom.names)
    return line + b"\n" if whole and not named and not _is_headed(rest) else b""


def parted(cut: Sequence[Piece], index: int, known: frozenset[Heading]) -> list[Piece]:
    """The pieces with the comment above the member of ``cut[index]`` apart, where it is one of ``known``."""
    piece = cut[index]
    line = heading(piece.text, piece.atom)
    if not line or (line, piece.names[0]) not in known:
        return list(cut)
    atom = replace(piece.atom, start=piece.atom.start + len(line))
    return [*cut[:index], Piece(line), Piece(piece.text[len(line) :], atom), *cut[index + 1 :]]


def _is_headed(text: bytes) -> bool:
    return text.lstrip().startswith(_COMMENT)


def _begins_block(source: bytes, scope: Scope, atom: Atom) -> bool:
    return (
        not source[source.rfind(b"\n", 0, max(atom.start - 1, 0)) + 1 : atom.start].strip() or atom.start == scope.start
    )


def _has_followers(source: bytes, atoms: Sequence[Atom]) -> bool:
    """Whether enough plain members without a comment above follow the first of ``atoms`` without an empty line."""
    rows = list(pairwise(atoms[: _FOLLOWERS + 1]))
    return len(rows) == _FOLLOWERS and all(
        atom.start == last.end and atom.kind is AtomKind.DECLARATION and not _is_headed(source[atom.start : atom.end])
        for last, atom in rows
    )
