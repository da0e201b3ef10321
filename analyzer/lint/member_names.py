# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of members in intents, and those that a change gave the same members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from linesmith.analyzer.geometry import named
from linesmith.analyzer.intent.check import members_of
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint.pairs import Pair
from linesmith.analyzer.lint.renamed_member import now_called
from linesmith.analyzer.model import Intent, TypeIntent

# Other names of members, by what they were called.
Names = Mapping[str, str]


def said_members(record: str, intent: Intent, pairs: Iterable[Pair], sides: tuple[Layouts, Layouts]) -> dict[str, str]:
    """The members of a record that nothing is called by any more, and what all its versions call them now."""
    versions = [((old, sides[0]), (new, sides[1])) for old, new in pairs if old and new and old.name == record]
    said = [name for one in intent.of(record) for name in members_of(one)]
    said += [one.member for one in intent.suppressions if one.record == record]
    found: dict[str, str] = {}
    for path in dict.fromkeys(said):
        known = [(before, after) for before, after in versions if named(*before, path)]
        if known and not any(named(*after, path) for _, after in versions):
            names = {now_called(path, before, after) for before, after in known}
            name = names.pop()
            if name is not None and not names:
                found[path] = name
    return found


def called(one: TypeIntent, names: Names) -> TypeIntent:
    """The same wants of the members as they are called by ``names``."""
    return replace(
        one,
        hot=_called(one.hot, names),
        read_mostly=_called(one.read_mostly, names),
        write_hot=_called(one.write_hot, names),
        groups=tuple(replace(group, members=_called(group.members, names)) for group in one.groups),
        isolations=tuple(
            replace(each, members=_called(each.members, names), apart_from=_called(each.apart_from, names))
            for each in one.isolations
        ),
    )


def _called(members: tuple[str, ...], names: Names) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names.get(one, one) for one in members))
