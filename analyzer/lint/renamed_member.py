# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that only got another name, found in their record as it was and as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from linesmith.analyzer.geometry import Named, nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout

_PART = re.compile(r"(\w+)(.*)", re.ASCII)
# Nobody writes a path of more parts; damaged debug information has records that hold themselves.
_MOST_PARTS = 16

Version = tuple[Layout, Layouts]


def now_called(path: str, before: Version, after: Version, parts: int = _MOST_PARTS) -> str | None:
    """What the member ``path`` of the record ``before`` is called ``after``; ``None`` where nothing shows it for sure.

    Behind the member that it followed, as many of its type came as went, and it is the only one of them, or the one
    that lies where it lay.
    """
    first, _, rest = path.partition(".")
    part = _PART.fullmatch(first)
    was, now = ({one.path: one for one in nameable(*version)} for version in (before, after))
    if part is None or part[1] not in was or not parts:
        return None
    old = was[part[1]]
    new = now.get(old.path) or _successor(old, was, now)
    if new is None:
        return None
    if not rest:
        return f"{new.path}{part[2]}"
    if old.member.record is None or new.member.record is None:
        return None
    inside = (before[1].by_id(old.member.record), before[1]), (after[1].by_id(new.member.record), after[1])
    found = now_called(rest, *inside, parts - 1)
    return found and f"{new.path}{part[2]}.{found}"


def _successor(old: Named, was: Mapping[str, Named], now: Mapping[str, Named]) -> Named | None:
    gone, came = _alone(was, now), _alone(now, was)
    behind = next(name for name, members in gone.items() if old in members)
    rivals = [one for one in gone[behind] if _described(one) == _described(old)]
    found = [one for one in came.get(behind, ()) if _described(one) == _described(old)]
    if len(found) != len(rivals):
        return None
    there = found if len(found) == 1 else [one for one in found if one.span == old.span]
    return there[0] if len(there) == 1 else None


def _alone(mine: Mapping[str, Named], theirs: Mapping[str, Named]) -> dict[str, list[Named]]:
    """The members that only one version has, by the last one in front of them that both have (empty: none)."""
    found: dict[str, list[Named]] = {}
    behind = ""
    for path, one in mine.items():
        if path in theirs:
            behind = path
        else:
            found.setdefault(behind, []).append(one)
    return found


def _described(one: Named) -> tuple[object, ...]:
    """What a member has whatever it is called."""
    member = one.member
    return member.type, member.dimensions, member.size, member.bit_size
