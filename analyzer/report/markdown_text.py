# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of others put into Markdown (CommonMark, GitHub's and GitLab's kinds), where it only shows.

Names and reasons come from files that anyone may have written. In a comment they must not become a table, a link, HTML,
a mention of somebody or a reference to an issue.
"""

from __future__ import annotations

import re

from linesmith.analyzer.base.visible import visible

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
    return "".join(_said(shown, index) for index in range(len(shown)))


def _shown(text: str) -> str:
    """On one line, of bounded length, with nothing that does not show."""
    shown = visible(re.sub(r"[\r\n\t]+", " ", text))
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _said(text: str, index: int) -> str:
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
