# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases of C text that is changed, kept in files of their own, where a change reads as a diff.

Such a file begins with a paragraph about all of its cases. A case is a title, lines that say what is asked, and text::

    == a member moves in front of another
    @ move b first
    +	int b;
        int a;
    -	int b;

The text is the body of ``struct s`` unless it declares that itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_DECLARED = re.compile(r"\b(struct|union) s\b[^;]*\{")
_TITLE, _ASKED = "== ", "@ "


@dataclass(frozen=True)
class TextCase:
    """A case as it is written; ``asked`` are the words of each line of what is asked."""

    title: str
    asked: tuple[tuple[str, ...], ...]
    lines: tuple[str, ...]

    def words(self, verb: str) -> str | None:
        """What follows ``verb`` in the line that begins with it."""
        return next((" ".join(rest) for first, *rest in self.asked if first == verb), None)

    @property
    def before(self) -> bytes:
        """The lines that stay or go."""
        return self._text("-")

    @property
    def after(self) -> bytes:
        """The lines that stay or come."""
        return self._text("+")

    def _text(self, sign: str) -> bytes:
        text = declared([line[1:] for line in self.lines if line[:1] in ("", " ", sign)])
        return (text.replace("\n", "\r\n") if self.words("lines") == "end in CR LF" else text).encode()


def declared(lines: list[str]) -> str:
    """The lines as a file that declares ``struct s``."""
    text = "".join(f"{line}\n" for line in lines)
    return text if _DECLARED.search(text) else f"struct s {{\n{text}}};\n"


def text_cases(*files: Path) -> pytest.MarkDecorator:
    """Runs a test with each case of the files as ``case``."""
    found = [pytest.param(one, id=one.title) for file in files for one in read_cases(file)]
    return pytest.mark.parametrize("case", found)


def read_cases(file: Path) -> Iterator[TextCase]:
    """The cases of a file, in their order."""
    for written in f"\n{file.read_text(encoding='utf-8')}".split(f"\n{_TITLE}")[1:]:
        title, *lines = written.rstrip("\n").split("\n")
        asked = [line.removeprefix(_ASKED).split() for line in lines if line.startswith(_ASKED)]
        yield TextCase(title, tuple(map(tuple, asked)), tuple(lines[len(asked) :]))


def files_in(file: Path) -> dict[str, str]:
    """The files of a small tree: each is a case whose title is its name."""
    return {one.title: "".join(f"{line}\n" for line in one.lines) for one in read_cases(file)}


def text_rows(file: Path) -> pytest.MarkDecorator:
    """Runs a test with each ``source`` of a file and what is ``expected`` of it: the lines that begin with ``=> ``.

    Rows are divided by empty lines; the first is a paragraph about all of them.
    """
    rows = [row.split("\n") for row in file.read_text(encoding="utf-8").rstrip("\n").split("\n\n")[1:]]
    sources = [[line for line in row if not line.startswith("=> ")] for row in rows]
    found = [
        ("\n".join(source), [line[3:] for line in row[len(source) :]])
        for source, row in zip(sources, rows, strict=True)
    ]
    ids = [source[-1].strip().replace(" - ", "-") for source in sources]
    return pytest.mark.parametrize(("source", "expected"), found, ids=ids)
