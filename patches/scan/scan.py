# SPDX-License-Identifier: GPL-2.0-or-later
"""Scans the units of a build for what they show of records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from linesmith.analyzer.base.errors import ScanFailed
from linesmith.analyzer.model import (
    Dependency,
    DependencyKind,
    FactKind,
    MemberSource,
    MemberUse,
    RecordSource,
    SourceFact,
    SourceFacts,
    SourceScan,
    SourceSpan,
)
from linesmith.patches.scan.cache import AnswerLine, AnswerStore, Selections, kept_answers
from linesmith.patches.scan.carriers import Files
from linesmith.patches.scan.program import (
    DependencyPart,
    MemberPart,
    Parser,
    Progress,
    RecordPart,
    UsePart,
    parsed,
    program,
    stamp,
)
from linesmith.patches.scan.text_scan import text_places, with_text
from linesmith.patches.scan.units import Database, Unit, database
from linesmith.patches.source.tree import visible_files

# Joins what single units say of a record: each place once, paths as a user of the tree writes them.

_RECORDS = msgspec.json.Decoder(RecordPart)
_DEPENDENCIES = msgspec.json.Decoder(DependencyPart)
_USES = msgspec.json.Decoder(UsePart)


def merged(
    record: str, answers: Sequence[tuple[Unit, AnswerLine]], texts: Sequence[str], database: Database, files: Files
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


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told of a scan: ``progress`` of units done and in all, ``tell`` of what is worth a line."""

    progress: Progress
    tell: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _RecordAnswers:
    """A record, the units that can show something of it, and the answers at hand, by unit."""

    record: str
    units: tuple[Unit, ...]
    kept: AnswerStore
    lines: dict[Unit, AnswerLine]


def scanned(tree: Path, build: Path | None, records: Sequence[str], watch: Watch) -> tuple[SourceScan, ...]:
    """What the units of ``tree``, built there or in ``build``, show of each of ``records`` (``address_space``).

    Raises ``ScanFailed`` where no compilations are recorded or none of the units can be parsed, ``ToolMissing``.
    """
    executable = program()
    compiled = database(tree, build, watch.tell)
    files = Files((compiled.tree, compiled.build, *compiled.builds))
    selections = Selections(compiled, files)
    with ExitStack() as closing:
        wanted = []
        for record in sorted(set(records)):
            kept = closing.enter_context(kept_answers(compiled, record, stamp(executable), watch.tell))
            wanted.append(_wanted(record, selections.units(record), kept, files))
        readable = (executable, *visible_files(compiled.tree, compiled.builds))
        _parse(Parser((str(executable),), (compiled.tree, compiled.build), readable), wanted, files, watch)
        found = {one.record: _scan(one, compiled, files) for one in wanted}
    texts = text_places(compiled.tree, tuple(found), watch.tell)
    return tuple(with_text(found[record], texts[record]) for record in records)


def _wanted(record: str, units: tuple[Unit, ...], kept: AnswerStore, files: Files) -> _RecordAnswers:
    lines = {unit: kept.sound(unit, files) for unit in units}
    return _RecordAnswers(record, units, kept, {unit: line for unit, line in lines.items() if line is not None})


def _parse(parser: Parser, wanted: Sequence[_RecordAnswers], files: Files, watch: Watch) -> None:
    """Parse what is not at hand, all records at once."""
    stale = [one for one in wanted if len(one.lines) < len(one.units)]
    units = dict.fromkeys(unit for one in stale for unit in one.units if unit not in one.lines)
    options = [word for one in stale for word in ("--record", one.record)]
    asking = replace(parser, argv=(*parser.argv, *options))
    for unit, found in parsed(asking, tuple(units), watch.progress):
        for one in stale:
            one.lines[unit] = one.kept.add(unit, found, files)


def _scan(one: _RecordAnswers, compiled: Database, files: Files) -> SourceScan:
    answers = [(unit, one.lines[unit]) for unit in one.units]
    if answers and all(line.fatal for _, line in answers):
        line = answers[0][1]
        raise ScanFailed(f"none of the {len(answers)} units that use {one.record} can be parsed: {line.complaint}")
    found = merged(one.record, answers, one.kept.texts, compiled, files)
    one.kept.tidy([line for _, line in answers if not line.fatal])
    return found


# What a scan says about the freedom of a record: each dependency that binds as a fact for proposals.

# Assertions about these markers say that a group holds its members, which rules of the layout know already.
_GROUP_MARK = "__cacheline_group_"
_FIRST = (DependencyKind.FIRST_MEMBER_CAST, DependencyKind.CONTAINER_OF_FIRST)
_RANGES = (DependencyKind.OFFSET_RANGE, DependencyKind.PARTIAL_COPY)
_FIXED = (DependencyKind.USER_ABI, DependencyKind.ASM_OFFSET, DependencyKind.BPF_CORE, DependencyKind.OFFSETOF)
_REASONS = {
    DependencyKind.FIRST_MEMBER_CAST: "code casts between it and the record",
    DependencyKind.CONTAINER_OF_FIRST: "code takes a null pointer to it for one to the record",
    DependencyKind.USER_ABI: "user space knows its offset",
    DependencyKind.ASM_OFFSET: "assembly knows its offset",
    DependencyKind.BPF_CORE: "a BPF program knows its offset",
    DependencyKind.OFFSETOF: "code counts with its offset",
    DependencyKind.OFFSET_RANGE: "code counts the bytes between offsets",
    DependencyKind.PARTIAL_COPY: "code copies or clears it together with its neighbours",
}


def facts_of(scans: Iterable[SourceScan]) -> SourceFacts:
    """The facts of all records of ``scans``."""
    return SourceFacts(tuple((scan.record, tuple(_facts(scan))) for scan in scans))


def _facts(scan: SourceScan) -> Iterator[SourceFact]:
    order = _order(scan)
    for one in scan.dependencies:
        if one.binds or one.kind is DependencyKind.RANDOMIZED:
            yield from _of_dependency(one, order)


def _order(scan: SourceScan) -> tuple[str, ...]:
    """The members in the order in which they are declared, those of anonymous records too."""
    known = max(scan.sources, key=lambda source: len(source.members), default=None)
    return tuple(dict.fromkeys(member.name for member in known.members if member.name)) if known else ()


def _of_dependency(one: Dependency, order: Sequence[str]) -> Iterator[SourceFact]:
    match one.kind:
        case DependencyKind.RANDOMIZED:
            yield SourceFact(FactKind.RANDOMIZED, (), "the compiler may shuffle its members", one.place)
        case DependencyKind.POSITIONAL:
            yield SourceFact(FactKind.POSITIONAL, one.members, "an initialiser gives it by position", one.place)
        case DependencyKind.ASSERTION:
            yield from _asserted(one)
        case kind if kind in _RANGES:
            yield _range(one, order)
        case kind if kind in _FIRST:
            yield SourceFact(FactKind.FIRST, one.members, _REASONS[kind], one.place)
        case kind if kind in _FIXED:
            yield SourceFact(FactKind.OFFSET, one.members or tuple(order), _REASONS[kind], one.place)


def _asserted(one: Dependency) -> Iterator[SourceFact]:
    if not one.members:
        yield SourceFact(FactKind.SIZE, (), "its size is asserted", one.place, one.bytes)
    elif not any(member.startswith(_GROUP_MARK) for member in one.members):
        yield SourceFact(FactKind.OFFSET, one.members, "its offset is asserted", one.place)


def _range(one: Dependency, order: Sequence[str]) -> SourceFact:
    """The members as a run; where it begins or ends with the record, that is where code splits it."""
    reason, names = _REASONS[one.kind], [name for name in order if name in one.members]
    if names and names[0] == order[0] and names[-1] != order[-1]:
        return SourceFact(FactKind.WALL, (order[order.index(names[-1]) + 1],), reason, one.place)
    if names and (names[-1] == order[-1] or len(names) == 1):
        return SourceFact(FactKind.WALL, (names[0],), reason, one.place)
    return SourceFact(FactKind.RANGE, one.members, reason, one.place)
