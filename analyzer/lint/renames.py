# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that only got another name: what guarded them is to go on guarding them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice

from linesmith.analyzer.intent.check import members_of
from linesmith.analyzer.layouts.collection import ChangedLayouts, Layouts
from linesmith.analyzer.layouts.leaves import Named, nameable, named
from linesmith.analyzer.lint.pairs import Pair
from linesmith.analyzer.lint.rules.catalogue import Side, Subject
from linesmith.analyzer.model import Intent, Layout, Member, TypeIntent, Violation

# A record of fewer members is like too many others.
_LEAST_ALIKE = 4
# So many pairs of records are compared; a change that gives thousands of records other names is not followed.
_MOST_COMPARED = 1 << 20
# Of all members of both so many must be alike, by name and type, for one to be the other.
_ALIKE = 0.75

Described = frozenset[tuple[str, str]]
Like = Callable[[Layout, Layout], int]


@dataclass(frozen=True, slots=True)
class Renamed:
    """``old``, whose name is gone, is taken for ``new``, whose name is new and which has ``alike`` of its members."""

    old: Layout
    new: Layout
    alike: int
    among: int

    @property
    def told(self) -> str:
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
    described = lru_cache(maxsize=None)(lambda build, layout: _members(layout, sides[build]))

    def like(one: Layout, other: Layout) -> int:
        return _alike(described(0, one), described(1, other), (one, other))

    looked_at = islice(filter(matters, gone), _MOST_COMPARED // max(len(fresh), len(gone), 1))
    found = (_one(one, (gone, fresh), like) for one in looked_at)
    return tuple(Renamed(*each, like(*each), len(described(0, each[0]))) for each in found if each)


def _one(one: Layout, builds: tuple[Sequence[Layout], Sequence[Layout]], like: Like) -> tuple[Layout, Layout] | None:
    """A record and the only one that is like it, and like no other."""
    gone, fresh = builds
    found = [other for other in _near(one, fresh) if like(one, other)]
    if len(found) != 1 or any(like(each, found[0]) for each in _near(found[0], gone) if each is not one):
        return None
    return one, found[0]


def joined(pairs: Iterable[Pair], found: Sequence[Renamed]) -> tuple[Pair, ...]:
    """The pairs, those of what is ``found`` being one instead of two without a partner."""
    partners = {one.new.id: one.old for one in found}
    parted = {one.old.id for one in found}
    kept = ((old, new) for old, new in pairs if new or not old or old.id not in parted)
    return tuple((partners.get(new.id), new) if new and not old else (old, new) for old, new in kept)


def _members(layout: Layout, layouts: Layouts) -> Described:
    """The members that C code can name, each with its type."""
    return frozenset((one.path, one.member.type) for one in nameable(layout, layouts))


def _near(one: Layout, others: Collection[Layout]) -> Iterator[Layout]:
    """Those of the same kind, and half of whose own members are called alike; to see that takes no look inside."""
    names = {member.name for member in one.members}
    for other in others:
        theirs = {member.name for member in other.members}
        if other.kind is one.kind and 2 * len(names & theirs) >= len(names | theirs):
            yield other


def _alike(mine: Described, theirs: Described, records: tuple[Layout, Layout]) -> int:
    """How many members both have, 0 for too few; a pointer to the record's own kind got another name with it."""
    old, new = records
    own = re.compile(rf"\b{re.escape(old.title)}\b")
    common = len({(name, own.sub(lambda _: new.title, type_)) for name, type_ in mine} & theirs)
    enough = common >= _LEAST_ALIKE and common >= _ALIKE * (len(mine) + len(theirs) - common)
    return common if enough else 0


# Members that only got another name, found in their record as it was and as it is.

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
    found = _successors(*_members_by_path(before, after))
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
    was, now = _members_by_path(before, after)
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


def _members_by_path(before: Version, after: Version) -> tuple[_Members, _Members]:
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


# Names of members in intents, and those that a change gave the same members.

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


# Members that got another name with a change: what guarded them goes on to guard them, under the new one.

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
            yield replace(one, members=tuple(_with_new_name(member, names) for member in one.members))
        inner = {member.record for member in one.members if not member.name and member.record is not None} - seen
        seen |= inner
        waiting += [layouts.by_id(part) for part in sorted(inner)]


def _with_new_name(member: Member, names: Names) -> Member:
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
