# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins what single units say of a record: each place once, paths as a user of the tree writes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from linesmith.analyzer.model import (
    Dependency,
    DependencyKind,
    MemberSource,
    MemberUse,
    RecordSource,
    SourceScan,
    SourceSpan,
)
from linesmith.patches.scan.answer import DependencyPart, MemberPart, RecordPart, UsePart
from linesmith.patches.scan.files import Files
from linesmith.patches.scan.kept import Line
from linesmith.patches.scan.unit import Database, Unit

_RECORDS = msgspec.json.Decoder(RecordPart)
_DEPENDENCIES = msgspec.json.Decoder(DependencyPart)
_USES = msgspec.json.Decoder(UsePart)


def merged(
    record: str, answers: Sequence[tuple[Unit, Line]], texts: Sequence[str], database: Database, files: Files
) -> SourceScan:
    """All of ``record`` that the ``answers`` say, whose numbers count ``texts``; ``database`` is what they are of."""
    shorten = _Shorten(database)
    sources = _texts((line.records for _, line in answers), texts)
    dependencies = _texts((line.dependencies for _, line in answers), texts)
    uses = _texts((line.uses for _, line in answers), texts)
    sound = [(unit, line) for unit, line in answers if not line.fatal]
    failed = dict.fromkeys((shorten(unit.file), line.complaint) for unit, line in answers if line.complaint)
    return SourceScan(
        record,
        tuple(_sources((_RECORDS.decode(one) for one in sources), shorten)),
        tuple(_dependencies((_DEPENDENCIES.decode(one) for one in dependencies), shorten, files)),
        tuple(sorted(set(_uses((_USES.decode(one) for one in uses), shorten)), key=_by_place)),
        len(sound),
        tuple(failed),
    )


def _texts(numbers: Iterable[Sequence[int]], texts: Sequence[str]) -> list[str]:
    """The texts that any unit refers to, each once, in order."""
    return [texts[number] for number in sorted({one for some in numbers for one in some})]


class _Shorten:
    """Absolute paths as paths relative to the tree or its image, or to the build for what make generated there."""

    def __init__(self, database: Database) -> None:
        places = (database.image, database.tree, database.build)
        roots = dict.fromkeys(str(place) for place in places if place)
        self.prefixes = tuple(root + os.sep for root in roots)

    def __call__(self, file: str) -> str:
        found = next((prefix for prefix in self.prefixes if file.startswith(prefix)), "")
        return file[len(found) :]


def _sources(parts: Iterable[RecordPart], shorten: _Shorten) -> Iterator[RecordSource]:
    """Each declaration once, as the unit sees it that has most of its members."""
    best: dict[tuple[str, int], RecordPart] = {}
    for part in parts:
        place = part.file, part.start
        if place not in best or len(best[place].members) < len(part.members):
            best[place] = part
    for _, part in sorted(best.items()):
        span = SourceSpan(shorten(part.file), part.start, part.end, part.line)
        yield RecordSource(part.record, span, tuple(_member(one, part.file, shorten) for one in part.members))


def _member(part: MemberPart, around: str, shorten: _Shorten) -> MemberSource:
    span = SourceSpan(shorten(part.file or around), part.start, part.end, part.line)
    return MemberSource(part.name, span, part.macro, part.others)


def _dependencies(parts: Iterable[DependencyPart], shorten: _Shorten, files: Files) -> Iterator[Dependency]:
    """Each place once for each kind and members; the order is that of kinds, then places."""
    found: dict[tuple[object, ...], Dependency] = {}
    for part in parts:
        text = part.text or files.line(part.file, part.line)
        place = f"{shorten(part.file)}:{part.line}"
        one = Dependency(
            part.kind, part.record, part.members, place, text, part.bytes, part.binds, part.relation, part.function
        )
        key = one.kind, one.members, one.place
        if key not in found or (one.binds and not found[key].binds):
            found[key] = one
    kinds = list(DependencyKind)
    yield from sorted(found.values(), key=lambda one: (kinds.index(one.kind), *_by_place(one), one.members))


def _uses(parts: Iterable[UsePart], shorten: _Shorten) -> Iterator[MemberUse]:
    for part in parts:
        yield MemberUse(part.record, part.member, part.kind, f"{shorten(part.file)}:{part.line}", part.function)


def _by_place(one: Dependency | MemberUse) -> tuple[str, int, str]:
    file, _, line = one.place.rpartition(":")
    return file, int(line), "" if isinstance(one, Dependency) else f"{one.member} {one.kind}"
