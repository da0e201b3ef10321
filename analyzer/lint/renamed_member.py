# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that only got another name, found in their record as it was and as it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linesmith.analyzer.geometry import Named, nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout

_PART = re.compile(r"(\w+)(.*)", re.ASCII)
# Room that is taken by something new is no other name for it.
_ROOM = re.compile(
    r"_*(?:\w+_)?(?:reserved|unused|spare|dummy|filler|rsvd?|pad(?:ding)?)_?\d*_*", re.ASCII | re.IGNORECASE
)
# Nobody writes a path of more parts; damaged debug information has records that hold themselves.
_MOST_PARTS = 16

Version = tuple[Layout, Layouts]
_Members = Mapping[str, Named]


def now_called(path: str, before: Version, after: Version, parts: int = _MOST_PARTS) -> str | None:
    """What the member ``path`` of the record ``before`` is called ``after``; ``None`` where nothing shows it for sure.

    Behind the member that it followed, as many of its type came as went, and it is the only one of them, or the one
    that lies where it lay.
    """
    step = _step(path, before, after) if parts else None
    if step is None:
        return None
    if not step.rest:
        return step.name
    found = now_called(step.rest, *step.inside, parts - 1) if step.inside else None
    return found and f"{step.name}.{found}"


def entered(path: str, before: Version, after: Version, parts: int = _MOST_PARTS) -> Iterator[tuple[Version, Version]]:
    """The two versions of each record on the way to the member, those of one name; an element's own version first."""
    step = _step(path, before, after) if parts else None
    if step is None or not step.rest or step.inside is None:
        return
    (old, _), (new, _) = step.inside
    if old.name == new.name:
        yield step.inside
    yield from entered(step.rest, *step.inside, parts - 1)


def renamed_members(before: Version, after: Version) -> dict[str, str]:
    """What the record's own members are called now that have bytes and whose names are gone, by these names."""
    found = _successors(*_members(before, after))
    return {
        path: one.path
        for path, one in found.items()
        if one.span.size and path.isidentifier() and one.path.isidentifier()
    }


@dataclass(frozen=True, slots=True)
class _Step:
    """What the first part of a path is called now, the ``rest`` of it, and the records in which that goes on."""

    name: str
    rest: str
    inside: tuple[Version, Version] | None


def _step(path: str, before: Version, after: Version) -> _Step | None:
    first, _, rest = path.partition(".")
    part = _PART.fullmatch(first)
    was, now = _members(before, after)
    if part is None or part[1] not in was:
        return None
    old = was[part[1]]
    new = now.get(old.path) or _successors(was, now).get(old.path)
    if new is None:
        return None
    records = old.member.record, new.member.record
    inside = None
    if records[0] is not None and records[1] is not None:
        inside = (before[1].by_id(records[0]), before[1]), (after[1].by_id(records[1]), after[1])
    return _Step(f"{new.path}{part[2]}", rest, inside)


def _members(before: Version, after: Version) -> tuple[_Members, _Members]:
    was, now = ({one.path: one for one in nameable(*version)} for version in (before, after))
    return was, now


def _successors(was: _Members, now: _Members) -> dict[str, Named]:
    """Each member that is gone and surely has another name, with what it is now, by its old name."""
    gone, came = _alone(was, now), _alone(now, was)
    found: dict[str, Named] = {}
    for place, rivals in gone.items():
        others = came.get(place, [])
        if len(others) != len(rivals):
            continue
        before, after = (Counter(one.span for one in some) for some in (rivals, others))
        there = {one.span: one for one in others if before[one.span] == after[one.span] == 1}
        for one in rivals:
            new = others[0] if len(others) == 1 else there.get(one.span)
            if new is not None:
                found[one.path] = new
    return found


def _alone(mine: _Members, theirs: _Members) -> dict[tuple[object, ...], list[Named]]:
    """The members that only one version has, by what they are and the last one before them that both have."""
    found: dict[tuple[object, ...], list[Named]] = {}
    behind = ""
    for path, one in mine.items():
        if path in theirs:
            behind = path
        elif not _ROOM.fullmatch(one.member.name):
            found.setdefault((behind, *_described(one)), []).append(one)
    return found


def _described(one: Named) -> tuple[object, ...]:
    """What a member has whatever it is called."""
    member = one.member
    return member.type, member.dimensions, member.size, member.bit_size
