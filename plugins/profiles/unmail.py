# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes off what mails, archives and terminals put around a report, and remembers the original line numbers."""

from __future__ import annotations

import binascii
import html
import re
from collections.abc import Iterator
from itertools import islice, pairwise

from linesmith.plugins.profiles.tokens import TextLine
from linesmith.plugins.text import UNPRINTABLE

# Mail bodies that were sent as base64 (RFC 2045, 6.8): saved mails hold them as they travelled.

ANNOUNCEMENT = re.compile(r"^Content-Transfer-Encoding:[ \t]{0,8}base64\s*$", re.IGNORECASE | re.MULTILINE)
_ENCODED = re.compile(r"[A-Za-z0-9+/]{2,998}={0,2}\s*$")


def decoded_bodies(lines: Iterator[TextLine]) -> Iterator[TextLine]:
    """The lines with every announced base64 body replaced by its text; its lines keep the body's first number."""
    body: list[TextLine] = []
    announced = blank = False
    for line in lines:
        if announced and blank and _ENCODED.match(line.text):
            body.append(line)
            continue
        if body:
            yield from _decoded(body)
            body, announced = [], False
        blank = not line.text.strip()
        announced = announced or ANNOUNCEMENT.match(line.text) is not None
        yield line
    yield from _decoded(body)


def _decoded(body: list[TextLine]) -> Iterator[TextLine]:
    encoded = "".join(line.text.strip() for line in body)
    try:
        text = binascii.a2b_base64(encoded[: len(encoded) // 4 * 4]).decode("utf-8", "replace")
    except binascii.Error:
        yield from body
        return
    for line in text.splitlines():
        yield TextLine(body[0].number, line)


_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
# Initials in front of the mark want a blank behind it: "int>" ends the name of a template.
_QUOTE = re.compile(r"\s{0,4}(?:(?:>|[A-Za-z]{1,3}>(?=[\s>]|$))[ \t]?){1,20}")
# Sequences that colour or move (ECMA-48: CSI, in seven bits or eight; OSC, which ends with BEL or ST).
_ESCAPE = re.compile(r"(?:\x1b\[|\x9b)[0-9;:?<=>]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?")
_INVISIBLE = re.compile("[\ufeff\u200b-\u200f\u2060\u00ad]")
# What cannot be printed, and the box drawing, blocks and shapes of a copied terminal window. Blanks of all kinds stay.
_DRAWN = re.compile("(?![\t\v\f\u0085\u2028\u2029])[" + UNPRINTABLE + "\u2500-\u25ff]")
_QP_EVIDENCE = re.compile(r"=(?:3D|20|09|C2=A0|E2=80)")
# Or lines of the length at which mail programs break, with the mark that they go on.
_QP_BREAKS = re.compile(r"^(?:[^\n]{60,80}=\r?\n){2}", re.MULTILINE)
# Quotation marks that a search index kept where it made one line of a mail: each was the beginning of a line.
_FLAT_QUOTE = re.compile(r"(?:(?<=\s)|^)(?:>\s+)+")
_FEWEST_FLAT_QUOTES = 8
_QP_BYTES = re.compile(r"(?:=[0-9A-F]{2})+")
_HTML_PAGE = re.compile(r"<(?:!doctype|html|body|pre|br|div|span|td|p)\b[^<>]{0,400}>", re.IGNORECASE)
_HTML_BREAK = re.compile(r"<(?:br|/p|/tr|/div|/li)\b[^<>]{0,40}>", re.IGNORECASE)
_HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,400}>|<!--.{0,400}?-->|<![^<>]{0,400}>")
_ENTITY = re.compile(r"&(?:gt|lt|nbsp|amp|quot|#\d{2,6}|#x[0-9a-fA-F]{2,6});")
_FEWEST_BARS = 7
_NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(?:\t|[:|] ?| {2})")


def unmail(text: str) -> Iterator[TextLine]:
    """The lines of ``text`` without quoting, transfer encoding, tags, numbering and terminal codes."""
    lines: Iterator[TextLine] = (part for line in _physical(text) for part in _unflattened(line))
    if ANNOUNCEMENT.search(text):
        lines = decoded_bodies(lines)
    if _QP_EVIDENCE.search(text) or _QP_BREAKS.search(text):
        lines = _joined(lines)
    if _HTML_PAGE.search(text):
        lines = _untagged(lines)
    if _ENTITY.search(text):
        lines = (TextLine(line.number, html.unescape(line.text)) for line in lines)
    lines = (TextLine(line.number, bare(line.text)) for line in lines)
    return _unnumbered(lines)


def _physical(text: str) -> Iterator[TextLine]:
    for number, found in enumerate(_LINE.finditer(text), 1):
        yield TextLine(number, found.group(1))


def _unflattened(line: TextLine) -> Iterator[TextLine]:
    """The lines of a quoted mail that became one; a few marks are as well the brackets of a name."""
    if line.text.count("> ") < _FEWEST_FLAT_QUOTES or len(_FLAT_QUOTE.findall(line.text)) < _FEWEST_FLAT_QUOTES:
        yield line
        return
    for part in _FLAT_QUOTE.split(line.text):
        yield TextLine(line.number, part)


def _joined(lines: Iterator[TextLine]) -> Iterator[TextLine]:
    """Quoted-printable decoded (RFC 2045, 6.7): soft breaks joined, ``=XX`` turned back into characters."""
    parts: list[str] = []
    first, mark = 0, ""
    for line in lines:
        text = line.text.removeprefix(mark)
        if not parts:
            first, text, mark = line.number, line.text, _mark(line.text)
        if _is_softly_broken(text):
            parts.append(text[:-1])
            continue
        yield TextLine(first, _QP_BYTES.sub(_unquoted, "".join((*parts, text))))
        parts.clear()
        mark = ""
    if parts:
        yield TextLine(first, _QP_BYTES.sub(_unquoted, "".join(parts)))


def _mark(text: str) -> str:
    """The quotation marks in front, which also those lines have that go on with this one."""
    found = _QUOTE.match(text)
    return found.group() if found and ">" in found.group() else ""


def _is_softly_broken(text: str) -> bool:
    """Whether the line goes on in the next one; a line of many equal signs is a banner."""
    return text.endswith("=") and (bool(text.strip("= \t>")) or text.count("=") == 1)


def _unquoted(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("=", "")).decode("utf-8", "replace")


def _untagged(lines: Iterator[TextLine]) -> Iterator[TextLine]:
    for line in lines:
        for part in _HTML_BREAK.split(line.text):
            yield TextLine(line.number, _HTML_TAG.sub("", part))


def bare(text: str) -> str:
    """One line without control characters, drawings and quoting."""
    if not (text.isascii() and text.isprintable()):
        text = _DRAWN.sub(" ", _INVISIBLE.sub("", _ESCAPE.sub("", text)))
    quote = _QUOTE.match(text)
    text = text[quote.end() :] if quote else text
    return text.replace("|", "  ") if _is_table_row(text) else text


def _is_table_row(text: str) -> bool:
    """Whether bars part the cells, as in Markdown; call graphs have dashes between theirs, data sources words."""
    if text.count("|") < _FEWEST_BARS or "--" in text or "|OP " in text:
        return False
    return "%" in text or (text.lstrip().startswith("|") and text.rstrip().endswith("|"))


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
