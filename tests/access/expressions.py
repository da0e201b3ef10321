# SPDX-License-Identifier: GPL-2.0-or-later
"""What the sources say is reached on each line: the output of ``member_expressions``, indexed by file and line."""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# Longer statements are bodies of macros rather than something a line table spreads.
MOST_LINES = 60

Member = tuple[str, str]
"""A record's name and the path of a member in it, through records that have no name of their own."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A place that a source reaches: ``members`` outermost first, each with the record that has a name."""

    members: tuple[Member, ...]
    variable: str
    type: str
    bytes: int
    whole: bool

    @property
    def text(self) -> str:
        steps = ".".join(member for _, member in self.members)
        first = f"{self.variable}." if self.variable else f"{self.members[0][0]}." if self.members else ""
        name = f"{first}{steps}".rstrip(".") or f"*({self.type} *)"
        return f"{name} (all of it)" if self.whole else name


@dataclass(slots=True)
class Expressions:
    """Expressions by (file, line): those on the line, and those of statements that the line is a part of."""

    on_line: dict[tuple[str, int], list[Expression]] = field(default_factory=lambda: defaultdict(list))
    in_statement: dict[tuple[str, int], list[Expression]] = field(default_factory=lambda: defaultdict(list))
    files: set[str] = field(default_factory=set)


def members_of(steps: Iterable[Sequence[str]]) -> tuple[Member, ...]:
    """Members by records with a name: what lies in a nameless record counts for the last named one around it."""
    members: list[Member] = []
    for record, member in steps:
        if record or not members:
            members.append((record, member))
        else:
            holder, path = members[-1]
            members.append((holder, f"{path}.{member}"))
    return tuple(members)


def relative(path: str, roots: Sequence[str]) -> str:
    """``path`` without the first of the roots that it lies under, and without ``./`` and ``..``."""
    normal = os.path.normpath(path)
    for root in roots:
        if normal.startswith(root.rstrip("/") + "/"):
            return normal[len(root.rstrip("/")) + 1 :]
    return normal


def read_expressions(paths: Sequence[Path], roots: Sequence[str]) -> Expressions:
    """The union of the files, with paths below the roots made relative."""
    found = Expressions()
    names: dict[str, str] = {}
    same: dict[Expression, Expression] = {}
    for path in paths:
        with gzip.open(path, "rt") as lines:
            for line in lines:
                _add(json.loads(line), found, names, same, roots)
    return found


def _add(
    entry: Mapping[str, object],
    found: Expressions,
    names: dict[str, str],
    same: dict[Expression, Expression],
    roots: Sequence[str],
) -> None:
    path = str(entry["file"])
    name = names.setdefault(path, "") or relative(path, roots)
    names[path] = name
    found.files.add(name)
    expression = _expression(entry)
    expression = same.setdefault(expression, expression)
    line = entry["line"]
    assert isinstance(line, int)
    found.on_line[name, line].append(expression)
    first, last = entry["statement"]  # type: ignore[misc]
    if first < last <= first + MOST_LINES:  # type: ignore[has-type]
        for other in range(first, last + 1):  # type: ignore[has-type]
            if other != line:
                found.in_statement[name, other].append(expression)


def _expression(entry: Mapping[str, object]) -> Expression:
    steps = entry["steps"]
    assert isinstance(steps, list)
    size = entry["bytes"]
    assert isinstance(size, int)
    variable, whole = str(entry.get("variable", "")), bool(entry.get("whole", False))
    return Expression(members_of(steps), variable, str(entry["type"]), size, whole)
