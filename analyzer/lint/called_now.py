# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that got another name with a change: what guarded them goes on to guard them, under the new one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linesmith.analyzer.layouts import ChangedLayouts, Layouts
from linesmith.analyzer.lint.member_names import Names, called, said_members
from linesmith.analyzer.lint.renamed_member import entered, renamed_members
from linesmith.analyzer.model import Intent, Layout, Member, Violation
from linesmith.analyzer.rules import Side, Subject

_Builds = tuple[Layouts, Layouts]
_Both = tuple[Layout, Layout]


@dataclass(frozen=True, slots=True)
class CalledNow:
    """Subjects whose bases and intents call members as they are called now.

    ``were`` is what the base calls them, by the record as C names it now; ``said`` what members that intents name are
    called now, by the name that the record has in the base.
    """

    subjects: tuple[Subject, ...]
    were: Mapping[str, Names] = field(default_factory=dict)
    said: Mapping[str, Names] = field(default_factory=dict)

    def told(self, one: Violation) -> Violation:
        """The violation, with the name that its member had."""
        was = self.were.get(one.type, {}).get(one.member)
        return replace(one, message=f"{one.message}; it was likely called {was}", was=was) if was else one


def called_now(subjects: tuple[Subject, ...], sides: tuple[Side | None, Side], intent: Intent) -> CalledNow:
    """The same subjects, the members of those that are watched followed from the first build to names of the second."""
    old_side, new_side = sides
    if old_side is None:
        return CalledNow(subjects)
    builds = old_side.layouts, new_side.layouts
    watched = [(one.old, one.new) for one in subjects if one.tuned and one.old]
    guarded = dict.fromkeys(old.name for old, _ in watched if intent.of(old.name))
    said = {name: names for name in guarded if (names := said_members(name, intent, watched, builds))}
    own = {(old.id, new.id): _own(old, new, builds) for old, new in (*_held(watched, said, builds), *watched)}
    if not said and not any(own.values()):
        return CalledNow(subjects)
    base = old_side.naming(_named_anew(builds[0], {old: names for (old, _), names in own.items()}))
    were: dict[str, dict[str, str]] = {}
    for old, new in watched:
        names = own[old.id, new.id] | said.get(old.name, {})
        were.setdefault(new.title, {}).update({now: was for was, now in names.items()})
    return CalledNow(tuple(_followed(one, base, said) for one in subjects), were, said)


def _own(old: Layout, new: Layout, builds: _Builds) -> dict[str, str]:
    return renamed_members((old, builds[0]), (new, builds[1]))


def _held(watched: Sequence[_Both], said: Mapping[str, Names], builds: _Builds) -> Iterator[_Both]:
    """The records within watched ones whose members intents name."""
    for old, new in watched:
        for path in said.get(old.name, ()):
            for (before, _), (after, _) in entered(path, (old, builds[0]), (new, builds[1])):
                yield before, after


def _named_anew(layouts: Layouts, names: Mapping[int, Names]) -> Layouts:
    """The layouts with members of some records, by their ids, called otherwise."""
    changed = (one for layout, each in names.items() if each for one in _parts(layouts.by_id(layout), layouts, each))
    return ChangedLayouts(layouts, tuple(changed))


def _parts(layout: Layout, layouts: Layouts, names: Names) -> Iterator[Layout]:
    """The record and its parts without a name, as far as they declare members that get another one."""
    waiting, seen = [layout], {layout.id}
    for one in waiting:  # grows while it is walked
        if any(member.name in names for member in one.members):
            yield replace(one, members=tuple(_called(member, names) for member in one.members))
        inner = {member.record for member in one.members if not member.name and member.record is not None} - seen
        seen |= inner
        waiting += [layouts.by_id(part) for part in sorted(inner)]


def _called(member: Member, names: Names) -> Member:
    name = names.get(member.name)
    if name is None:
        return member
    return replace(
        member, name=name, declarator=re.sub(rf"\b{re.escape(member.name)}\b", name, member.declarator, count=1)
    )


def _followed(subject: Subject, base: Side, said: Mapping[str, Names]) -> Subject:
    """What nobody watches has no use for the names; nor has a record that is new."""
    if not subject.tuned or subject.old is None:
        return subject
    names = said.get(subject.old.name, {})
    intents = tuple(called(one, names) if one.record == subject.old.name else one for one in subject.intents)
    return replace(subject, old=base.layouts.by_id(subject.old.id), base=base, intents=intents)
