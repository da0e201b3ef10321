# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of a layout that matters to a change, in pahole's style: some members, their neighbours, their lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from linesmith.analyzer.geometry import flatten
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member
from linesmith.analyzer.report.pahole import Beside, Rendering

NEIGHBOURS = 1
_CLOSE = re.compile(r"\t[^\t].*/\* +\d+(?::[ \d]+)? +\d+ \*/(?: /\* .* \*/)?$")
_REMARK = re.compile(r"\t/\* XXX ")
_MEMBER = re.compile(r"\t+[^\t/]")
_BOUNDARY = re.compile(r"\t/\* --- cacheline")


def excerpt(
    layout: Layout,
    layouts: Layouts,
    shown: frozenset[str],
    marked: frozenset[str],
    heat: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Lines of the layout with the members ``shown`` and their neighbours; those ``marked`` begin with ``>``.

    What is left out in between is told by one line with an ellipsis. ``heat`` stands behind the members it names.
    """
    text = Rendering(layouts, beside=lambda _layout: _beside(heat)).text(layout).splitlines()
    owners = _owners(text)
    wanted = [index for index, member in enumerate(layout.members) if _is_one_of(member, shown, layouts)]
    near = {index + step for index in wanted for step in range(-NEIGHBOURS, NEIGHBOURS + 1)}
    flagged = {index for index, member in enumerate(layout.members) if _is_one_of(member, marked, layouts)}
    keep = [owner is None or owner in near for owner in owners]
    return list(_elided(text, _without_idle(text, keep), [owner in flagged for owner in owners]))


def _beside(heat: Mapping[str, str]) -> Beside:
    return lambda _offset, member: heat.get(member.name, "")


def _is_one_of(member: Member, names: frozenset[str], layouts: Layouts) -> bool:
    """Whether the member, or one inside it when it is anonymous, has one of the names."""
    if member.name or member.record is None:
        return member.name in names
    leaves = flatten(layouts.by_id(member.record), layouts)
    return any(leaf.path.partition(".")[0].partition("[")[0] in names for leaf in leaves)


def _owners(text: Sequence[str]) -> list[int | None]:
    """For each line of ``text`` the member it shows; ``None`` for the head, boundaries and the trailer.

    The lines of a nested record belong to the member that closes it, remarks on a hole to the member before it.
    """
    closes = [number for number, line in enumerate(text) if _CLOSE.match(line)]
    return [_owner(line, bisect_left(closes, number), len(closes)) for number, line in enumerate(text)]


def _owner(line: str, closed: int, members: int) -> int | None:
    """The member that ``line`` shows, of which ``closed`` have been written before it."""
    behind = not line or _REMARK.match(line)
    outside = (closed == members and not _REMARK.match(line)) or line[:1].strip()
    if outside or _BOUNDARY.match(line):
        return None
    return closed - 1 if behind else closed


def _elided(text: Sequence[str], keep: Sequence[bool], flagged: Sequence[bool]) -> Iterator[str]:
    skipping = False
    for line, kept, mark in zip(text, keep, flagged, strict=True):
        if kept:
            yield f"{'>' if mark and line and not _REMARK.match(line) else ' '} {line}".expandtabs(8).rstrip()
        elif not skipping:
            yield "          ..."
        skipping = not kept


def _without_idle(text: Sequence[str], keep: Sequence[bool]) -> list[bool]:
    """Leaves out boundaries between which nothing is shown, but for the last one before a member that is."""
    kept = list(keep)
    seen = False
    for place in range(len(text) - 1, -1, -1):
        if not keep[place]:
            continue
        boundary = bool(_BOUNDARY.match(text[place]))
        if boundary and not seen:
            kept[place] = False
        seen = not boundary and (bool(_MEMBER.match(text[place])) or seen)
    return kept
