# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the tables of Documentation/networking/net_cachelines, which say how fast paths use each member of a struct.

Until 6.13 a table is text in columns under a heading, later one between rulers of reStructuredText.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from linesmith.analyzer.model import DocumentedMember, GroupDoc

FOLDER = "Documentation/networking/net_cachelines"
_MOST_LINES = 10_000
_TITLE = re.compile(r"(\w+) struct fast path usage breakdown\s*")
_HEADING = re.compile(r"Type\s+Name\s+fastpath_tx_access\s+fastpath_rx_access\b", re.IGNORECASE)
_RULER = re.compile(r"=+(?: +=+){3,}\s*")
_NAME = re.compile(r"\w+")
_USES = frozenset(("read_mostly", "read_write", "write_mostly", "read", "write"))


def unread_lines(texts: Mapping[str, str]) -> Iterator[str]:
    """A sentence on each file that is not read to its end."""
    for file in sorted(texts):
        if texts[file].count("\n") > _MOST_LINES:
            yield f"{file} has more than {_MOST_LINES:,} lines; tables behind them were not read"


def group_docs(texts: Mapping[str, str]) -> dict[str, GroupDoc]:
    """The tables by record (``tcp_sock``) out of the ``texts`` of files; the first one counts."""
    found: dict[str, GroupDoc] = {}
    for file in sorted(texts):
        for doc in _docs(file, texts[file].splitlines()[:_MOST_LINES]):
            found.setdefault(doc.record, doc)
    return found


def _docs(file: str, lines: list[str]) -> Iterator[GroupDoc]:
    title = next((match[1] for line in lines if (match := _TITLE.fullmatch(line))), None)
    heading = next((number for number, line in enumerate(lines) if _HEADING.match(line)), None)
    if title is None or heading is None:
        return
    ruled = heading > 0 and _RULER.fullmatch(lines[heading - 1])
    below = enumerate(lines[heading + 1 :], heading + 2)
    rows = _ruled(lines[heading - 1], below) if ruled else _loose(lines[heading], below)
    yield GroupDoc(title, file, heading + 1, tuple(rows))


def _ruled(ruler: str, lines: Iterable[tuple[int, str]]) -> Iterator[DocumentedMember]:
    """Rows whose cells begin where the ruler's columns do."""
    starts = [match.start() for match in re.finditer(r"=+", ruler)]
    ends = [*starts[1:], None]
    for number, line in lines:
        if _RULER.fullmatch(line):
            continue
        cells = [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        yield from _row(number, cells[1], cells[2], cells[3])


def _loose(heading: str, lines: Iterable[tuple[int, str]]) -> Iterator[DocumentedMember]:
    """Rows whose cells may stand a little beside their columns; types and names have no blanks in them."""
    tx, rx = (re.search(word, heading, re.IGNORECASE) for word in ("fastpath_tx_access", "fastpath_rx_access"))
    middle = ((tx.start() if tx else 0) + (rx.start() if rx else 0)) // 2
    for number, line in lines:
        words = list(re.finditer(r"\S+", line))
        if len(words) < 2 or words[0][0].startswith(".."):
            continue
        used = [(word[0], word.start()) for word in words[2:4] if word[0] in _USES or word[0] == "-"]
        cells = {("tx" if start < middle else "rx"): word for word, start in used}
        if len(used) == 2:
            cells = {"tx": used[0][0], "rx": used[1][0]}
        yield from _row(number, words[1][0], cells.get("tx", ""), cells.get("rx", ""))


def _row(number: int, name: str, tx: str, rx: str) -> Iterator[DocumentedMember]:
    match = _NAME.match(name)
    if match:
        yield DocumentedMember(match[0], number, *(one if one in _USES else "" for one in (tx, rx)))
