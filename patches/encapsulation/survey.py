# SPDX-License-Identifier: GPL-2.0-or-later
"""All that is known of a member's users: where its name stands, and what a census says of each use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.preparation import Progress
from linesmith.patches.encapsulation.expressions import is_access, is_designator, is_offset, statement
from linesmith.patches.encapsulation.member import Accessor, DeclaredMember, Form, Shape
from linesmith.patches.encapsulation.rules import KEPT, Target, Use, census
from linesmith.patches.treewide.image import Mention, TreeImage, mentioned
from linesmith.patches.treewide.spatch import Site, Types, spatch

# What the users of a member do with it: the reports of a census, put together by place.

_OWN = frozenset((Use.POINTER, Use.OBJECT))
# A use that only an object in memory can serve.
_IN_MEMORY = frozenset((Use.ADDRESS, Use.HANDED))
_SPECIAL = frozenset((Use.ADDRESS, Use.PART, Use.ASSIGNED))
_RECORDS = ("struct ", "union ")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a member of the name is used; ``line`` counts from 1, ``column`` from 0.

    ``holder`` is what stands in front of ``->``, ``type`` that of the record, each empty where it is not known.
    """

    file: str
    line: int
    column: int
    function: str
    uses: frozenset[Use]
    holder: str = ""
    type: str = ""

    @property
    def is_own(self) -> bool:
        """Whether the record is known to be the one that is asked for."""
        return bool(self.uses & _OWN)

    @property
    def is_foreign(self) -> bool:
        """Whether the record is known to be another one; a typedef that is not resolved may be any."""
        return not self.is_own and self.type.removeprefix("const ").startswith(_RECORDS)

    @property
    def may_be_own(self) -> bool:
        """Whether this is an access by an expression whose type is not known."""
        return Use.SEEN in self.uses and not self.is_foreign


def gathered(sites: Iterable[Site]) -> tuple[Place, ...]:
    """One place for all that rules say of it, in the order of files and lines."""
    by_place: dict[tuple[str, int, int], list[Site]] = {}
    for site in sites:
        by_place.setdefault((site.file, site.line, site.column), []).append(site)
    return tuple(_place(key, found) for key, found in sorted(by_place.items()))


def _place(key: tuple[str, int, int], found: Sequence[Site]) -> Place:
    bound = {name: text for site in found for name, text in site.bindings}
    uses = frozenset(Use(site.rule) for site in found)
    return Place(*key, found[0].function, uses, bound.get("P", ""), bound.get("TT", ""))


def form_for(declared: DeclaredMember, places: Collection[Place]) -> Form:
    """What the accessor has to give so that it serves most uses."""
    if declared.shape is Shape.ARRAY:
        return Form.ELEMENTS
    if declared.shape is Shape.RECORD or any(Use.PART in place.uses for place in places):
        return Form.ADDRESS
    if declared.shape is Shape.BIT_FIELD:
        return Form.VALUE
    in_memory = sum(bool(place.uses & _IN_MEMORY) for place in places)
    changing = sum(bool(place.uses & {Use.ASSIGNED, Use.UPDATED}) for place in places)
    reads = len(places) - in_memory - changing
    return Form.VALUE if reads > in_memory else Form.ADDRESS


def parameter_for(declared: DeclaredMember, places: Iterable[Place]) -> str:
    """What most users call the record."""
    names = Counter(place.holder for place in places if place.holder.isidentifier())
    usual = names.most_common(1)
    return usual[0][0] if usual and usual[0][0] != declared.name else declared.record.name[:1]


def all_uses(places: Iterable[Place]) -> frozenset[Use]:
    """Every use that there is; ``OBJECT`` only where no pointer leads to the record, ``SEEN`` where no other fits."""
    found: set[Use] = set()
    for place in places:
        special = place.uses - {Use.SEEN, *({Use.OBJECT} if Use.POINTER in place.uses else set())}
        found |= special if special & _SPECIAL else special | {Use.SEEN}
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Work:
    """What every stage needs: the member, the image in which the tree is changed, who is told of progress.

    ``aliases`` are typedefs of the record, ``macros`` those that may need the member itself.
    """

    declared: DeclaredMember
    image: TreeImage
    progress: Progress
    aliases: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()

    def target(self, *, unique: bool) -> Target:
        """The member for rules; ``unique`` tells that nothing else is called so."""
        return Target(self.declared.record, self.declared.name, self.aliases, unique, self.macros)


@dataclass(frozen=True, slots=True)
class Survey:
    """The users of a member. ``sources`` are the contents of files by name, ``depths`` where their types come from.

    ``is_unique`` tells that no other record is known to have a member of the name, and nothing else is called so.
    """

    declared: DeclaredMember
    mentions: tuple[Mention, ...]
    places: Mapping[tuple[str, int, int], Place]
    sources: Mapping[str, bytes]
    depths: Mapping[str, Types]
    is_unique: bool

    @property
    def own(self) -> tuple[Place, ...]:
        """The uses that are the member's, by their types or because of its name."""
        return tuple(one for one in self.places.values() if self.has(one))

    def has(self, place: Place) -> bool:
        """Whether a use is the member's."""
        return place.is_own or (self.is_unique and place.may_be_own)


def surveyed(work: Work, files: Iterable[str]) -> Survey:
    """What the image has now; headers are read for files only where a type is needed and not known without."""
    sources, found, unique = _named(work, dict.fromkeys(files))
    used = sorted({one.file for one in found if not one.macro and is_access(sources[one.file], one)})
    places = _counted(work, used, Types.FILE, unique=unique)
    if unique and any(_is_anothers(work.declared, one) for one in places):
        # A record from outside of the tree has a member of the name.
        unique = False
        places = _counted(work, used, Types.FILE, unique=unique)
    unsure = {one.file for one in places if not (unique or one.is_own or one.is_foreign)}
    places = [one for one in places if one.file not in unsure] + _counted(
        work, sorted(unsure), Types.HEADERS, unique=unique
    )
    depths = {file: Types.HEADERS if file in unsure else Types.FILE for file in used}
    return Survey(work.declared, found, _by_place(places), sources, depths, unique)


def renewed(work: Work, survey: Survey, changed: Collection[str]) -> Survey:
    """The survey after a change of some files."""
    sources, found, named_once = _named(work, survey.sources)
    unique = named_once and survey.is_unique
    places = [one for one in survey.places.values() if one.file not in changed]
    for depth in Types:
        places += _counted(work, [file for file in changed if survey.depths.get(file) is depth], depth, unique=unique)
    return Survey(work.declared, found, _by_place(places), sources, survey.depths, unique)


def _named(work: Work, files: Iterable[str]) -> tuple[dict[str, bytes], tuple[Mention, ...], bool]:
    sources = {file: work.image.read(file) for file in files}
    found = tuple(one for file, source in sources.items() for one in mentioned(file, source, work.declared.name))
    return sources, found, not any(_is_other(work.declared, sources[one.file], one) for one in found)


def _is_other(declared: DeclaredMember, source: bytes, mention: Mention) -> bool:
    """Whether the word may declare something else than the member."""
    own = mention.file == declared.file and declared.record.opening < mention.offset < declared.record.closing
    return not (own or is_access(source, mention) or is_designator(source, mention) or is_offset(source, mention))


def _is_anothers(declared: DeclaredMember, place: Place) -> bool:
    """Whether the record is another one, and not the same by the tag that it has besides its typedef."""
    record = declared.record
    head = declared.source[record.start : record.opening].decode("utf-8", "replace")
    return place.is_foreign and " ".join(head.split()) != place.type.removeprefix("const ")


def _counted(work: Work, files: Sequence[str], types: Types, *, unique: bool) -> list[Place]:
    if not files:
        return []
    return list(gathered(spatch(census(work.target(unique=unique)), work.image, files, work.progress, types).sites))


def _by_place(places: Iterable[Place]) -> dict[tuple[str, int, int], Place]:
    return {(one.file, one.line, one.column): one for one in places}


def by_depth(files: Collection[str], survey: Survey) -> Iterator[tuple[Types, list[str]]]:
    """The files in groups that are given to Coccinelle together, those without any left out."""
    for depth in Types:
        group = sorted(file for file in files if survey.depths.get(file) is depth)
        if group:
            yield depth, group


# The places that keep naming the member, each with what stands in the way of the accessor.


def leftovers(survey: Survey, accessor: Accessor, macros: Collection[tuple[str, str]]) -> tuple[Refusal, ...]:
    """Places that a person has to look at, in the order of files and lines.

    ``macros`` are those that name the member still, as file and name.
    """
    return tuple(
        refusal
        for mention in survey.mentions
        if not mention.macro or (mention.file, mention.macro) in macros
        if (refusal := _refusal(survey, accessor, mention))
    )


def _refusal(survey: Survey, accessor: Accessor, mention: Mention) -> Refusal | None:
    declared, source = survey.declared, survey.sources[mention.file]
    place = survey.places.get((mention.file, mention.line, mention.column))
    if place is not None and (survey.has(place) or place.is_foreign):
        return _kept(accessor, mention, place) if survey.has(place) else None
    inside = mention.file == declared.file and declared.record.opening < mention.offset < declared.record.closing
    if inside and not is_access(source, mention):
        return None
    if is_access(source, mention):
        return _not_replaced(survey, mention, place)
    named = declared.record.name.encode() in statement(source, mention)
    if is_designator(source, mention):
        return _initialiser(mention) if survey.is_unique or named else None
    return _offset(mention) if is_offset(source, mention) and (survey.is_unique or named) else None


def _kept(accessor: Accessor, mention: Mention, place: Place) -> Refusal | None:
    """Why an own use keeps naming the member; none where the accessor has taken its place."""
    use = next((use for use in KEPT[accessor.form] if use in place.uses), None)
    return None if use is None else _WHY[use](accessor, mention)


def _not_replaced(survey: Survey, mention: Mention, place: Place | None) -> Refusal | None:
    near = survey.declared.record.name.encode() in survey.sources[mention.file]
    if not (survey.is_unique or near):
        return None
    if mention.macro:
        reason = f"the macro {mention.macro} names the member, and its arguments have no type"
        return Refusal(RefusalCode.IN_MACRO, mention.place, reason, "change it by hand")
    if place is None:
        return Refusal(RefusalCode.NOT_PARSED, mention.place, "Coccinelle did not parse this", "change it by hand")
    if survey.is_unique:
        return None
    reason = f"the type in front of the member is not known ({place.type or 'no type'})"
    return Refusal(RefusalCode.TYPE_UNKNOWN, mention.place, reason, "change it by hand if it is the record")


def _initialiser(mention: Mention) -> Refusal:
    return Refusal(RefusalCode.INITIALISER, mention.place, "an initialiser gives the member its value")


def _offset(mention: Mention) -> Refusal:
    return Refusal(RefusalCode.OFFSET, mention.place, "the place of the member in the record is asked for")


def _assigned(accessor: Accessor, mention: Mention) -> Refusal:
    by_hand = f"*{accessor.name}(…) = …"
    lift = f"write {by_hand} where it is no set-up" if accessor.form is Form.ADDRESS else ""
    return Refusal(RefusalCode.WHOLE_ASSIGNMENT, mention.place, "the whole member is assigned", lift)


def _updated(accessor: Accessor, mention: Mention) -> Refusal:
    reason = f"the member is changed, and {accessor.name}() gives its {accessor.form}"
    return Refusal(RefusalCode.NEEDS_OBJECT, mention.place, reason, "change it by hand")


def _needs_object(accessor: Accessor, mention: Mention) -> Refusal:
    reason = f"the member itself is needed, and {accessor.name}() gives its {accessor.form}"
    return Refusal(RefusalCode.NEEDS_OBJECT, mention.place, reason, "change it by hand")


_WHY: Mapping[Use, Callable[[Accessor, Mention], Refusal]] = {
    Use.ASSIGNED: _assigned,
    Use.UPDATED: _updated,
    Use.HANDED: _needs_object,
    Use.MEASURED: _needs_object,
    Use.TYPED: _needs_object,
    Use.ITERATED: _needs_object,
    Use.ADDRESS: _needs_object,
}
