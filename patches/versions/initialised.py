# SPDX-License-Identifier: GPL-2.0-or-later
"""Who gives members by position, where a change gave records another order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from linesmith.analyzer.model import DependencyKind, FactKind, Layout, SourceFact
from linesmith.patches.preparation import Progress
from linesmith.patches.scan.text_places import RecordText, TextPlace, TextPlaces
from linesmith.patches.scan.text_scan import TOO_LARGE, text_places
from linesmith.patches.versions.join import Pair
from linesmith.patches.versions.versions import Versions

# Each takes a look through all sources of the tree.
MOST_RECORDS = 30

Facts = Mapping[str, tuple[SourceFact, ...]]


@dataclass(frozen=True, slots=True)
class Initialised:
    """The initialisers by record, and sentences on where they were not looked for."""

    facts: Facts
    remarks: tuple[str, ...] = ()


def initialised(versions: Versions, pairs: Sequence[Pair], progress: Progress) -> Initialised:
    """The initialisers of the second version that give members by position; changed ones are left out."""
    wanted = {new.name: new for old, new in pairs if old and new and _is_reordered(old, new)}
    names = tuple(wanted)[:MOST_RECORDS]
    if not names:
        return Initialised({})
    found = text_places(versions.root, names, progress)
    facts = {name: tuple(_facts(wanted[name], found[name], versions)) for name in names}
    unread = sorted(file for file, places in found[names[0]].items() if places.unread)
    return Initialised(facts, tuple(_left_out(tuple(wanted), unread)))


def _left_out(names: Sequence[str], unread: Sequence[str]) -> Iterator[str]:
    if (left := len(names) - MOST_RECORDS) > 0:
        records = f"{left} more records whose members are in another order"
        yield f"initialisers by position were not looked for of {records}, the first is {names[MOST_RECORDS]}"
    for file in unread:
        yield f"initialisers by position were not looked for in {file}: {TOO_LARGE}"


def _is_reordered(old: Layout, new: Layout) -> bool:
    """Whether some position means another member; members added at the end move none."""
    before, after = ([one.name for one in side.members] for side in (old, new))
    return before != after[: len(before)]


def _facts(layout: Layout, places: Mapping[str, TextPlaces], versions: Versions) -> Iterator[SourceFact]:
    now = {**places, **_changed(layout.name, versions)}
    others = {_folder(file) for file, found in now.items() if found.declares and file != layout.file}
    for file, found in sorted(now.items()):
        stood = _texts(places.get(file))
        for one in found.places if _folder(file) not in others else ():
            if one.kind is DependencyKind.POSITIONAL and (one.text, one.given) in stood:
                yield _fact(layout, file, one)


def _changed(record: str, versions: Versions) -> dict[str, TextPlaces]:
    """What the changed files show now; the sources that were searched may be of either version."""
    looking = RecordText(record)
    return {one.file: looking.places(one.file, one.after or b"") for one in versions.changes}


def _texts(before: TextPlaces | None) -> frozenset[tuple[str, int]]:
    """The initialisers of a file as they were before, with the number of values."""
    return frozenset((one.text, one.given) for one in before.places) if before else frozenset()


def _fact(layout: Layout, file: str, one: TextPlace) -> SourceFact:
    members = tuple(member.name for member in layout.members[: one.given] if member.name)
    return SourceFact(FactKind.POSITIONAL, members, "an initialiser gives it by position", f"{file}:{one.line}")


def _folder(file: str) -> str:
    return str(PurePosixPath(file).parent)
