# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents held against builds: whether their names are there, whether they hold, whether they contradict each other.

``followed`` is an intent that goes after records and members to the names that a change gave them; ``stale`` is what
the file would have to say for a build to keep its limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from linesmith.analyzer.base.toml import KeyPath
from linesmith.analyzer.intent.check import applies, contradictions, impossible, undecided, unknown_types
from linesmith.analyzer.intent.entry import budget
from linesmith.analyzer.intent.file import Rewrite
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.lint.groups import marked_groups
from linesmith.analyzer.lint.linting import Linted, Policy, lint
from linesmith.analyzer.lint.pairs import of_one, of_two
from linesmith.analyzer.lint.renames import joined_pairs, new_member_names, renamed, with_member_names
from linesmith.analyzer.lint.rules import budget_exceeded, group_overflow
from linesmith.analyzer.lint.rules.catalogue import RULES, LintedBuild
from linesmith.analyzer.model import Intent, Layout, LintReport, MemberGroup, SizeBudget, TypeIntent, Violation

MARKED = "marked by __cacheline_group_begin()"
_LIMITS = (budget_exceeded.RULE, group_overflow.RULE)
_OBJECTS = "objects-per-slab"
_KEYS = {"bytes": "bytes", "cache lines": "lines", budget_exceeded.OBJECTS: _OBJECTS}
# No slab holds so many.
_NEVER = 1 << 32


def checked(intent: Intent, head: str, build: LintedBuild, configuration: frozenset[str] | None) -> LintReport:
    """What is wrong with the intents themselves, and what the build called ``head`` breaks of them.

    Those of another configuration are left out; where it is not known, a remark tells which.
    """
    holding = tuple(filter(applies(configuration), intent.types))
    layouts = build.layouts
    wrong = (*contradictions(intent), *unknown_types(holding, layouts), *impossible(holding, layouts))
    names = dict.fromkeys(one.record for one in holding if layouts.variants(one.record))
    found = of_one(layouts, tuple(names)) if names else None
    linted = Linted(head, build, found.pairs if found else ())
    rules = tuple(rule for rule in RULES if rule.of_intent)
    broken = lint(linted, Policy(rules, lambda *_: "", intent, applies(configuration)))
    return LintReport(
        head,
        violations=tuple(sorted((*wrong, *broken.violations), key=lambda one: one.order)),
        compared=len(names),
        watched=broken.watched,
        rules=broken.rules,
        remarks=undecided(intent, configuration),
    )


@dataclass(frozen=True, slots=True)
class FollowedIntent:
    """The intent with the names that hold now, what its file has to say for them, and sentences on what has another."""

    intent: Intent
    rewrites: tuple[Rewrite, ...] = ()
    remarks: tuple[str, ...] = ()


def followed(intent: Intent, old: Layouts, new: Layouts) -> FollowedIntent:
    """The intent of the build before as it is to be for the build with the change.

    Raises ``TypeNotFound`` where the builds have no record in common.
    """
    said = {*intent.lint.types, *(one.record for one in intent.types), *(one.record for one in intent.suppressions)}
    pairs = of_two(old, new, (), said).pairs
    # Where the new name has an entry of its own, there is nothing to follow.
    gone = renamed(pairs, (old, new), lambda layout: layout.name in said)
    found = [one for one in gone if not intent.of(one.new.name)]
    records = {one.old.name: one.new.name for one in found}
    kept = [pair for pair in joined_pairs(pairs, found) if pair[0] and pair[1] and pair[0].name in said]
    members = {name: new_member_names(name, intent, kept, (old, new)) for name in sorted(said)}
    types = tuple(
        replace(with_member_names(one, members[one.record]), record=records.get(one.record, one.record))
        for one in intent.types
    )
    suppressions = tuple(
        replace(one, record=records.get(one.record, one.record), member=members[one.record].get(one.member, one.member))
        for one in intent.suppressions
    )
    lint = replace(intent.lint, types=tuple(records.get(name, name) for name in intent.lint.types))
    now = replace(intent, types=types, suppressions=suppressions, lint=lint)
    told = (
        *(f"{one.old.title} no longer exists, and {one.clause}: its entries move to it" for one in found),
        *(f"{was} of {name} is now {is_}" for name, names in members.items() for was, is_ in names.items()),
    )
    # Both say the same of the same things.
    was = dict(_said(intent))
    rewrites = tuple(Rewrite(path, value) for path, value in _said(now) if value != was[path])
    return FollowedIntent(now, rewrites, told)


def _said(intent: Intent) -> Iterator[tuple[KeyPath, str | tuple[str, ...]]]:
    """Whatever in the file names records or members."""
    yield ("lint", "types"), intent.lint.types
    for number, one in enumerate(intent.types):
        place: KeyPath = ("type", number)
        yield (*place, "name"), one.record
        yield (*place, "hot"), one.hot
        yield (*place, "read-mostly"), one.read_mostly
        yield (*place, "write-hot"), one.write_hot
        for index, group in enumerate(one.groups):
            yield (*place, "group", index, "members"), group.members
        for index, isolation in enumerate(one.isolations):
            yield (*place, "isolate", index, "members"), isolation.members
            yield (*place, "isolate", index, "from"), isolation.apart_from
    for number, suppression in enumerate(intent.suppressions):
        yield ("suppress", number, "type"), suppression.record
        yield ("suppress", number, "member"), suppression.member


def stale(intent: Intent, build: LintedBuild, configuration: frozenset[str] | None) -> tuple[Rewrite, ...]:
    """What is to be written instead, in the order of the file.

    Limits that the build exceeds become what it has, bytes with the room to grow that a new entry gets. Which members
    are wanted where is not changed.
    """
    holds = applies(configuration)
    return tuple(
        rewrite
        for number, one in enumerate(intent.types)
        if holds(one) and build.layouts.variants(one.record)
        for rewrite in _exceeded(one, number, build)
    )


def marker_groups(layout: Layout, layouts: Layouts) -> Iterator[MemberGroup]:
    """The groups that a record marks, with those of their members that an intent can name, and their bytes."""
    for name, group in marked_groups(layout, layouts).items():
        members = tuple(one.path for one in group.members if one.path.isidentifier())
        if members:
            yield MemberGroup(name, members, bytes=group.span.size)


def _exceeded(one: TypeIntent, number: int, build: LintedBuild) -> Iterator[Rewrite]:
    limits = dict(_limited(one, number))
    for path, now in _taken(one, number, build).items():
        if now >= limits[path] if path[-1] == _OBJECTS else now <= limits[path]:
            continue
        wanted = now
        if path[2:] == ("budget", "bytes"):
            # As many bytes as a new entry would allow: no more than its objects per slab do, where it limits these.
            layout = next((each for each in build.layouts.variants(one.record) if each.size == now), None)
            slabs = build.slabs and one.budget.objects_per_slab is not None
            wanted = (budget(layout, build.kernel if slabs else None).bytes if layout else None) or now
        yield Rewrite(path, wanted)


def _limited(one: TypeIntent, number: int) -> Iterator[tuple[KeyPath, int]]:
    """Each limit that the entry sets, with its key."""
    limits: KeyPath = ("type", number, "budget")
    said: list[tuple[KeyPath, int | None]] = [
        ((*limits, "bytes"), one.budget.bytes),
        ((*limits, "lines"), one.budget.lines),
        ((*limits, _OBJECTS), one.budget.objects_per_slab),
    ]
    for place, group in enumerate(one.groups):
        said += [(("type", number, "group", place, key), getattr(group, key)) for key in ("lines", "bytes")]
    return ((path, limit) for path, limit in said if limit is not None)


def _taken(one: TypeIntent, number: int, build: LintedBuild) -> Mapping[KeyPath, int]:
    """What the build takes of each limit: what the rules tell of limits that nothing keeps."""
    groups = tuple(replace(each, lines=0, bytes=0) for each in one.groups)
    wanting = replace(one, budget=SizeBudget(0, 0, _NEVER), groups=groups)
    policy = Policy(_LIMITS, lambda *_: "", Intent(types=(wanting,)))
    limits = dict(_limited(one, number))
    worst: dict[KeyPath, int] = {}
    for violation in lint(Linted("", build, of_one(build.layouts, (one.record,)).pairs), policy).violations:
        path = _path(violation, one, number)
        if path in limits:
            now = int(violation.figures[0].new or 0)
            worst[path] = (min if path[-1] == _OBJECTS else max)(now, worst.get(path, now))
    return worst


def _path(violation: Violation, one: TypeIntent, number: int) -> KeyPath | None:
    """The key that says what was exceeded; none for a marked group, of which the file says nothing."""
    if violation.rule == budget_exceeded.RULE.name:
        return "type", number, "budget", _KEYS[violation.subject]
    key = violation.figures[0].name
    place = next((place for place, group in enumerate(one.groups) if f"{group.name} {key}" == violation.subject), None)
    return None if place is None else ("type", number, "group", place, key)
