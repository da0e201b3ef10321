# SPDX-License-Identifier: GPL-2.0-or-later
"""A page of ours, kept as Markdown, as the text that a terminal shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from linesmith.analyzer.report.prose import WIDTH, prose

_FENCE, _CODE, _BODY = "```", "    ", "  "
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_ENTRY = re.compile(r"- |\d+\. ")
_HEADING = re.compile(r"#+ ")


class Line(NamedTuple):
    """One line, and whether it heads what stands below it."""

    text: str
    heads: bool = False


def page_lines(page: str, columns: int = WIDTH) -> Iterator[Line]:
    """Headings at the left, below them text in at most ``columns``, and code as it stands.

    Pages have headings, paragraphs, lists of one level, code that is fenced or indented, and links, of which the words
    are left.
    """
    for text in _joined(page):
        if text.startswith(_CODE) or not text:
            yield Line(text)
        elif heading := _HEADING.match(text):
            yield Line(text[heading.end() :].replace("`", ""), heads=True)
        else:
            entry = _ENTRY.match(text)
            below = _BODY + " " * (entry.end() if entry else 0)
            told = prose(_LINK.sub(r"\1", text), _BODY, below, min(columns, WIDTH))
            yield from map(Line, told.split("\n"))


def _joined(page: str) -> Iterator[str]:
    """Each paragraph and each entry of a list on one line; code behind ``_CODE``; what is empty as it is."""
    fenced = False
    told: list[str] = []
    for line in page.rstrip("\n").split("\n"):
        fence = line.startswith(_FENCE)
        if told and (fence or not line or _ENTRY.match(line)):
            yield " ".join(told)
            told = []
        if fence:
            fenced = not fenced
        elif fenced:
            yield f"{_CODE}{line}"
        elif not line or (line.startswith(_CODE) and not told):
            yield line
        else:
            told.append(line.strip())
    if told:
        yield " ".join(told)
