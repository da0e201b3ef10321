# SPDX-License-Identifier: GPL-2.0-or-later
"""All that is known of a member's users: where its name stands, and what a census says of each use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linesmith.patches.encapsulation.context import is_access, is_designator, is_offset
from linesmith.patches.encapsulation.member import DeclaredMember
from linesmith.patches.encapsulation.rules import Target, census
from linesmith.patches.encapsulation.uses import Place, gathered
from linesmith.patches.preparation import Progress
from linesmith.patches.semantic.image import TreeImage
from linesmith.patches.semantic.mentions import Mention, mentioned
from linesmith.patches.semantic.spatch import Types, spatch


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
