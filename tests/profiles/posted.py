# SPDX-License-Identifier: GPL-2.0-or-later
"""A small report as people post it, what mails and editors do to it, and what is read of a text in comparison."""

from __future__ import annotations

import html
import re
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from linesmith.analyzer.model import Access, CacheLine, Profile
from linesmith.plugins.registry import read_profiles

RULE = "  " + "-" * 70
HEAD = f"{RULE}\n      0       40      400       30       20       10  0xffff888100000040\n{RULE}\n"
FIRST = (
    "          75.00%   50.00%  100.00%    0.00%    0.00%                 0x8     0       1  0xffffffff81200010"
    "       300       200       100      900        64  [k] take_ticket   [kernel.kallsyms]  take_ticket+16   0  1\n"
)
SECOND = (
    "          25.00%   50.00%    0.00%  100.00%  100.00%                0x10     0       1  0xffffffff81200020"
    "       310       210       110      800        63  [k] give_ticket   [kernel.kallsyms]  give_ticket+32   0\n"
)
REPORT = HEAD + FIRST + SECOND


def read(given: str | bytes) -> tuple[Profile, ...]:
    """Every report in the text, read by the source that knows it."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(given if isinstance(given, bytes) else given.encode("utf-8", "surrogatepass"))
        file.flush()
        return tuple(replace(one, source="") for one in read_profiles(Path(file.name)))


def read_one(text: str) -> Profile:
    (profile,) = read(text)
    return profile


def remarks(profile: Profile) -> str:
    return "\n".join(remark.text for remark in profile.remarks)


def values(profile: Profile) -> dict[str, Any]:
    """What is read of the first line, its first and its second row, and of the profile."""
    line, *_ = profile.lines
    parts: list[tuple[str, CacheLine | Access]] = [("line", line)]
    parts += zip(("first", "second"), line.accesses, strict=False)
    found = {f"{part} {one.name}": getattr(of, one.name) for part, of in parts for one in fields(of)}
    found |= {"display": profile.display, "title": profile.title, "remarks": remarks(profile)}
    found |= {"lines": len(profile.lines), "rows": len(line.accesses), "stores": profile.has_stores}
    return {name: value for name, value in found.items() if "text_line" not in name and name != "line accesses"}


def differences(text: str) -> dict[str, Any]:
    """What is read otherwise than of ``REPORT``."""
    plain = values(read_one(REPORT))
    return {name: value for name, value in values(read_one(text)).items() if plain.get(name) != value}


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
