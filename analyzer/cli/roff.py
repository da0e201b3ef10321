# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of help as source of man(7)."""

from __future__ import annotations

import re
import textwrap

_LITERAL = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})
_PROSE = str.maketrans({"\\": r"\e", "^": r"\(ha", "~": r"\(ti"})
_COLUMNS = 78
_CODE = re.compile(r"`([^`]+)`|(?<![\w-])(--?[a-z][\w-]*)")
# click's marks: of lines to leave as they are, and of the end of what is shown
_AS_IT_IS = "\b"
_END = "\f"


def literal(text: str) -> str:
    """What a user types or reads letter by letter."""
    return _line(_ascii(text.translate(_LITERAL)))


def bold(text: str) -> str:
    """The same, set off."""
    return rf"\fB{_ascii(text.translate(_LITERAL))}\fR"


def prose(text: str) -> str:
    """A paragraph on lines of its own; what stands in backquotes and names of options are set off."""
    joined = " ".join(text.split())
    parts, at = [], 0
    for found in _CODE.finditer(joined):
        parts += [joined[at : found.start()].translate(_PROSE), bold(found[1] or found[2])]
        at = found.end()
    parts.append(joined[at:].translate(_PROSE))
    return wrapped(_ascii("".join(parts)))


def wrapped(source: str) -> str:
    """Source of running text, on lines that people can read."""
    lines = textwrap.wrap(source, _COLUMNS, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_line, lines))


def paragraphs(help_: str) -> str:
    """The help of a command: paragraphs, and blocks of lines that stay as they are."""
    made = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(help_.partition(_END)[0]).strip("\n")):
        if block.lstrip(" ").startswith(_AS_IT_IS):
            lines = textwrap.dedent(block.partition("\n")[2]).splitlines()
            made += [".PP", ".RS 4", ".EX", *map(literal, lines), ".EE", ".RE"]
        else:
            made += [".PP", prose(block)]
    return "\n".join(made[1:])


def _ascii(text: str) -> str:
    """Letters beyond ASCII by their numbers, which every formatter knows. See groff_char(7)."""
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)


def _line(text: str) -> str:
    """A line of text that begins like a request is none."""
    return rf"\&{text}" if text.startswith((".", "'")) else text
