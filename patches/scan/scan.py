# SPDX-License-Identifier: GPL-2.0-or-later
"""Scans the units of a build for what they show of records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.errors import ScanFailed
from linesmith.analyzer.model import SourceScan
from linesmith.patches.scan.database import database
from linesmith.patches.scan.files import Files
from linesmith.patches.scan.kept import Kept, Line, kept_answers
from linesmith.patches.scan.kept_selection import Selections
from linesmith.patches.scan.merge import merged
from linesmith.patches.scan.program import program, stamp
from linesmith.patches.scan.text_join import with_text
from linesmith.patches.scan.text_scan import text_places
from linesmith.patches.scan.unit import Database, Unit
from linesmith.patches.scan.workers import Parser, Progress, parsed
from linesmith.patches.visible_files import visible


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told of a scan: ``progress`` of units done and in all, ``tell`` of what is worth a line."""

    progress: Progress
    tell: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A record, the units that can show something of it, and the answers at hand, by unit."""

    record: str
    units: tuple[Unit, ...]
    kept: Kept
    lines: dict[Unit, Line]


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
        readable = (executable, *visible(compiled.tree, compiled.builds))
        _parse(Parser((str(executable),), (compiled.tree, compiled.build), readable), wanted, files, watch)
        found = {one.record: _scan(one, compiled, files) for one in wanted}
    texts = text_places(compiled.tree, tuple(found), watch.tell)
    return tuple(with_text(found[record], texts[record]) for record in records)


def _wanted(record: str, units: tuple[Unit, ...], kept: Kept, files: Files) -> _Wanted:
    lines = {unit: kept.sound(unit, files) for unit in units}
    return _Wanted(record, units, kept, {unit: line for unit, line in lines.items() if line is not None})


def _parse(parser: Parser, wanted: Sequence[_Wanted], files: Files, watch: Watch) -> None:
    """Parse what is not at hand, all records at once."""
    stale = [one for one in wanted if len(one.lines) < len(one.units)]
    units = dict.fromkeys(unit for one in stale for unit in one.units if unit not in one.lines)
    options = [word for one in stale for word in ("--record", one.record)]
    asking = replace(parser, argv=(*parser.argv, *options))
    for unit, found in parsed(asking, tuple(units), watch.progress):
        for one in stale:
            one.lines[unit] = one.kept.add(unit, found, files)


def _scan(one: _Wanted, compiled: Database, files: Files) -> SourceScan:
    answers = [(unit, one.lines[unit]) for unit in one.units]
    if answers and all(line.fatal for _, line in answers):
        line = answers[0][1]
        raise ScanFailed(f"none of the {len(answers)} units that use {one.record} can be parsed: {line.complaint}")
    found = merged(one.record, answers, one.kept.texts, compiled, files)
    one.kept.tidy([line for _, line in answers if not line.fatal])
    return found
