# SPDX-License-Identifier: GPL-2.0-or-later
"""An intent file that goes after records and members to the names that a change gave them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from linesmith.analyzer.intent.rewriting import Rewrite
from linesmith.analyzer.intent.statements import Path
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint.member_names import Names, called, said_members
from linesmith.analyzer.lint.pairs import of_two
from linesmith.analyzer.lint.renamed import joined, renamed
from linesmith.analyzer.model import Intent, Suppression


@dataclass(frozen=True, slots=True)
class Followed:
    """The intent with the names that hold now, what its file has to say for them, and sentences on what has another."""

    intent: Intent
    rewrites: tuple[Rewrite, ...] = ()
    told: tuple[str, ...] = ()


def followed(intent: Intent, old: Layouts, new: Layouts) -> Followed:
    """The intent of the build before as it is to be for the build with the change.

    Raises ``TypeNotFound`` where the builds have no record in common.
    """
    said = {*intent.lint.types, *(one.record for one in intent.types), *(one.record for one in intent.suppressions)}
    pairs = of_two(old, new, (), said).pairs
    # Where the new name has an entry of its own, there is nothing to follow.
    gone = renamed(pairs, (old, new), lambda layout: layout.name in said)
    found = [one for one in gone if not intent.of(one.new.name)]
    records = {one.old.name: one.new.name for one in found}
    kept = [pair for pair in joined(pairs, found) if pair[0] and pair[1] and pair[0].name in said]
    members = {name: said_members(name, intent, kept, (old, new)) for name in sorted(said)}
    types = tuple(
        replace(called(one, members[one.record]), record=records.get(one.record, one.record)) for one in intent.types
    )
    suppressions = tuple(_suppression(one, records, members[one.record]) for one in intent.suppressions)
    lint = replace(intent.lint, types=tuple(records.get(name, name) for name in intent.lint.types))
    now = replace(intent, types=types, suppressions=suppressions, lint=lint)
    told = (
        *(f"{one.old.title} is gone, and {one.told}: its entries go with it" for one in found),
        *(f"{was} of {name} is called {is_} now" for name, names in members.items() for was, is_ in names.items()),
    )
    return Followed(now, tuple(_rewrites(intent, now)), told)


def _suppression(one: Suppression, records: Mapping[str, str], names: Names) -> Suppression:
    return replace(one, record=records.get(one.record, one.record), member=names.get(one.member, one.member))


def _rewrites(before: Intent, now: Intent) -> Iterator[Rewrite]:
    """What differs between the two, which say the same of the same things, at its place in the file."""
    was = dict(_said(before))
    for path, value in _said(now):
        if value != was[path]:
            yield Rewrite(path, value)


def _said(intent: Intent) -> Iterator[tuple[Path, str | tuple[str, ...]]]:
    """Whatever in the file names records or members."""
    yield ("lint", "types"), intent.lint.types
    for number, one in enumerate(intent.types):
        place: Path = ("type", number)
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
