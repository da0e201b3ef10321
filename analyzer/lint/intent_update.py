# SPDX-License-Identifier: GPL-2.0-or-later
"""What an intent file would have to say for a build to keep its limits, and for its imported groups to be current."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.geometry.placement import round_up
from linesmith.analyzer.intent import applies
from linesmith.analyzer.intent.entry import MARGIN
from linesmith.analyzer.intent.rewriting import Rewrite
from linesmith.analyzer.intent.statements import Path
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint.linted import Linted, Policy
from linesmith.analyzer.lint.linting import lint
from linesmith.analyzer.lint.pairs import of_one
from linesmith.analyzer.model import CACHE_LINE_BYTES, Intent, Layout, MemberGroup, TypeIntent, Violation
from linesmith.analyzer.rules import Side, budget_exceeded, group_overflow
from linesmith.analyzer.rules.marked_group import marked_groups

MARKED = "marked by __cacheline_group_begin()"
_LIMITS = (budget_exceeded.RULE, group_overflow.RULE)
_KEYS = {"bytes": "bytes", "cache lines": "lines", budget_exceeded.OBJECTS: "objects-per-slab"}


def stale(intent: Intent, side: Side, configuration: frozenset[str] | None) -> tuple[Rewrite, ...]:
    """What is to be written instead, in the order of the file.

    Limits that the build exceeds become what it has, bytes with the room to grow that a new entry gets. Groups that
    were imported from markers become what lies between these now. Which members are wanted where is not changed.
    """
    holds = applies(configuration)
    found: dict[Path, Rewrite] = {}
    for number, one in enumerate(intent.types):
        if holds(one) and side.layouts.variants(one.record):
            for rewrite in (*_limits(one, number, side), *_groups(one, number, side.layouts)):
                found[rewrite.path] = rewrite
    return tuple(found.values())


def marker_groups(layout: Layout, layouts: Layouts) -> Iterator[MemberGroup]:
    """The groups that a record marks, with those of their members that an intent can name, and their bytes."""
    for name, group in marked_groups(layout, layouts).items():
        members = tuple(one.path for one in group.members if one.path.isidentifier())
        if members:
            yield MemberGroup(name, members, bytes=group.span.size)


def _limits(one: TypeIntent, number: int, side: Side) -> Iterator[Rewrite]:
    policy = Policy(_LIMITS, lambda *_: "", Intent(types=(one,)))
    pairs = of_one(side.layouts, (one.record,)).pairs
    worst: dict[Path, int] = {}
    for violation in lint(Linted("", side, pairs), policy).violations:
        path = _path(violation, one, number)
        if path is not None:
            now = int(violation.figures[0].new or 0)
            least = path[-1] == "objects-per-slab"
            worst[path] = (min if least else max)(now, worst.get(path, now))
    for path, now in worst.items():
        roomy = path[2:] == ("budget", "bytes")
        yield Rewrite(path, round_up(now + now // MARGIN, CACHE_LINE_BYTES) if roomy else now)


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
