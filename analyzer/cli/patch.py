# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith patch``: a candidate as a patch of the source tree, confirmed by compiling it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.cli import options, output, premises, series_output
from linesmith.analyzer.cli.analysis import Analysis
from linesmith.analyzer.cli.options import Checking
from linesmith.analyzer.cli.output import Steps, remark
from linesmith.analyzer.cli.premises import CandidateChoice, Scanned, number_of, objects, records_of, scan_if_possible
from linesmith.analyzer.cli.series_output import Mailing, tell
from linesmith.analyzer.model import Candidate, ConfigurationCheck, Finding, SourceFact, SourceScan, StepTable
from linesmith.analyzer.model.candidate import candidate_name

if TYPE_CHECKING:
    from linesmith.analyzer.base.deadline import Deadline
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.patches.edit.patch import Confirmed
    from linesmith.patches.source.body import Remarks
    from linesmith.patches.source.tree import Tree
    from linesmith.tuner.constraints.facts import Premises
    from linesmith.tuner.propose.candidates import Suggestion


# The options that say how a candidate is written in C, beside the order of its members.

_GROUP = re.compile(r"(\w+)=(\w+(?:,\w+)*)")


def _groups(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Each as its name and its members."""
    found = [_GROUP.fullmatch(one) for one in given]
    for one, text in zip(found, given, strict=True):
        if one is None:
            raise click.BadParameter(f"{text!r} is no group; write NAME=MEMBER,MEMBER")
    return tuple((one[1], *one[2].split(",")) for one in found if one)


_OPTIONS = (
    click.option("--comment/--no-comment", default=True, help="Say above the member why it stands there (default)."),
    click.option("--padding", is_flag=True, help="Write a padding where an alignment to a line would be."),
    click.option(
        "--group",
        "groups",
        metavar="NAME=MEMBER,…",
        multiple=True,
        callback=_groups,
        help="Mark members that stand together as a cacheline group, with its assertions. Can be repeated.",
    ),
)


@dataclass(frozen=True, slots=True)
class Dressing:
    """Whether a ``comment`` and a ``padding`` are written; ``groups`` have a name and members each."""

    comment: bool
    padding: bool
    groups: tuple[tuple[str, ...], ...]

    def dressed(self, candidate: Candidate, facts: Sequence[SourceFact]) -> Candidate:
        """The candidate written so, where ``facts`` of its record allow it; raises ``EditRefused``."""
        from linesmith.patches.edit.edit import check_positions, grouped, padded

        written = padded(candidate) if self.padding else candidate
        for name, *members in self.groups:
            written = grouped(written, name, members)
        check_positions(candidate, written, facts)
        return written

    def remarks(self, candidate: Candidate, finding: Finding) -> Remarks | None:
        """Why the members stand where they do then, for the next who reads the source."""
        from linesmith.patches.message.paragraphs import why

        return why(candidate, finding) if self.comment else None


def given(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them together as ``dressing``."""

    @wraps(command)
    def gathered(*, comment: bool, padding: bool, groups: tuple[tuple[str, ...], ...], **others: object) -> None:
        command(dressing=Dressing(comment, padding, groups), **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


@click.command()
@options.elf
@options.profile
@options.tree
@options.build
@options.cflags
@options.deadline_given
@options.type_
@click.option(
    "--candidate",
    metavar="NAME",
    type=CandidateChoice(),
    help="What `suggest` calls it; else the recommended.",
)
@options.section
@premises.premises_given
@options.snapshot
@options.other_build
@options.trace
@options.format_
@series_output.series_given
@options.matrix_given
@given
@click.option(
    "--series", "in_steps", is_flag=True, help="One patch for each move of the candidate, each of which compiles."
)
@click.option(
    "--scan/--no-scan", default=True, help="Look through the sources for code that relies on the order (default)."
)
@click.option("--dry-run", is_flag=True, help="Show the edit and the commands that would confirm it; run none.")
def command(
    elf: Path,
    profile: Path,
    tree: Path,
    build: Path | None,
    cflags: str,
    deadline: Deadline,
    type_: str | None,
    candidate: int | str | None,
    section: int,
    given: premises.Given,
    snapshot: Path | None,
    trust: str | None,
    trace: Path | None,
    format_: str,
    mailing: series_output.Mailing,
    checking: options.Checking,
    dressing: Dressing,
    in_steps: bool,
    scan: bool,
    dry_run: bool,
) -> None:
    """Write a candidate as a patch with its evidence, for `patch -p1` and `git apply`.

    Of a tree that is a repository of git it is a mail for `git am`. The patch counts only when the patched source
    compiles, with the tree's own flags, to the layout that was promised.
    """
    from linesmith.analyzer.cli.analysis import analyse, with_offsets
    from linesmith.analyzer.cli.group import interruptible
    from linesmith.analyzer.cli.premises import with_blocks
    from linesmith.analyzer.cli.suggest import tell_choice
    from linesmith.patches.source.tree import Tree

    sources = Tree(tree, build, cflags)
    asked = Asked(mailing, checking, dressing, in_steps, scan, format_, given.cpus, deadline)
    check_early(sources, asked)
    with interruptible():
        found = with_offsets(analyse(elf, profile, section, type_, snapshot=snapshot, trust=trust))
        given = given.on_machine_of(found.profile)
        asked = replace(asked, cpus=given.cpus)
        with deadline.running():
            scanned = survey(found, sources, asked)
        known = with_blocks(given.premises(elf, found.reading, scanned.scans), found, tree, deadline)
        chosen = choose(found, known, trace, candidate)
        if chosen.facts:
            tell_choice(chosen.candidate)
        if dry_run:
            show_draft(chosen, sources, asked)
        elif deliver(chosen, sources, asked, scanned, found.reading.layouts):
            click.get_current_context().exit(1)


# The way from a numbered candidate to a patch, and what is told on the way.


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
    from linesmith.analyzer.attribution.same_code import is_of_another_build
    from linesmith.analyzer.cli.suggest import free_candidates, offered
    from linesmith.tuner.propose.candidates import reasons
    from linesmith.tuner.propose.steps import step_tables

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
    from linesmith.patches.edit.patch import readiness

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
    from linesmith.analyzer.report import changes
    from linesmith.patches.edit.patch import draft

    candidate = asked.dressing.dressed(chosen.candidate, chosen.facts)
    with asked.deadline.running():
        made = draft(candidate, tree, asked.dressing.remarks(candidate, chosen.finding))
    output.deliver(changes.render_draft(made, asked.format), asked.mailing.file)


def deliver(chosen: Chosen, tree: Tree, asked: Asked, scanned: Scanned, layouts: Layouts) -> bool:
    """The candidate as confirmed patches, written where they are to go; what is not as expected is told beside them.

    ``layouts`` are those of the ELF file. Returns whether a configuration that was asked for has it worse than before,
    or was not judged in time.
    """
    from linesmith.analyzer.report import changes
    from linesmith.analyzer.report.layout import excerpt
    from linesmith.patches.edit.patch import confirm, told
    from linesmith.patches.message.paragraphs import OF_ANOTHER_BUILD, beyond, is_worse
    from linesmith.patches.series.stepwise import stepwise, whole

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
        output.deliver(changes.render_json(patch, files, checks), asked.mailing.file)
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
    from linesmith.patches.matrix.check import check
    from linesmith.patches.matrix.choice import Change
    from linesmith.patches.matrix.records import holders_of

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
