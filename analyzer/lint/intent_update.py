# SPDX-License-Identifier: GPL-2.0-or-later
"""What an intent file would have to say for a build to keep its limits, and for its imported groups to be current."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from linesmith.analyzer.intent import applies
from linesmith.analyzer.intent.entry import budget
from linesmith.analyzer.intent.rewriting import Rewrite
from linesmith.analyzer.intent.statements import Path
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint.linted import Linted, Policy
from linesmith.analyzer.lint.linting import lint
from linesmith.analyzer.lint.pairs import of_one
from linesmith.analyzer.model import (
    Intent,
    Layout,
    MemberGroup,
    SizeBudget,
    TypeIntent,
    Violation,
)
from linesmith.analyzer.rules import Side, budget_exceeded, group_overflow
from linesmith.analyzer.rules.marked_group import marked_groups

MARKED = "marked by __cacheline_group_begin()"
_LIMITS = (budget_exceeded.RULE, group_overflow.RULE)
_OBJECTS = "objects-per-slab"
_KEYS = {"bytes": "bytes", "cache lines": "lines", budget_exceeded.OBJECTS: _OBJECTS}
# No slab holds so many.
_NEVER = 1 << 32


def stale(
    intent: Intent, side: Side, configuration: frozenset[str] | None, *, tightened: bool = False
) -> tuple[Rewrite, ...]:
    """What is to be written instead, in the order of the file.

    Limits that the build exceeds become what it has, bytes with the room to grow that a new entry gets; ``tightened``,
    those become it too that are wider. Groups that were imported from markers become what lies between these now. Which
    members are wanted where is not changed.
    """
    holds = applies(configuration)
    found: dict[Path, Rewrite] = {}
    for number, one in enumerate(intent.types):
        if holds(one) and side.layouts.variants(one.record):
            for rewrite in (*_limits(one, number, side, tightened=tightened), *_groups(one, number, side.layouts)):
                found[rewrite.path] = rewrite
    return tuple(found.values())


def marker_groups(layout: Layout, layouts: Layouts) -> Iterator[MemberGroup]:
    """The groups that a record marks, with those of their members that an intent can name, and their bytes."""
    for name, group in marked_groups(layout, layouts).items():
        members = tuple(one.path for one in group.members if one.path.isidentifier())
        if members:
            yield MemberGroup(name, members, bytes=group.span.size)


def _limits(one: TypeIntent, number: int, side: Side, *, tightened: bool) -> Iterator[Rewrite]:
    limits = dict(_limited(one, number))
    for path, now in _taken(one, number, side).items():
        wanted = _with_room(one, now, side) if path[2:] == ("budget", "bytes") else now
        least = path[-1] == _OBJECTS
        exceeded = now < limits[path] if least else now > limits[path]
        wide = wanted > limits[path] if least else wanted < limits[path]
        if exceeded or (tightened and wide):
            yield Rewrite(path, wanted)


def _with_room(one: TypeIntent, now: int, side: Side) -> int:
    """As many bytes as a new entry would allow: no more than its objects per slab do, where it limits these."""
    layout = next((each for each in side.layouts.variants(one.record) if each.size == now), None)
    slabs = side.slabs and one.budget.objects_per_slab is not None
    room = budget(layout, side.kernel if slabs else None).bytes if layout else None
    return now if room is None else room


def _limited(one: TypeIntent, number: int) -> Iterator[tuple[Path, int]]:
    """Each limit that the entry sets, with its key."""
    limits: Path = ("type", number, "budget")
    said: list[tuple[Path, int | None]] = [
        ((*limits, "bytes"), one.budget.bytes),
        ((*limits, "lines"), one.budget.lines),
        ((*limits, _OBJECTS), one.budget.objects_per_slab),
    ]
    for place, group in enumerate(one.groups):
        said += [(("type", number, "group", place, key), getattr(group, key)) for key in ("lines", "bytes")]
    return ((path, limit) for path, limit in said if limit is not None)


def _taken(one: TypeIntent, number: int, side: Side) -> Mapping[Path, int]:
    """What the build takes of each limit: what the rules tell of limits that nothing keeps."""
    groups = tuple(replace(each, lines=0, bytes=0) for each in one.groups)
    wanting = replace(one, budget=SizeBudget(0, 0, _NEVER), groups=groups)
    policy = Policy(_LIMITS, lambda *_: "", Intent(types=(wanting,)))
    limits = dict(_limited(one, number))
    worst: dict[Path, int] = {}
    for violation in lint(Linted("", side, of_one(side.layouts, (one.record,)).pairs), policy).violations:
        path = _path(violation, one, number)
        if path in limits:
            now = int(violation.figures[0].new or 0)
            worst[path] = (min if path[-1] == _OBJECTS else max)(now, worst.get(path, now))
    return worst


def _path(violation: Violation, one: TypeIntent, number: int) -> Path | None:
    """The key that says what was exceeded; none for a marked group, of which the file says nothing."""
    if violation.rule == budget_exceeded.RULE.name:
        return "type", number, "budget", _KEYS[violation.subject]
    key = violation.figures[0].name
    place = next((place for place, group in enumerate(one.groups) if f"{group.name} {key}" == violation.subject), None)
    return None if place is None else ("type", number, "group", place, key)


def _groups(one: TypeIntent, number: int, layouts: Layouts) -> Iterator[Rewrite]:
    """Imported groups as the markers have them now; one whose markers are gone stays."""
    if not one.reason.startswith(MARKED):
        return
    layout = layouts.variants(one.record)[0]
    now = {group.name: group for group in marker_groups(layout, layouts)}
    for place, group in enumerate(one.groups):
        known = now.get(group.name)
        if known is not None and known.members != group.members:
            yield Rewrite(("type", number, "group", place, "members"), known.members)
        if known is not None and known.bytes and group.bytes and known.bytes != group.bytes:
            yield Rewrite(("type", number, "group", place, "bytes"), known.bytes)
