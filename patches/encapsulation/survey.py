# SPDX-License-Identifier: GPL-2.0-or-later
"""All that is known of a member's users: where its name stands, what a census reports of each use, what has to stay."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.preparation import Progress
from linesmith.patches.encapsulation.member import DeclaredMember, Form, MemberAccessor, Shape
from linesmith.patches.encapsulation.rules import UNSERVED, MemberRole, Target, census
from linesmith.patches.treewide.mentions import Mention, mentions_in, read_source, source_files
from linesmith.patches.treewide.series import TreeImage
from linesmith.patches.treewide.spatch import RuleMatch, Types, spatch

_OWN = frozenset((MemberRole.POINTER, MemberRole.OBJECT))
# A use that only an object in memory can serve.
_IN_MEMORY = frozenset((MemberRole.ADDRESS, MemberRole.HANDED))
_SPECIAL = frozenset((MemberRole.ADDRESS, MemberRole.PART, MemberRole.ASSIGNED))
_RECORDS = ("struct ", "union ")
_OFFSETS = re.compile(r"\b(\w*(?:offsetof|container_of|sizeof_field|typeof_member|list_entry|OFFSET|DEFINE)\w*)\s*\(")
# Bytes behind a word that are read to tell what it is.
_CONTEXT = 400
_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")
# A name in capitals is a macro's, wherever it is defined.
_CAPITALS = "[A-Z_][A-Z0-9_]*"


@dataclass(frozen=True, slots=True)
class UsePlace:
    """Where a member of the name is used; ``line`` counts from 1, ``column`` from 0.

    ``holder`` is what stands in front of ``->``, ``type`` that of the record, each empty where it is not known.
    """

    file: str
    line: int
    column: int
    function: str
    uses: frozenset[MemberRole]
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
        return MemberRole.SEEN in self.uses and not self.is_foreign


def _gathered(matches: Iterable[RuleMatch]) -> list[UsePlace]:
    """One place for all that rules say of it, in the order of files and lines."""
    by_place: dict[tuple[str, int, int], list[RuleMatch]] = {}
    for one in matches:
        by_place.setdefault((one.file, one.line, one.column), []).append(one)
    places = []
    for key, group in sorted(by_place.items()):
        bound = {name: text for one in group for name, text in one.bindings}
        uses = frozenset(MemberRole(one.rule) for one in group)
        places.append(UsePlace(*key, group[0].function, uses, bound.get("P", ""), bound.get("TT", "")))
    return places


def form_for(declared: DeclaredMember, places: Collection[UsePlace]) -> Form:
    """What the accessor has to give so that it serves most uses."""
    if declared.shape is Shape.ARRAY:
        return Form.ELEMENTS
    if declared.shape is Shape.RECORD or any(MemberRole.PART in place.uses for place in places):
        return Form.ADDRESS
    if declared.shape is Shape.BIT_FIELD:
        return Form.VALUE
    in_memory = sum(bool(place.uses & _IN_MEMORY) for place in places)
    changing = sum(bool(place.uses & {MemberRole.ASSIGNED, MemberRole.UPDATED}) for place in places)
    reads = len(places) - in_memory - changing
    return Form.VALUE if reads > in_memory else Form.ADDRESS


def parameter_for(declared: DeclaredMember, places: Iterable[UsePlace]) -> str:
    """What most users call the record."""
    names = Counter(place.holder for place in places if place.holder.isidentifier())
    usual = names.most_common(1)
    return usual[0][0] if usual and usual[0][0] != declared.name else declared.record.name[:1]


def all_uses(places: Iterable[UsePlace]) -> frozenset[MemberRole]:
    """Every use that there is; ``OBJECT`` only where no pointer leads to the record, ``SEEN`` where no other fits."""
    uses: set[MemberRole] = set()
    for place in places:
        special = place.uses - {MemberRole.SEEN, *({MemberRole.OBJECT} if MemberRole.POINTER in place.uses else set())}
        uses |= special if special & _SPECIAL else special | {MemberRole.SEEN}
    return frozenset(uses)


@dataclass(frozen=True, slots=True)
class Work:
    """What every stage needs: the member, the image in which the tree is changed, and the report of progress.

    ``aliases`` are typedefs of the record, ``macros`` those that may need the member itself.
    """

    declared: DeclaredMember
    image: TreeImage
    progress: Progress
    aliases: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()

    def target(self, *, unique: bool) -> Target:
        """The member for rules; it is ``unique`` where nothing else has its name."""
        return Target(self.declared.record, self.declared.name, self.aliases, unique, self.macros)


@dataclass(frozen=True, slots=True)
class Survey:
    """The users of a member. ``sources`` are the contents of files by name, ``depths`` where their types come from.

    ``is_unique``: no other record is known to have a member of the name, and nothing else is called so.
    """

    mentions: tuple[Mention, ...]
    places: Mapping[tuple[str, int, int], UsePlace]
    sources: Mapping[str, bytes]
    depths: Mapping[str, Types]
    is_unique: bool

    @property
    def own(self) -> tuple[UsePlace, ...]:
        """The uses that are the member's, by their types or because of its name."""
        return tuple(one for one in self.places.values() if self.has(one))

    def has(self, place: UsePlace) -> bool:
        """Whether a use is the member's."""
        return place.is_own or (self.is_unique and place.may_be_own)


def surveyed(work: Work, files: Iterable[str]) -> Survey:
    """What the image has now; headers are read for files only where a type is needed and not known without."""
    sources, mentions, unique = _mentioned(work, dict.fromkeys(files))
    used = sorted({one.file for one in mentions if not one.macro and one.is_access(sources[one.file])})
    places = _counted(work, used, Types.FILE, unique=unique)
    record = work.declared.record
    # A record may have a tag besides its typedef.
    own = " ".join(work.declared.source[record.start : record.opening].decode("utf-8", "replace").split())
    if unique and any(one.is_foreign and own != one.type.removeprefix("const ") for one in places):
        # A record from outside of the tree has a member of the name.
        unique = False
        places = _counted(work, used, Types.FILE, unique=unique)
    unsure = {one.file for one in places if not (unique or one.is_own or one.is_foreign)}
    places = [one for one in places if one.file not in unsure]
    places += _counted(work, sorted(unsure), Types.HEADERS, unique=unique)
    depths = {file: Types.HEADERS if file in unsure else Types.FILE for file in used}
    return Survey(mentions, _by_place(places), sources, depths, unique)


def renewed(work: Work, survey: Survey, changed: Collection[str]) -> Survey:
    """The survey after a change of some files."""
    sources, mentions, only = _mentioned(work, survey.sources)
    unique = only and survey.is_unique
    places = [one for one in survey.places.values() if one.file not in changed]
    for depth in Types:
        places += _counted(work, [file for file in changed if survey.depths.get(file) is depth], depth, unique=unique)
    return Survey(mentions, _by_place(places), sources, survey.depths, unique)


def _mentioned(work: Work, files: Iterable[str]) -> tuple[dict[str, bytes], tuple[Mention, ...], bool]:
    """The sources, the places of the name in them, and whether none of these may declare something else."""
    sources = {file: work.image.read(file) for file in files}
    mentions = tuple(one for file, source in sources.items() for one in mentions_in(file, source, work.declared.name))
    for one in mentions:
        source = sources[one.file]
        is_use = one.is_access(source) or _is_designator(source, one) or _is_offset(source, one)
        if not (is_use or _is_in_record(work.declared, one)):
            return sources, mentions, False
    return sources, mentions, True


def _counted(work: Work, files: Sequence[str], types: Types, *, unique: bool) -> list[UsePlace]:
    if not files:
        return []
    return _gathered(spatch(census(work.target(unique=unique)), work.image, files, work.progress, types).matches)


def _by_place(places: Iterable[UsePlace]) -> dict[tuple[str, int, int], UsePlace]:
    return {(one.file, one.line, one.column): one for one in places}


def by_depth(files: Collection[str], survey: Survey) -> Iterator[tuple[Types, list[str]]]:
    """The files in groups that Coccinelle works on together, those without any left out."""
    for depth in Types:
        group = sorted(file for file in files if survey.depths.get(file) is depth)
        if group:
            yield depth, group


# What a word of a source is, by the text around it.


def is_called(source: bytes, mention: Mention, word: str) -> bool:
    """Whether the word is a function or macro: one that is defined or called, and no member."""
    following = source[mention.offset + len(word) :].lstrip(b" \t")
    return not mention.is_access(source) and (following.startswith(b"(") or mention.macro == word)


def _is_designator(source: bytes, mention: Mention) -> bool:
    """Whether the word stands behind the dot of a designated initialiser."""
    return mention.ahead(source).rstrip().endswith(b".") and not mention.is_access(source)


def _is_offset(source: bytes, mention: Mention) -> bool:
    """Whether the word is an argument of ``offsetof()``, ``container_of()`` or the like."""
    statement = re.split(r"[;{}]", mention.ahead(source).decode("utf-8", "replace"))[-1]
    calls = (statement[match.end() - 1 :] for match in _OFFSETS.finditer(statement))
    return any(call.count("(") > call.count(")") for call in calls)


def _is_in_record(declared: DeclaredMember, mention: Mention) -> bool:
    return mention.file == declared.file and declared.record.opening < mention.offset < declared.record.closing


def _statement(source: bytes, mention: Mention) -> bytes:
    """The text around the word up to the nearest semicolons."""
    return mention.ahead(source).split(b";")[-1] + source[mention.offset : mention.offset + _CONTEXT].split(b";")[0]


def measuring(tree: Path, declared: DeclaredMember, mentions: Iterable[Mention]) -> tuple[str, ...]:
    """Patterns of the names of macros that are called near the mentions of an array; none where it is no array.

    They may ask for the size of their argument, which an array has and the address of its elements has not.
    """
    if declared.shape is not Shape.ARRAY:
        return ()
    near: set[bytes] = set()
    for file, group in groupby(mentions, key=lambda one: one.file):
        source = read_source(tree / file)
        near.update(name for one in group for name in _CALLED.findall(_statement(source, one)))
    if not near:
        return (_CAPITALS,)
    pattern = re.compile(rb"#[ \t]*define[ \t]+(" + b"|".join(sorted(near)) + rb")\(")
    defined = {name.decode() for file in source_files(tree) for name in pattern.findall(read_source(tree / file))}
    return (_CAPITALS, *sorted(defined))


# The places that keep naming the member, each with what stands in the way of the accessor.


def leftovers(
    declared: DeclaredMember, survey: Survey, accessor: MemberAccessor, macros: Collection[tuple[str, str]]
) -> tuple[Refusal, ...]:
    """Places that a person has to look at, in the order of files and lines.

    ``macros`` are those that name the member still, as file and name.
    """
    mentions = (one for one in survey.mentions if not one.macro or (one.file, one.macro) in macros)
    return tuple(refusal for one in mentions if (refusal := _refusal(declared, survey, accessor, one)))


def _refusal(declared: DeclaredMember, survey: Survey, accessor: MemberAccessor, mention: Mention) -> Refusal | None:
    source = survey.sources[mention.file]
    place = survey.places.get((mention.file, mention.line, mention.column))
    if place is not None and survey.has(place):
        use = next((use for use in UNSERVED[accessor.form] if use in place.uses), None)
        return None if use is None else _staying(accessor, mention, use)
    if place is not None and place.is_foreign:
        return None
    if mention.is_access(source):
        return _not_replaced(declared, survey, mention, place)
    near = survey.is_unique or declared.record.name.encode() in _statement(source, mention)
    if _is_in_record(declared, mention) or not near:
        return None
    if _is_designator(source, mention):
        return Refusal(RefusalCode.INITIALISER, mention.place, "an initialiser sets the member")
    if _is_offset(source, mention):
        return Refusal(RefusalCode.OFFSET, mention.place, "the offset of the member is used")
    return None


def _staying(accessor: MemberAccessor, mention: Mention, use: MemberRole) -> Refusal:
    """Why a use of the member itself keeps naming it."""
    if use is MemberRole.ASSIGNED:
        lift = (
            f"write *{accessor.name}(…) = … unless the object is being initialised"
            if accessor.form is Form.ADDRESS
            else ""
        )
        return Refusal(RefusalCode.WHOLE_ASSIGNMENT, mention.place, "the whole member is assigned", lift)
    what = "is changed" if use is MemberRole.UPDATED else "itself is needed"
    reason = f"the member {what}, and {accessor.name}() gives its {accessor.form}"
    return Refusal(RefusalCode.NEEDS_OBJECT, mention.place, reason, "change it by hand")


def _not_replaced(declared: DeclaredMember, survey: Survey, mention: Mention, place: UsePlace | None) -> Refusal | None:
    if not (survey.is_unique or declared.record.name.encode() in survey.sources[mention.file]):
        return None
    if mention.macro:
        reason = f"the macro {mention.macro} names the member, and the types of its arguments are not known"
        return Refusal(RefusalCode.IN_MACRO, mention.place, reason, "change it by hand")
    if place is None:
        return Refusal(RefusalCode.NOT_PARSED, mention.place, "Coccinelle did not parse this", "change it by hand")
    if survey.is_unique:
        return None
    reason = f"the type of the record is not known ({place.type or 'no type'})"
    return Refusal(RefusalCode.TYPE_UNKNOWN, mention.place, reason, "change it by hand if it is the record")
