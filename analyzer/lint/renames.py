# SPDX-License-Identifier: GPL-2.0-or-later
"""Records and members that only got another name: what guarded them is to go on guarding them.

``renamed`` finds the records; members are followed through a record as it was and as it is. ``with_new_names`` are the
records under lint, with bases and intents that call members as they are called now.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice

from linesmith.analyzer.intent.check import members_of
from linesmith.analyzer.layouts.collection import ChangedLayouts, Layouts
from linesmith.analyzer.layouts.leaves import Named, nameable, named
from linesmith.analyzer.lint.pairs import Pair
from linesmith.analyzer.lint.rules.rule import LintedBuild, LintedRecord, RecordVersion
from linesmith.analyzer.model import Intent, Layout, Member, TypeIntent, Violation

# A record of fewer members is like too many others.
_LEAST_ALIKE = 4
# So many pairs of records are compared; a change that gives thousands of records other names is not followed.
_MOST_COMPARED = 1 << 20
# Of all members of both so many must be alike, by name and type, for one to be the other.
_ALIKE = 0.75

_PART = re.compile(r"(\w+)(.*)", re.ASCII)
# Room that is taken by something new is no other name for it.
_ROOM = re.compile(
    r"_*(?:\w+_)?(?:reserved|unused|spare|dummy|filler|rsvd?|pad(?:ding)?)_?\d*_*", re.ASCII | re.IGNORECASE
)

_MemberTypes = frozenset[tuple[str, str]]
# A record with the layouts of its build.
Version = tuple[Layout, Layouts]
_Members = Mapping[str, Named]
# Other names of members, by what they were called.
Names = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Renamed:
    """``old``, whose name is gone, is taken for ``new``, whose name is new and which has ``alike`` of its members."""

    old: Layout
    new: Layout
    alike: int
    among: int

    @property
    def clause(self) -> str:
        """``struct session, which is new, has 11 of its 12 members``."""
        return f"{self.new.title}, which is new, has {self.alike} of its {self.among} members"


def renamed(
    pairs: Sequence[Pair], sides: tuple[Layouts, Layouts], matters: Callable[[Layout], bool]
) -> tuple[Renamed, ...]:
    """Of the old records without a partner those that ``matters`` says, each with the one new record that is like it.

    Where a second record of either build is like it at all, nothing is taken for a renaming; nor are names in both.
    """
    old, new = sides
    gone = [one for one, other in pairs if one and not other and not new.variants(one.name)]
    fresh = [one for other, one in pairs if one and not other and not old.variants(one.name)]

    @cache
    def described(build: int, layout: Layout) -> _MemberTypes:
        """The members that C code can name, each with its type."""
        return frozenset((one.path, one.member.type) for one in nameable(layout, sides[build]))

    def like(one: Layout, other: Layout) -> int:
        return _alike(described(0, one), described(1, other), (one, other))

    found = []
    for one in islice(filter(matters, gone), _MOST_COMPARED // max(len(fresh), len(gone), 1)):
        possible = [other for other in _near(one, fresh) if like(one, other)]
        if len(possible) == 1 and not any(like(it, possible[0]) for it in _near(possible[0], gone) if it is not one):
            found.append(Renamed(one, possible[0], like(one, possible[0]), len(described(0, one))))
    return tuple(found)


def joined_pairs(pairs: Iterable[Pair], found: Sequence[Renamed]) -> tuple[Pair, ...]:
    """The pairs, those of what is ``found`` being one instead of two without a partner."""
    partners = {one.new.id: one.old for one in found}
    parted = {one.old.id for one in found}
    kept = ((old, new) for old, new in pairs if new or not old or old.id not in parted)
    return tuple((partners.get(new.id), new) if new and not old else (old, new) for old, new in kept)


def _near(one: Layout, others: Collection[Layout]) -> Iterator[Layout]:
    """Those of the same kind, and half of whose own members are called alike; to see that takes no look inside."""
    names = {member.name for member in one.members}
    for other in others:
        theirs = {member.name for member in other.members}
        if other.kind is one.kind and 2 * len(names & theirs) >= len(names | theirs):
            yield other


def _alike(mine: _MemberTypes, theirs: _MemberTypes, records: tuple[Layout, Layout]) -> int:
    """How many members both have, 0 for too few; a pointer to the record's own kind got another name with it."""
    old, new = records
    own = re.compile(rf"\b{re.escape(old.title)}\b")
    common = len({(name, own.sub(lambda _: new.title, type_)) for name, type_ in mine} & theirs)
    enough = common >= _LEAST_ALIKE and common >= _ALIKE * (len(mine) + len(theirs) - common)
    return common if enough else 0


def _new_name_of(path: str, before: Version, after: Version) -> str | None:
    """What the member ``path`` of the record ``before`` is called ``after``; ``None`` where nothing shows it for sure.

    Only a member of the record itself is followed, whatever the path names within it.
    """
    first, dot, rest = path.partition(".")
    part = _PART.fullmatch(first)
    name = _renamed_members(before, after).get(part[1]) if part else None
    found = f"{name}{part[2]}{dot}{rest}" if part and name else ""
    return found if named(*after, found) else None


def _renamed_members(before: Version, after: Version) -> dict[str, str]:
    """What the record's own members are called now that have bytes and whose names are gone, by these names."""
    was, now = ({one.path: one for one in nameable(*version)} for version in (before, after))
    return {
        path: one.path
        for path, one in _successors(was, now).items()
        if one.span.size and path.isidentifier() and one.path.isidentifier()
    }


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
            member = one.member
            place = behind, member.type, member.dimensions, member.size, member.bit_size
            found.setdefault(place, []).append(one)
    return found


def new_member_names(
    record: str, intent: Intent, pairs: Iterable[Pair], sides: tuple[Layouts, Layouts]
) -> dict[str, str]:
    """The members of a record that nothing is called by any more, and what all its versions call them now."""
    versions = [((old, sides[0]), (new, sides[1])) for old, new in pairs if old and new and old.name == record]
    said = [name for one in intent.of(record) for name in members_of(one)]
    said += [one.member for one in intent.suppressions if one.record == record]
    found: dict[str, str] = {}
    for path in dict.fromkeys(said):
        known = [(before, after) for before, after in versions if named(*before, path)]
        if known and not any(named(*after, path) for _, after in versions):
            names = {_new_name_of(path, before, after) for before, after in known}
            name = names.pop()
            if name is not None and not names:
                found[path] = name
    return found


def with_member_names(one: TypeIntent, names: Names) -> TypeIntent:
    """The same wants of the members as they are called by ``names``."""

    def now(members: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names.get(member, member) for member in members))

    isolations = (replace(each, members=now(each.members), apart_from=now(each.apart_from)) for each in one.isolations)
    return replace(
        one,
        hot=now(one.hot),
        read_mostly=now(one.read_mostly),
        write_hot=now(one.write_hot),
        groups=tuple(replace(group, members=now(group.members)) for group in one.groups),
        isolations=tuple(isolations),
    )


@dataclass(frozen=True, slots=True)
class RecordsRenamed:
    """Records under lint whose bases and intents call members as they are called now.

    ``were`` is what the base calls them, by the record as C names it now; ``said`` what members that intents name are
    called now, by the name that the record has in the base.
    """

    records: tuple[LintedRecord, ...]
    were: Mapping[str, Names] = field(default_factory=dict)
    said: Mapping[str, Names] = field(default_factory=dict)

    def with_old_name(self, one: Violation) -> Violation:
        """The violation, with the name that its member had."""
        was = self.were.get(one.type, {}).get(one.member)
        return replace(one, message=f"{one.message}; it was likely called {was}", was=was) if was else one


def with_new_names(records: tuple[LintedRecord, ...], old: Layouts, intent: Intent) -> RecordsRenamed:
    """The same records, the members of those that are watched followed from the ``old`` build to names of the new."""
    watched = [(one.before, one.now) for one in records if one.tuned and one.before]
    if not watched:
        return RecordsRenamed(records)
    old_build, new = watched[0][0].build, watched[0][1].layouts
    layouts = [(before.layout, now.layout) for before, now in watched]
    guarded = dict.fromkeys(before.name for before, _ in layouts if intent.of(before.name))
    said = {name: names for name in guarded if (names := new_member_names(name, intent, layouts, (old, new)))}
    own = {(a.id, b.id): _renamed_members((a, old), (b, new)) for a, b in layouts}
    if not said and not any(own.values()):
        return RecordsRenamed(records)
    by_old = {before: names for (before, _), names in own.items()}
    changed = (one for layout, each in by_old.items() if each for one in _parts(old.by_id(layout), old, each))
    base = old_build.with_names(ChangedLayouts(old, tuple(changed)))
    were: dict[str, dict[str, str]] = {}
    for before, after in layouts:
        names = own[before.id, after.id] | said.get(before.name, {})
        were.setdefault(after.title, {}).update({now: was for was, now in names.items()})
    return RecordsRenamed(tuple(_followed(one, base, said) for one in records), were, said)


def _parts(layout: Layout, layouts: Layouts, names: Names) -> Iterator[Layout]:
    """The record and its parts without a name, as far as they declare members that get another one."""
    waiting, seen = [layout], {layout.id}
    for one in waiting:  # grows while it is walked
        if any(member.name in names for member in one.members):
            yield replace(one, members=tuple(_with_new_name(member, names) for member in one.members))
        inner = {member.record for member in one.members if not member.name and member.record is not None} - seen
        seen |= inner
        waiting += [layouts.by_id(part) for part in sorted(inner)]


def _with_new_name(member: Member, names: Names) -> Member:
    name = names.get(member.name)
    if name is None:
        return member
    declarator = re.sub(rf"\b{re.escape(member.name)}\b", name, member.declarator, count=1)
    return replace(member, name=name, declarator=declarator)


def _followed(record: LintedRecord, base: LintedBuild, said: Mapping[str, Names]) -> LintedRecord:
    """What nobody watches has no use for the names; nor has a record that is new."""
    if not record.tuned or record.before is None:
        return record
    old = record.before.layout
    names = said.get(old.name, {})
    intents = tuple(with_member_names(one, names) if one.record == old.name else one for one in record.intents)
    before = RecordVersion(base.layouts.by_id(old.id), base)
    return replace(record, before=before, intents=intents, base=base)
