# SPDX-License-Identifier: GPL-2.0-or-later
"""Scans the units of a build for what they show of records.

What single units say is joined: each place once, paths as a user of the tree writes them. What that says about the
freedom of a record are facts for proposals.
"""

from __future__ import annotations

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
from linesmith.patches.scan.cache import AnswerLine, AnswerStore, Selections, answer_store
from linesmith.patches.scan.carriers import Files
from linesmith.patches.scan.program import DependencyPart, Parser, Progress, RecordPart, UsePart, parsed, program, stamp
from linesmith.patches.scan.text_scan import text_places, with_text
from linesmith.patches.scan.units import Database, Unit, database
from linesmith.patches.source.tree import visible_files

_RECORDS = msgspec.json.Decoder(RecordPart)
_DEPENDENCIES = msgspec.json.Decoder(DependencyPart)
_USES = msgspec.json.Decoder(UsePart)


def merged(
    record: str, answers: Sequence[tuple[Unit, AnswerLine]], texts: Sequence[str], database: Database, files: Files
) -> SourceScan:
    """All of ``record`` that the ``answers`` say, whose numbers count ``texts``; ``database`` is what they are of."""
    shorten = database.relative
    records = {number for _, line in answers for number in line.records}
    dependencies = {number for _, line in answers for number in line.dependencies}
    uses = (_USES.decode(texts[one]) for one in {number for _, line in answers for number in line.uses})
    found = {
        MemberUse(one.record, one.member, one.kind, f"{shorten(one.file)}:{one.line}", one.function) for one in uses
    }
    failed = dict.fromkeys((shorten(unit.file), line.complaint) for unit, line in answers if line.complaint)
    return SourceScan(
        record,
        tuple(_sources((_RECORDS.decode(texts[one]) for one in sorted(records)), shorten)),
        tuple(_dependencies((_DEPENDENCIES.decode(texts[one]) for one in sorted(dependencies)), shorten, files)),
        tuple(sorted(found, key=_by_place)),
        sum(not line.fatal for _, line in answers),
        tuple(failed),
    )


def _sources(parts: Iterable[RecordPart], shorten: Callable[[str], str]) -> Iterator[RecordSource]:
    """Each declaration once, as the unit sees it that has most of its members."""
    best: dict[tuple[str, int], RecordPart] = {}
    for part in parts:
        place = part.file, part.start
        if place not in best or len(best[place].members) < len(part.members):
            best[place] = part
    for _, part in sorted(best.items()):
        members = []
        for one in part.members:
            span = SourceSpan(shorten(one.file or part.file), one.start, one.end, one.line)
            members.append(MemberSource(one.name, span, one.macro, one.others))
        span = SourceSpan(shorten(part.file), part.start, part.end, part.line)
        yield RecordSource(part.record, span, tuple(members))


def _dependencies(parts: Iterable[DependencyPart], shorten: Callable[[str], str], files: Files) -> Iterator[Dependency]:
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


def _by_place(one: Dependency | MemberUse) -> tuple[str, int, str]:
    file, _, line = one.place.rpartition(":")
    return file, int(line), "" if isinstance(one, Dependency) else f"{one.member} {one.kind}"


@dataclass(frozen=True, slots=True)
class Watch:
    """Who hears of a scan: ``progress`` of units done and in all, ``tell`` of what is worth a line."""

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
            kept = closing.enter_context(answer_store(compiled, record, stamp(executable), watch.tell))
            units = selections.units(record)
            lines = {unit: line for unit in units if (line := kept.sound(unit, files)) is not None}
            wanted.append(_RecordAnswers(record, units, kept, lines))
        readable = (executable, *visible_files(compiled.tree, compiled.builds))
        _parse(Parser((str(executable),), (compiled.tree, compiled.build), readable), wanted, files, watch)
        found = {one.record: _scan(one, compiled, files) for one in wanted}
    texts = text_places(compiled.tree, tuple(found), watch.tell)
    return tuple(with_text(found[record], texts[record]) for record in records)


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
    """The facts of all records of ``scans``: one for each dependency that binds."""
    found = []
    for scan in scans:
        # The members in the order in which they are declared, those of anonymous records too.
        known = max(scan.sources, key=lambda source: len(source.members), default=None)
        order = tuple(dict.fromkeys(member.name for member in known.members if member.name)) if known else ()
        binding = (one for one in scan.dependencies if one.binds or one.kind is DependencyKind.RANDOMIZED)
        found.append((scan.record, tuple(fact for one in binding for fact in _of_dependency(one, order))))
    return SourceFacts(tuple(found))


def _of_dependency(one: Dependency, order: Sequence[str]) -> Iterator[SourceFact]:
    match one.kind:
        case DependencyKind.RANDOMIZED:
            yield SourceFact(FactKind.RANDOMIZED, (), "the compiler may shuffle its members", one.place)
        case DependencyKind.POSITIONAL:
            yield SourceFact(FactKind.POSITIONAL, one.members, "an initialiser gives it by position", one.place)
        case DependencyKind.ASSERTION:
            if not one.members:
                yield SourceFact(FactKind.SIZE, (), "its size is asserted", one.place, one.bytes)
            elif not any(member.startswith(_GROUP_MARK) for member in one.members):
                yield SourceFact(FactKind.OFFSET, one.members, "its offset is asserted", one.place)
        case kind if kind in _RANGES:
            yield _range(one, order)
        case kind if kind in _FIRST:
            yield SourceFact(FactKind.FIRST, one.members, _REASONS[kind], one.place)
        case kind if kind in _FIXED:
            yield SourceFact(FactKind.OFFSET, one.members or tuple(order), _REASONS[kind], one.place)


def _range(one: Dependency, order: Sequence[str]) -> SourceFact:
    """The members as a run; where it begins or ends with the record, that is where code splits it."""
    reason, names = _REASONS[one.kind], [name for name in order if name in one.members]
    if names and names[0] == order[0] and names[-1] != order[-1]:
        return SourceFact(FactKind.WALL, (order[order.index(names[-1]) + 1],), reason, one.place)
    if names and (names[-1] == order[-1] or len(names) == 1):
        return SourceFact(FactKind.WALL, (names[0],), reason, one.place)
    return SourceFact(FactKind.RANGE, one.members, reason, one.place)
