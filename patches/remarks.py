# SPDX-License-Identifier: GPL-2.0-or-later
"""Comments beside members that say why they stand where they do, written as the file writes its own."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import replace

from linesmith.patches.atoms import Atom
from linesmith.patches.body import Body
from linesmith.patches.columns import width
from linesmith.patches.pieces import Origin, Piece, find

WIDTH = 80
Remarks = Mapping[str, str]
"""A sentence for each of the members that get one."""

_BLOCK = re.compile(rb"^[ \t]*/\*+[ \t]*\r?\n", re.MULTILINE)
_TEXT_FIRST = re.compile(rb"^[ \t]*/\*+[ \t]+\S(?![^\n]*\*/)", re.MULTILINE)
_LINE = re.compile(rb"^[ \t]*//|;[ \t]*//", re.MULTILINE)
_ANY = re.compile(rb"/\*")
# Networking code of Linux has text on the first line (checkpatch.pl, NETWORKING_BLOCK_COMMENT_STYLE).
_NETWORKING = ("net/", "drivers/net/")
# Several lines of comment right above, a star in front of each; what kernel-doc collects is left to it.
_OWN_BLOCK = re.compile(rb"/\*(?!\*)[^\n]*\n(?:[ \t]*\*(?!/)[^\n]*\n)+(?P<end>)[ \t]*\*/[ \t]*\r?\n\Z")


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


def _with_remark(origin: Origin, piece: Piece, member: str, sentence: str) -> Piece:
    place = _line_of(piece, piece.atom, member)
    indent = indentation(piece.text[place:])
    ending = b"\r\n" if piece.text[place:].partition(b"\n")[0].endswith(b"\r") else b"\n"
    above = _OWN_BLOCK.search(piece.text[:place])
    column = width(indent)
    rows = [" *", *_wrapped(column, sentence)] if above else _rows(origin, column, sentence)
    place = above.start("end") if above else place
    text = b"".join(indent + row.encode() + ending for row in rows)
    return replace(piece, text=piece.text[:place] + text + piece.text[place:])


def _line_of(piece: Piece, atom: Atom, member: str) -> int:
    """Where the line begins that declares ``member``; the piece's first where it is in a block of several arms."""
    declared = [one for one in atom.declarations if any(part.name == member for part in one.declarators)]
    chosen = declared or list(atom.declarations)
    return piece.text.rfind(b"\n", 0, chosen[0].start - atom.start) + 1 if chosen else 0


def _rows(origin: Origin, column: int, sentence: str) -> list[str]:
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
