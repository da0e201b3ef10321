# SPDX-License-Identifier: GPL-2.0-or-later
"""A small report as people post it, and what was read of a text in comparison with it."""

from __future__ import annotations

import tempfile
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
