# SPDX-License-Identifier: GPL-2.0-or-later
"""Markdown, written and read: text of others where it only shows, rows of tables, and pages of ours on a terminal.

Names and reasons come from files that anyone may have written. In a comment they must not become a table, a link, HTML,
a mention of somebody or a reference to an issue (CommonMark, GitHub's and GitLab's kinds).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.report import prose as lines
from linesmith.analyzer.report.prose import WIDTH

LONGEST = 400

# What a code span holds as it is, in a table, too.
_PLAIN_CODE = re.compile(r"[\w ./:,()*+=<>#@&;{}\[\]!?~^%$'\"-]+", re.ASCII)
_PLAIN_PROSE = re.compile(r"[A-Za-z0-9 ,;()_]")
# A space of no width: the letter behind no longer belongs to a sign in front that makes a reference.
_BREAK = "&#8203;"


def code(text: str) -> str:
    """A name, in the type of a computer."""
    shown = _shown(text)
    if _PLAIN_CODE.fullmatch(shown) and shown.strip() == shown:
        return f"`{shown}`"
    return f"<code>{''.join(map(_entity, shown))}</code>"


def prose(text: str) -> str:
    """A sentence; what has a meaning in Markdown, or would make a reference of what follows, is taken out of it."""
    shown = _shown(text)
    return "".join(_letter(shown, index) for index in range(len(shown)))


def _shown(text: str) -> str:
    """On one line, of bounded length, with nothing that does not show."""
    shown = visible(re.sub(r"[\r\n\t]+", " ", text))
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _letter(text: str, index: int) -> str:
    """The letter at ``index``, escaped where it may mean something."""
    letter, behind = text[index], text[index + 1 : index + 2]
    if letter == "'" or (letter in ".:" and behind in ("", " ")):
        return letter
    if letter == "_" and not (index and _in_word(text[index - 1]) and _in_word(behind)):
        return _entity(letter)
    if ord(letter) > 127 or _PLAIN_PROSE.match(letter):
        return letter
    joins = letter in "./" or (letter == "-" and not behind.isdigit())
    return _entity(letter) + (_BREAK if not joins and _in_word(behind) else "")


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _entity(letter: str) -> str:
    return letter if letter.isalnum() or letter == " " or ord(letter) > 127 else f"&#{ord(letter)};"


def markdown_row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


_FENCE, _CODE, _BODY = "```", "    ", "  "
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_ENTRY = re.compile(r"- |\d+\. ")
_HEADING = re.compile(r"#+ ")


class PageLine(NamedTuple):
    """One line, and whether it heads what stands below it."""

    text: str
    heads: bool = False


def page_lines(page: str, columns: int = WIDTH) -> Iterator[PageLine]:
    """A page of ours as a terminal shows it: headings at the left, text in at most ``columns``, code as it stands.

    Pages have headings, paragraphs, lists of one level, code that is fenced or indented, and links, of which the words
    are left.
    """
    for text in _joined(page):
        if text.startswith(_CODE) or not text:
            yield PageLine(text)
        elif heading := _HEADING.match(text):
            yield PageLine(text[heading.end() :].replace("`", ""), heads=True)
        else:
            entry = _ENTRY.match(text)
            below = _BODY + " " * (entry.end() if entry else 0)
            yield from map(PageLine, lines.prose(_LINK.sub(r"\1", text), _BODY, below, columns).split("\n"))


def _joined(page: str) -> Iterator[str]:
    """Each paragraph and each entry of a list on one line; code behind ``_CODE``; what is empty as it is."""
    fenced = False
    parts: list[str] = []
    for line in page.rstrip("\n").split("\n"):
        fence = line.startswith(_FENCE)
        if parts and (fence or not line or _ENTRY.match(line)):
            yield " ".join(parts)
            parts = []
        if fence:
            fenced = not fenced
        elif fenced:
            yield f"{_CODE}{line}"
        elif not line or (line.startswith(_CODE) and not parts):
            yield line
        else:
            parts.append(line.strip())
    if parts:
        yield " ".join(parts)
