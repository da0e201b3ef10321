# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a numbered candidate to a patch, and what is told on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from linesmith.analyzer.addresses.same_code import is_of_another_build
from linesmith.analyzer.cli import output
from linesmith.analyzer.cli.analysis import Analysis
from linesmith.analyzer.cli.blocks import objects
from linesmith.analyzer.cli.candidate_choice import number_of
from linesmith.analyzer.cli.dressing_options import Dressing
from linesmith.analyzer.cli.matrix_options import Checking
from linesmith.analyzer.cli.proposing import free_candidates, offered
from linesmith.analyzer.cli.remarks import remark
from linesmith.analyzer.cli.scanning import Scanned, records_of, scan_if_possible
from linesmith.analyzer.cli.series_output import Mailing, tell
from linesmith.analyzer.cli.waiting import Steps
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, ConfigurationCheck, Finding, SourceFact, SourceScan, StepTable
from linesmith.analyzer.model.candidate_name import candidate_name
from linesmith.analyzer.report import patch as report
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.patches.beyond import OF_ANOTHER_BUILD, beyond, is_worse
from linesmith.patches.confirmed import Confirmed, confirm
from linesmith.patches.deadline import Deadline
from linesmith.patches.matrix import Change, check, holders_of
from linesmith.patches.patch import draft, told
from linesmith.patches.readiness import readiness
from linesmith.patches.series.stepwise import stepwise, whole
from linesmith.patches.tree import Tree
from linesmith.tuner.premises import Premises
from linesmith.tuner.steps.step_table import step_tables
from linesmith.tuner.suggestions import Suggestion, reasons


@dataclass(frozen=True, slots=True)
class Chosen:
    """A candidate, its number in the list of ``linesmith suggest``, the finding it answers, and why it helps.

    ``facts`` are those of its record that it keeps to; ``of_another_build`` tells that the profile is not of the ELF
    file's build.
    """

    number: int
    candidate: Candidate
    finding: Finding
    steps: tuple[StepTable, ...] = ()
    facts: tuple[SourceFact, ...] = ()
    of_another_build: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user wants of the patches beside their content; slabs are worked out for ``cpus``.

    ``deadline`` is for reading the tree and for the compiles that confirm the patch; each configuration that is asked
    for by its name has as much time for itself.
    """

    mailing: Mailing
    checking: Checking
    dressing: Dressing
    in_steps: bool
    scan: bool
    format: str
    cpus: int
    deadline: Deadline


def choose(found: Analysis, premises: Premises, trace: Path | None, wanted: int | str | None) -> Chosen:
    """The candidate with that number or name, or the first that is recommended.

    Raises ``NothingToSuggest`` when there is no such one, when none is recommended, and what a replay raises.
    """
    answers = offered(found, premises, trace).answers
    known = [(one, candidate) for one in answers for candidate in one.candidates]
    if not known:
        raise NothingToSuggest(reasons(answers))
    candidates = [candidate for _, candidate in known]
    number = number_of(wanted, candidates, lambda: free_candidates(found, premises, trace)) or _recommended(known)
    answer, candidate = known[number - 1]
    steps = step_tables(answer.finding, candidate, found.reading.layouts)
    facts = premises.facts.of(candidate.type)
    return Chosen(number, candidate, answer.finding, steps, facts, is_of_another_build(found.profile))


def _recommended(known: Sequence[tuple[Suggestion, Candidate]]) -> int:
    """The number of the first recommended candidate."""
    for number, (_, candidate) in enumerate(known, 1):
        if candidate.recommended:
            return number
    first = candidate_name(known[0][1])
    raise NothingToSuggest(f"{known[0][0].declined} `linesmith patch --candidate {first}` takes the first all the same")


def check_early(tree: Tree, asked: Asked) -> None:
    """Raise what would be in the way at the end only: a commit that is not there, or no place to write to.

    Raises ``TreeError``, ``OutputError`` or ``click.UsageError``.
    """
    if asked.format == "json" and asked.mailing.place is not None and asked.mailing.place.is_folder:
        raise click.UsageError("--format json gives one file; name one with -o, not a folder")
    asked.mailing.check(tree.root)


def survey(found: Analysis, tree: Tree, asked: Asked) -> Scanned:
    """Who relies on the order of the records found; raises what stands in the way of every candidate.

    A record may have no declaration in the tree, or one that must stay; the tree may have no configuration, or not the
    one that is asked for; a tool may be missing. Where one of the records has no such obstacle, the search goes on.
    """
    known = [readiness(type_, layout, tree) for type_, layout in objects(found).items()]
    obstacles = [one.obstacle for one in known if one.obstacle is not None]
    if obstacles and len(obstacles) == len(known):
        raise obstacles[0]
    for one in known:
        if one.obstacle is None:
            asked.checking.asked(tree, one.file, asked.cpus)
    return scan_if_possible(tree.root, tree.build, records_of(found)) if asked.scan else Scanned()


def show_draft(chosen: Chosen, tree: Tree, asked: Asked) -> None:
    """The candidate as an edit that nothing has confirmed."""
    candidate = asked.dressing.dressed(chosen.candidate, chosen.facts)
    with asked.deadline.running():
        made = draft(candidate, tree, asked.dressing.remarks(candidate, chosen.finding))
    output.deliver(report.render_draft(made, asked.format), asked.mailing.file)


def deliver(chosen: Chosen, tree: Tree, asked: Asked, scanned: Scanned, layouts: Layouts) -> bool:
    """The candidate as confirmed patches, written where they are to go; what is not as expected is told beside them.

    ``layouts`` are those of the ELF file. Returns whether a configuration that was asked for has it worse than before,
    or was not judged in time.
    """
    candidate = asked.dressing.dressed(chosen.candidate, chosen.facts)
    with asked.deadline.running():
        confirmed = confirm(candidate, tree, Steps(), asked.dressing.remarks(candidate, chosen.finding))
    scan = next((one for one in scanned.scans if one.record == candidate.type), None)
    checks = _checks(candidate, confirmed, tree, asked, layouts, _users(scan))
    title = confirmed.original.declared.record.title
    said = beyond(checks, scan, title, chosen.facts)
    said = replace(said, profile=OF_ANOTHER_BUILD) if chosen.of_another_build else said
    parts = chosen.number, excerpt, confirmed, chosen.steps, said
    with asked.deadline.running():
        patch = replace(told(candidate, chosen.finding, tree, *parts), name=candidate_name(chosen.candidate))
        in_steps = asked.in_steps
        series = stepwise(candidate, patch, confirmed, tree, Steps()) if in_steps else whole(patch, confirmed)
        files = asked.mailing.files(series, tree.root)
    if asked.format == "json":
        output.deliver(report.render_json(patch, files, checks), asked.mailing.file)
    else:
        asked.mailing.write(files)
    in_time = tell(series, tree.root, files, asked.deadline, "" if asked.format == "json" else asked.mailing.whole)
    if scanned.reason:
        remark(f"code that relies on the order was not looked for: {scanned.reason}")
    return is_worse(checks) or not in_time


def _checks(
    candidate: Candidate, confirmed: Confirmed, tree: Tree, asked: Asked, layouts: Layouts, users: tuple[str, ...]
) -> tuple[ConfigurationCheck, ...]:
    """What other configurations make of the edit, where they are asked for; ``users`` are compiled before others."""
    wanted = asked.checking.asked(tree, confirmed.change.file, asked.cpus)
    if wanted is None:
        return ()
    change = Change(
        files=(confirmed.change,),
        record=candidate.type,
        title=confirmed.original.declared.record.title,
        file=confirmed.change.file,
        unit=candidate.before.unit,
        pairs=candidate.residuals,
        holders=holders_of(layouts, candidate.type),
        prefer=users,
        granules=candidate.granules or (0, 0),
    )
    return check(change, tree, replace(wanted, deadlines=asked.deadline.anew), Steps())


def _users(scan: SourceScan | None) -> tuple[str, ...]:
    """The units that rely on the order of the record's members, then those that use them."""
    if scan is None:
        return ()
    places = (*(one.place for one in scan.dependencies), *(one.place for one in scan.uses))
    files = (place.rpartition(":")[0] for place in places)
    return tuple(dict.fromkeys(file for file in files if file.endswith(".c")))
