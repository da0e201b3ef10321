# SPDX-License-Identifier: GPL-2.0-or-later
r"""Tables of changes and of what a command says of each, for tests of lints.

A case is a paragraph that begins with ``# the name of the test``. Behind the first character of each further line: "-"
the base, "+" the head, "=" both of them, "$" more options, "?" the exit status, "!" what is said, "x" what is not.
@NAME is a text of the test, behind which ``s/old/new/`` changes it; ``\n`` and ``\t`` are what they are in C, and A is
an alignment to 64.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_CHANGE = re.compile(r" s/((?:\\.|[^/])*)/((?:\\.|[^/])*)/")


@dataclass(frozen=True)
class Case:
    """A paragraph of a table."""

    title: str
    lines: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return self.title

    def all(self, signs: str) -> list[str]:
        """What the lines with one of these signs say."""
        return [text for sign, text in self.lines if sign in signs]

    def check(self, done: subprocess.CompletedProcess[str]) -> None:
        """Hold what a command said against the case."""
        said = done.stdout + done.stderr
        assert str(done.returncode) in (self.all("?") or ["0", "1"]), said
        assert [text for text in self.all("!") if _plain(text) not in said] == [], said
        assert [text for text in self.all("x") if _plain(text) in said] == [], said


def cases(table: Path) -> list[Case]:
    """The paragraphs of a table; what is in front of the first one is for readers."""
    found = []
    for paragraph in table.read_text().split("\n# ")[1:]:
        title, *lines = paragraph.splitlines()
        found.append(Case(title, tuple((line[0], line[2:]) for line in lines if line)))
    return found


def filled(text: str, texts: Mapping[str, str]) -> str:
    """A text of the table as a file has it."""
    before, at, rest = text.partition("@")
    if at:
        name = re.match(r"\w+", rest)
        assert name
        made = texts[name[0]]
        for old, new in _CHANGE.findall(rest):
            made = made.replace(_plain(old), _plain(new))
        text = before + made + _CHANGE.sub("", rest[name.end() :])
    return re.sub(r"\bA\b", "__attribute__((aligned(64)))", _plain(text))


def _plain(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\/", "/")
