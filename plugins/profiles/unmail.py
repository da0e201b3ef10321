# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes off what mails, archives and terminals put around a report, and remembers the original line numbers.

That is quoting (``> ``), quoted-printable, the entities of a web page, terminal codes, and the numbers of ``cat -n``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import islice, pairwise

from linesmith.plugins.profiles.tokens import TextLine
from linesmith.plugins.text import UNPRINTABLE

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_QUOTE = re.compile(r"\s{0,4}(?:>[ \t]?){1,20}")
# Sequences that colour or move (ECMA-48: CSI, in seven bits or eight; OSC, which ends with BEL or ST).
_ESCAPE = re.compile(r"(?:\x1b\[|\x9b)[0-9;:?<=>]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?")
_INVISIBLE = re.compile("[\ufeff\u200b-\u200f\u2060\u00ad]")
# What cannot be printed, and the box drawing, blocks and shapes of a copied terminal window. Blanks of all kinds stay.
_DRAWN = re.compile("(?![\t\v\f\u0085\u2028\u2029])[" + UNPRINTABLE + "\u2500-\u25ff]")
_QP_EVIDENCE = re.compile(r"=(?:3D|20|09|C2=A0|E2=80)")
_QP_BYTES = re.compile(r"(?:=[0-9A-F]{2})+")
_ENTITY = re.compile(r"&(?:gt|lt|nbsp|amp|quot|#\d{2,6}|#x[0-9a-fA-F]{2,6});")
_NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(?:\t|[:|] ?| {2})")


def unmail(text: str) -> Iterator[TextLine]:
    """The lines of ``text`` without quoting, transfer encoding, entities, numbering and terminal codes."""
    lines: Iterator[TextLine] = (TextLine(number, found[1]) for number, found in enumerate(_LINE.finditer(text), 1))
    if _QP_EVIDENCE.search(text):
        lines = _joined(lines)
    if _ENTITY.search(text):
        lines = (TextLine(line.number, html.unescape(line.text)) for line in lines)
    return _unnumbered(TextLine(line.number, bare(line.text)) for line in lines)


def bare(text: str) -> str:
    """One line without control characters, drawings and quoting."""
    if not (text.isascii() and text.isprintable()):
        text = _DRAWN.sub(" ", _INVISIBLE.sub("", _ESCAPE.sub("", text)))
    quote = _QUOTE.match(text)
    return text[quote.end() :] if quote else text


def _joined(lines: Iterator[TextLine]) -> Iterator[TextLine]:
    """Quoted-printable decoded (RFC 2045, 6.7): soft breaks joined, ``=XX`` turned back into characters."""
    parts: list[str] = []
    first = 0
    for number, text in lines:
        first = first if parts else number
        # A line of many equal signs is a banner.
        soft = text.endswith("=") and (bool(text.strip("= \t>")) or text.count("=") == 1)
        parts.append(text[:-1] if soft else text)
        if not soft:
            yield TextLine(first, _QP_BYTES.sub(_unquoted, "".join(parts)))
            parts.clear()
    if parts:
        yield TextLine(first, _QP_BYTES.sub(_unquoted, "".join(parts)))


def _unquoted(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("=", "")).decode("utf-8", "replace")


def _unnumbered(lines: Iterator[TextLine]) -> Iterator[TextLine]:
    """Without the numbers of ``cat -n`` (or of an editor), when the lines of the beginning count up."""
    head = list(islice(lines, 400))
    numbered = _counts_up([line.text for line in head if line.text.strip()])
    for part in (head, lines):
        for line in part:
            found = _NUMBERED.match(line.text) if numbered else None
            yield TextLine(line.number, line.text[found.end() :]) if found else line


def _counts_up(texts: list[str]) -> bool:
    """Whether most lines begin with their number; rows of the line table (``0  0x...``) count up as well."""
    found = [match for text in texts if (match := _NUMBERED.match(text))]
    rows = sum(1 for match in found if match.string[match.end() :].lstrip().startswith("0x"))
    if len(found) < 5 or len(found) * 10 < len(texts) * 6 or rows * 2 > len(found):
        return False
    numbers = [int(match.group(1)) for match in found]
    steps = sum(1 for first, second in pairwise(numbers) if second - first == 1)
    return steps * 10 >= len(numbers) * 8
