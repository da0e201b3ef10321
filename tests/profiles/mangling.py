# SPDX-License-Identifier: GPL-2.0-or-later
"""What mails, archives and editors do to a report, one function each."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable


def collapsed(text: str) -> str:
    """All white space is one blank: what an archive's search index keeps."""
    return " ".join(text.split())


def without_headings(text: str) -> str:
    """``#`` lines are comments to git and vanish from commit messages."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))


def quoted(text: str) -> str:
    return "".join(f"> > {line}" for line in text.splitlines(keepends=True))


def trimmed(text: str) -> str:
    """The author removed the left margin and narrowed the offset's column."""
    narrow = re.sub(r" {5,}", "   ", text)
    return "".join(line.lstrip(" ") for line in narrow.splitlines(keepends=True))


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def quoted_printable(text: str) -> str:
    """Soft line breaks at column 72, ``=`` and trailing blanks encoded."""
    encoded = text.replace("=", "=3D")
    lines = [line[:-1] + "=20" if line.endswith(" ") else line for line in encoded.split("\n")]
    return "\n".join(_softly_broken(line) for line in lines)


def _softly_broken(line: str) -> str:
    parts = []
    while len(line) > 72:
        cut = 72
        while line[cut - 2 : cut].find("=") >= 0 or line[cut - 1] == "=":
            cut -= 1
        parts.append(line[:cut] + "=")
        line = line[cut:]
    return "\n".join((*parts, line))


def wrapped(text: str) -> str:
    """Hard breaks at 76 columns, as careless mail programs make them (headings are wrapped as well)."""
    return "\n".join(
        "\n".join(textwrap.wrap(line, 76, break_long_words=False, break_on_hyphens=False)) for line in text.split("\n")
    )


def numbered(text: str) -> str:
    return "".join(f"{number:6d}\t{line}" for number, line in enumerate(text.splitlines(keepends=True), 1))


def with_carriage_returns(text: str) -> str:
    return text.replace("\n", "\r\n")


def with_hard_blanks(text: str) -> str:
    return text.replace("  ", " \u00a0")


def as_web_page(text: str) -> str:
    return f"<html><body>\n<pre>{html.escape(text)}</pre>\n</body></html>\n"


def annotated(text: str) -> str:
    """The author's remarks stand between the rows."""
    lines = text.splitlines(keepends=True)
    return "".join(
        line + ("   ^^^ look at this one!\n" if "[" in line and at % 2 else "") for at, line in enumerate(lines)
    )


MANGLERS: tuple[Callable[[str], str], ...] = (
    collapsed, quoted, trimmed, indented, quoted_printable, wrapped, numbered, with_carriage_returns, with_hard_blanks,
    as_web_page, annotated,
)  # fmt: skip
