# SPDX-License-Identifier: GPL-2.0-or-later
"""The formats that are read, told by how a file begins; the reader of a format is loaded when it is needed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import chain, count, islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from linesmith.analyzer.model import Profile
from linesmith.plugins.text import UNPRINTABLE, head_text

COMPACT_MAGIC = b"LSMPROF"
_PERF_MAGIC = b"PERFILE2"
_MARK = '"linesmith-profile"'
_TITLES = re.compile(r"Shared\s+(?:Data\s+)?Cache\s*Line|Trace\s+Event\s+Information", re.IGNORECASE)
_SHARES = re.compile(r"\d\.\d\d%\s{1,40}\d{1,3}\.\d\d%")
_TABLE_ROW = re.compile(r"\d\s{1,20}0x[0-9a-f]{1,16}\s[\dN/A\s-]{0,60}\.\d\d%")
_SOURCE = re.compile(r"\|OP (?:LOAD|STORE|PFETCH|EXEC|N/A|No)\|LVL ")
# The rule above and below the header of a perf.data, and what it says at any rate.
_RULE = re.compile(r"^# ========$", re.MULTILINE)
_CMDLINE = re.compile(r"^# cmdline : ", re.MULTILINE)
# A line that any event could have.
PLAIN_SAMPLE = re.compile(
    r"^ {0,20}\S.{0,80}? +-?\d{1,10}(?:/-?\d{1,10})? +(?:\[\d{3,6}\] +)?(?:[KUHGg]{1,2} +)?\d{1,12}\.\d{6,9}: +"
    r"(?:\d{1,20} +)?(?P<event>[^\s:]\S{0,200}): ",
    re.MULTILINE | re.ASCII,
)


class C2cReport:
    """The text of ``perf c2c report``; see ``docs/profiles.md`` for the forms."""

    name = "c2c-report"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` has a title of the report, or rows of shares or of the shared-lines table; JSON is none."""
        text = head_text(head)
        if text.lstrip().startswith("{"):
            return False
        plain = "\n".join(line.text for line in unmail(text))
        return any(pattern.search(plain) for pattern in (_TITLES, _SHARES, _TABLE_ROW))

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """Every report in the file; raises ``ProfileError`` when there is no shared line in it."""
        from linesmith.plugins.profiles.draft_to_profile import read_c2c

        return read_c2c(path, source)


class PerfScript:
    """The text of ``perf script`` with data sources; see ``docs/profiles.md`` for the fields."""

    name = "perf-script"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` has a data source as perf words it, two samples of any event, or nothing but a header."""
        plain = "\n".join(map(bare, head_text(head).splitlines()))
        if _SOURCE.search(plain) or len(PLAIN_SAMPLE.findall(plain)) > 1:
            return True
        remarks_only = all(line.startswith("#") for line in plain.splitlines() if line.strip())
        return remarks_only and bool(_RULE.search(plain)) and bool(_CMDLINE.search(plain))

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of all samples in the file; raises ``ProfileError`` when no line of them is shared."""
        from linesmith.plugins.profiles.script import read_script

        return read_script(path, source)


class PerfData:
    """The samples of a perf.data file; see ``docs/profiles.md``."""

    name = "perf-data"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` begins as a perf.data file does."""
        return head.startswith(_PERF_MAGIC)

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of the file. Raises ``ProfileError`` when it is damaged or has no shared line."""
        from linesmith.plugins.profiles.perf_data.source import read_perf_data

        return (read_perf_data(path, source),)


class RecordedProfile:
    """What ``linesmith record`` and ``hot --save`` wrote; see ``docs/profiles.md``."""

    name = "linesmith-profile"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` begins as one of the two forms does."""
        text = head_text(head)
        return head.startswith(COMPACT_MAGIC) or (text.lstrip().startswith("{") and _MARK in text[:200])

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of the file; raises ``ProfileError`` when it is damaged or of another version."""
        from linesmith.plugins.profiles.recorded import read_recorded

        return read_recorded(path, source)


# Takes off what mails, archives and terminals put around a report, and remembers the original line numbers.

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_QUOTE = re.compile(r"\s{0,4}(?:>[ \t]?){1,20}")
# Sequences that colour or move (ECMA-48: CSI, in seven bits or eight; OSC, which ends with BEL or ST).
_ESCAPE = re.compile(r"(?:\x1b\[|\x9b)[0-9;:?<=>]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?")
_INVISIBLE = re.compile("[\ufeff\u200b-\u200f\u2060\u00ad]")
# What cannot be printed, and the box drawing, blocks and shapes of a copied terminal window. Blanks of all kinds stay.
_DRAWN = re.compile("(?![\t\v\f\u0085\u2028\u2029])[" + UNPRINTABLE + "\u2500-\u25ff]")
# Texts of nothing else have nothing to take off within a line.
_PLAIN = bytes((0x0A, 0x0D, *range(0x20, 0x7F)))
_QP_EVIDENCE = re.compile(r"=(?:3D|20|09|C2=A0|E2=80)")
_QP_BYTES = re.compile(r"(?:=[0-9A-F]{2})+")
_ENTITY = re.compile(r"&(?:gt|lt|nbsp|amp|quot|#\d{2,6}|#x[0-9a-fA-F]{2,6});")
_NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(?:\t|[:|] ?| {2})")


class TextLine(NamedTuple):
    """A line of the text as the report's author saw it; ``number`` is its first line in the input, from 1."""

    number: int
    text: str


def unmail(text: str) -> Iterator[TextLine]:
    """The lines of ``text`` without quoting, transfer encoding, entities, numbering and terminal codes."""
    lines: Iterator[TextLine] = map(TextLine, count(1), map(itemgetter(1), _LINE.finditer(text)))
    encoded, entities = _QP_EVIDENCE.search(text), _ENTITY.search(text)
    if not (encoded or entities or ">" in text) and text.isascii() and not text.encode().translate(None, _PLAIN):
        return _unnumbered(lines)
    if encoded:
        lines = _joined(lines)
    if entities:
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
    every = chain(head, lines)
    if not _counts_up([line.text for line in head if line.text.strip()]):
        yield from every
    for line in every:
        found = _NUMBERED.match(line.text)
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
