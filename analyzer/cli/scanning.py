# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a source tree to what its code says of records, with progress on standard error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import deadlines, options
from linesmith.analyzer.cli.remarks import remark
from linesmith.analyzer.cli.settled import is_given
from linesmith.analyzer.cli.waiting import Steps, shown
from linesmith.analyzer.errors import ScanFailed, ToolMissing

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.layouts import Layouts
    from linesmith.analyzer.model import Layout, SourceFacts, SourceScan
    from linesmith.patches.deadline import Deadline

_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_MOST_RECORDS = 30
_TREE = click.option(
    "--tree", metavar="DIR", type=_DIRECTORY, help="The sources: what code relies on counts. Only read."
)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that a command reads, if any: tree, build directory, and what all reading counts against."""

    tree: Path | None
    build: Path | None
    deadline: Deadline


def given(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--tree``, ``--build`` and ``--deadline`` to a command, which gets them together as ``sources``."""

    @wraps(command)
    def gathered(*, tree: Path | None, build: Path | None, deadline: Deadline, **others: object) -> None:
        command(sources=Sources(tree, build, deadline), **others)

    return _TREE(options.build(deadlines.given(gathered)))


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was found; where nothing could be, ``reason`` says why."""

    scans: tuple[SourceScan, ...] = ()
    reason: str = ""


def scan(tree: Path, build: Path | None, records: Sequence[str]) -> tuple[SourceScan, ...]:
    """What the code of ``tree`` says of each record; raises ``ScanFailed`` and ``ToolMissing``.

    What could not be parsed is told.
    """
    from linesmith.patches.scan.scan import Watch, scanned

    with shown(f"scanning {tree.name or tree} for {_named(records)}") as progress:
        found = scanned(tree, build, records, Watch(progress, Steps()))
    failed = dict(pair for one in found for pair in one.failed)
    if failed:
        unit, complaint = next(iter(failed.items()))
        remark(f"{len(failed)} of the scanned units were not parsed without errors; the first is {unit}: {complaint}")
    return found


def scan_if_possible(tree: Path, build: Path | None, records: Sequence[str]) -> Scanned:
    """The same; where it cannot be had, the reason is a value."""
    try:
        return Scanned(scan(tree, build, records))
    except (ScanFailed, ToolMissing) as error:
        return Scanned(reason=str(error))


def scan_layouts(sources: Sources, chosen: Sequence[Layout], types: Sequence[str]) -> tuple[SourceScan, ...]:
    """The same for the chosen layouts, nothing without a tree; raises ``click.UsageError`` for too many records."""
    if sources.tree is None:
        _refuse_build_alone(sources.build)
        return ()
    records = tuple(dict.fromkeys(layout.name for layout in chosen if layout.name))
    if not types or len(records) > _MOST_RECORDS:
        raise click.UsageError(f"--tree scans up to {_MOST_RECORDS} records at once, not {len(records)}; name a TYPE")
    with sources.deadline.running():
        return scan(sources.tree, sources.build, records)


def scan_findings(sources: Sources, found: Analysis) -> tuple[SourceScan, ...]:
    """The same for the records of the findings, nothing without a tree.

    A tree that is set for all commands need not be that of this program: then a scan that fails is a remark.
    """
    if sources.tree is None:
        _refuse_build_alone(sources.build)
        return ()
    with sources.deadline.running():
        if is_given("tree"):
            return scan(sources.tree, sources.build, records_of(found))
        scanned = scan_if_possible(sources.tree, sources.build, records_of(found))
    if scanned.reason:
        remark(f"code that relies on the order was not looked for: {scanned.reason}")
    return scanned.scans


def _refuse_build_alone(build: Path | None) -> None:
    if build is not None and is_given("build"):
        raise click.UsageError("--build is a build of the sources that --tree names; give both")


def told(scans: Sequence[SourceScan]) -> str:
    """The scans as text, each behind an empty line."""
    from linesmith.analyzer.report.source_scan import render_text

    return "".join(f"\n{render_text(one)}" for one in scans)


def records_of(found: Analysis) -> tuple[str, ...]:
    """The records that candidates for the findings can change."""
    layouts = found.reading.layouts
    known = [thing.layout for one in found.findings for thing in one.objects[:1] if thing.layout is not None]
    return tuple(dict.fromkeys(name for number in known if (name := layouts.by_id(number).name)))


def facts(scans: Sequence[SourceScan], layouts: Layouts) -> SourceFacts:
    """What the scans forbid, of members that the ELF file has."""
    from linesmith.patches.scan.facts import facts_of
    from linesmith.tuner.constraints.checked import known_facts

    return known_facts(facts_of(scans), layouts)


def _named(records: Sequence[str]) -> str:
    return records[0] if len(records) == 1 else f"{len(records)} records"
