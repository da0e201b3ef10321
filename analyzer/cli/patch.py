# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith patch``: a candidate as a patch of the source tree, confirmed by compiling it.

The candidates are those of ``suggest``. What prevents every one of them is found before the search, which
takes longest; what is not as expected of the patch that comes out is printed on standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import LinesmithError, NothingToSuggest
from linesmith.analyzer.cli import options, output, premises, series_output
from linesmith.analyzer.cli.output import StepReporter
from linesmith.analyzer.cli.premises import CandidateChoice, ScanOptions, number_of, objects, scan_if_possible
from linesmith.analyzer.cli.series_output import tell

if TYPE_CHECKING:
    from linesmith.analyzer.base.errors import Deadline
    from linesmith.analyzer.cli.options import Checking
    from linesmith.analyzer.cli.series_output import Mailing
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.model import Candidate, ConfigurationCheck, Finding, SourceFact, SourceScan
    from linesmith.analyzer.sharing.analysis import Explanation
    from linesmith.patches.edit.patch import Confirmed
    from linesmith.patches.message.trouble import ProfileOrigin
    from linesmith.patches.source.body import Remarks
    from linesmith.patches.source.tree import Tree
    from linesmith.tuner.constraints.freedom import Premises
    from linesmith.tuner.propose.candidates import Suggestion


_ALL_SMALL = (
    "Nothing to change: every record has too small a part of the profile; with --type NAME, `linesmith"
    " patch` takes a record anyway."
)


@click.command()
@options.elf
@options.profile
@series_output.tree_given
@options.deadline_given
@options.type_
@click.option("--candidate", metavar="NAME", type=CandidateChoice(), help="Name from `suggest`. Default: recommended.")
@options.evidence_given
@premises.premises_given
@options.trace
@options.format_
@series_output.series_given
@options.matrix_given
@click.option("--comment/--no-comment", default=True, help="Explain the position in a comment (default).")
@click.option(
    "--scan/--no-scan", default=True, help="Scan the sources for code that relies on the member order (default)."
)
@click.option(
    "--dry-run", is_flag=True, help="Show the edit and the commands that would verify it, without running them."
)
def command(
    elf: Path,
    profile: Path,
    tree: Tree,
    deadline: Deadline,
    type_: str | None,
    candidate: int | str | None,
    evidence: options.EvidenceOptions,
    basis: premises.PremiseOptions,
    trace: Path | None,
    format_: str,
    mailing: series_output.Mailing,
    checking: options.Checking,
    comment: bool,
    scan: bool,
    dry_run: bool,
) -> None:
    """Write a candidate as a patch with its evidence, for `git apply` or `patch -p1`.

    In a git tree, the patch is a mail for `git am`. It is written only if the patched source compiles, with the tree's
    own flags, to the proposed layout.
    """
    from linesmith.analyzer.cli.analysis import analyse, trace_to_replay
    from linesmith.analyzer.cli.group import interruptible
    from linesmith.analyzer.cli.suggest import tell_choice, worthwhile

    request = PatchRequest(mailing, checking, comment, scan, format_, basis.machine.cpus, deadline)
    # What would be in the way at the end only: no place to write to, or a commit that is not there.
    if format_ == "json" and mailing.output is not None and mailing.output.is_folder:
        raise click.UsageError("--format json writes one file; name a file with -o, not a directory")
    mailing.check()
    _check_tree(elf, tree)
    with interruptible():
        premises.refuse_other_tree(elf, ScanOptions(tree.root, tree.build, deadline))
        found = analyse(elf, profile, evidence, type_, trace=trace)
        trace = trace_to_replay(found, profile, trace)
        # Numbers and what is recommended are those of `suggest`, which leaves out small records; a name holds for all.
        found = found if isinstance(candidate, str) else worthwhile(found)
        basis = basis.on_machine_of(found.profile)
        request = replace(request, cpus=basis.machine.cpus)
        with deadline.running():
            scans = survey(found, tree, request, dry_run=dry_run)
        known = basis.premises_of(found, scans, ScanOptions(tree.root, tree.build, deadline))
        choice = choose(found, known, trace, candidate)
        if choice.facts:
            tell_choice(choice.candidate)
        if dry_run:
            show_draft(choice, tree, request)
        elif deliver(choice, tree, request, scans, found.reading.layouts):
            click.get_current_context().exit(1)


# From a candidate to a patch.


@dataclass(frozen=True, slots=True)
class ChosenCandidate:
    """A candidate, its number in the list of ``linesmith suggest``, and the finding it answers.

    ``facts`` are those of its record that it keeps to; ``profiled`` is where the profile is from.
    """

    number: int
    candidate: Candidate
    finding: Finding
    facts: tuple[SourceFact, ...]
    profiled: ProfileOrigin

    @property
    def seen(self) -> Finding:
        """The finding with the members of the record on all hot lines."""
        return replace(self.finding, members=self.profiled.members)


@dataclass(frozen=True, slots=True)
class PatchRequest:
    """What a user wants of the patches besides their content; slabs are worked out for ``cpus``.

    ``deadline`` is for reading the tree and for the compiles that confirm the patch; each configuration that is asked
    for by its name has as much time for itself.
    """

    mailing: Mailing
    checking: Checking
    comment: bool
    scan: bool
    format: str
    cpus: int
    deadline: Deadline


def choose(found: Explanation, premises: Premises, trace: Path | None, choice: int | str | None) -> ChosenCandidate:
    """The candidate with that number or name, or the recommended one that saves most.

    Raises ``CandidateUnknown``, ``NothingToSuggest`` when none is recommended, and what a replay raises.
    """
    from linesmith.analyzer.attribution.placement import is_of_another_build
    from linesmith.analyzer.cli.suggest import free_candidates, offered
    from linesmith.analyzer.sharing.findings import recorded_from
    from linesmith.analyzer.sharing.parts import own_members
    from linesmith.patches.message.trouble import ProfileOrigin
    from linesmith.tuner.propose.candidates import reasons

    answers = offered(found, premises, trace)
    known = [(one, candidate) for one in answers for candidate in one.candidates]
    if not known:
        raise NothingToSuggest(reasons(answers) if answers or not found.others else _ALL_SMALL)
    candidates = [candidate for _, candidate in known]
    number = number_of(choice, candidates, lambda: free_candidates(found, premises, trace))
    # As `suggest` explains that which saves most.
    recommended = [at for at, one in enumerate(candidates, 1) if one.recommended]
    number = number or max(recommended, key=lambda at: candidates[at - 1].judgement.saved, default=None)
    if number is None:
        raise _nothing_recommended(answers)
    answer, candidate = known[number - 1]
    layout = answer.finding.objects[0].layout
    seen = [one for one in (*found.findings, *found.colder) if one.objects and one.objects[0].layout == layout]
    members = [member for one in seen or [answer.finding] for member in own_members(one)]
    origin = recorded_from(found.profile, another_build=is_of_another_build(found.profile))
    profiled = ProfileOrigin(*origin, tuple(members))
    return ChosenCandidate(number, candidate, answer.finding, premises.facts.of(candidate.type), profiled)


def _nothing_recommended(answers: Sequence[Suggestion]) -> NothingToSuggest:
    """The answer for candidates of which none is recommended: why, of the hottest record, and what can be done."""
    from linesmith.analyzer.model.candidate import candidate_name

    offered = [one for one in answers if one.candidates]
    first = offered[0].candidates[0]
    record = f"for {first.before.title if first.before.name else first.type}"
    why = offered[0].declined.replace("Nothing is recommended", f"Nothing is recommended {record}", 1)
    more = f" Nor is anything for {len(offered) - 1} more records." if len(offered) > 1 else ""
    return NothingToSuggest(
        f"{why}{more} `linesmith suggest` shows the candidates and what else can help; with --candidate"
        f" {candidate_name(first)}, `linesmith patch` writes the first all the same."
    )


def _check_tree(elf: Path, tree: Tree) -> None:
    """Raise what stands in the way of every patch of a kernel's tree: no configuration, or a missing tool."""
    from linesmith.analyzer.slab.caches import release_of
    from linesmith.patches.build.kbuild import is_kernel, planned

    if is_kernel(tree.root) and release_of(elf):
        planned(tree.root, tree.build)


def survey(found: Explanation, tree: Tree, request: PatchRequest, *, dry_run: bool) -> tuple[SourceScan, ...]:
    """Who relies on the order of the records found; raises what prevents every candidate.

    A record may have no declaration in the tree, or one that must stay; the tree may have no configuration, or not the
    one that is asked for; a tool may be missing, the flags may not suit the file. Where one of the records has no such
    obstacle, the search goes on. A ``dry_run`` compiles nothing.
    """
    from linesmith.patches.edit.patch import as_it_is, declaring_file

    obstacles: list[LinesmithError] = []
    known = objects(found)
    # Of a type that was named no other record can be the one that is changed.
    named = {found.narrowed_to: known[found.narrowed_to]} if found.narrowed_to in known else known
    for type_, layout in named.items():
        try:
            request.checking.configurations(tree, declaring_file(type_, layout, tree), request.cpus)
            if not dry_run:
                as_it_is(type_, layout, tree, StepReporter())
            break
        except LinesmithError as obstacle:
            obstacles.append(obstacle)
    else:
        if obstacles:
            raise obstacles[0]
    return scan_if_possible(tree.root, tree.build, found) if request.scan else ()


def _remarks(choice: ChosenCandidate, request: PatchRequest) -> Remarks | None:
    """Why the members stand where they do then, for the next who reads the source."""
    from linesmith.patches.message.paragraphs import remarks_on

    return remarks_on(choice.candidate, choice.seen) if request.comment else None


def show_draft(choice: ChosenCandidate, tree: Tree, request: PatchRequest) -> None:
    """The candidate as an edit that nothing has confirmed."""
    from linesmith.analyzer.report import changes
    from linesmith.patches.edit.patch import draft

    with request.deadline.running():
        made = draft(choice.candidate, tree, _remarks(choice, request))
    output.deliver(changes.render_draft(made, request.format), request.mailing.file)


def deliver(
    choice: ChosenCandidate, tree: Tree, request: PatchRequest, scans: Sequence[SourceScan], layouts: Layouts
) -> bool:
    """The candidate as confirmed patches, written where they are to go; what is not as expected is a remark.

    ``layouts`` are those of the ELF file. Returns whether a configuration that was asked for has it worse than before,
    or was not judged in time.
    """
    from linesmith.analyzer.model.candidate import candidate_name
    from linesmith.analyzer.report import changes
    from linesmith.patches.edit.patch import confirm, patch_of, whole
    from linesmith.patches.message.paragraphs import further_checks, is_worse
    from linesmith.patches.series.mails import patch_files

    candidate = choice.candidate
    with request.deadline.running():
        confirmed = confirm(candidate, tree, StepReporter(), _remarks(choice, request))
    scan = next((one for one in scans if one.record == candidate.type), None)
    checks = _checks(candidate, confirmed, tree, request, layouts, scan)
    title = confirmed.original.declared.record.title
    further = further_checks(checks, scan, title, choice.facts)
    with request.deadline.running():
        patch = patch_of(candidate, choice.finding, tree, choice.number, confirmed, further, choice.profiled)
        patch = replace(patch, name=candidate_name(candidate))
        series = whole(patch, confirmed)
        files = patch_files(series, tree.root)
    if request.format == "json":
        output.deliver(changes.render_json(patch, files, checks), request.mailing.file)
    else:
        request.mailing.write(files)
    tell(series)
    return is_worse(checks)


def _checks(
    candidate: Candidate,
    confirmed: Confirmed,
    tree: Tree,
    request: PatchRequest,
    layouts: Layouts,
    scan: SourceScan | None,
) -> tuple[ConfigurationCheck, ...]:
    """What other configurations make of the edit, where they are asked for.

    Units that rely on the order of the record's members are compiled first, then those that use them.
    """
    configurations = request.checking.configurations(tree, confirmed.change.file, request.cpus)
    if configurations is None:
        return ()
    from linesmith.analyzer.layouts.containment import holders_of
    from linesmith.patches.matrix.check import check
    from linesmith.patches.matrix.choice import CheckedChange

    places = (*(one.place for one in scan.dependencies), *(one.place for one in scan.uses)) if scan else ()
    files = (place.rpartition(":")[0] for place in places)
    change = CheckedChange(
        files=(confirmed.change,),
        record=candidate.type,
        title=confirmed.original.declared.record.title,
        file=confirmed.change.file,
        unit=candidate.before.unit,
        pairs=candidate.residuals,
        holders=holders_of(layouts, candidate.type),
        prefer=tuple(dict.fromkeys(file for file in files if file.endswith(".c"))),
        granules=candidate.granules or (0, 0),
    )
    return check(change, tree, replace(configurations, deadlines=request.deadline.anew), StepReporter())
