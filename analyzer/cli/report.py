# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith report``: what a run of ``tune`` or ``bench`` has found, or what a profile shows, also as a page.

A page of a profile shows what ``suggest`` proposes. A page of a run shows the patch to take and the records that it
lays out otherwise than the baseline, with what the run's profile says of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import (
    DebugInfoDamaged,
    DebugInfoMissing,
    ElfError,
    LinesmithError,
    NothingToSuggest,
)
from linesmith.analyzer.cli import options, premises
from linesmith.analyzer.cli.analysis import analyse, kernel_of, load, trace_to_replay
from linesmith.analyzer.cli.options import USUAL_MACHINE
from linesmith.analyzer.cli.output import check_destinations
from linesmith.analyzer.cli.premises import scan_findings
from linesmith.analyzer.cli.settings import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.cli.premises import PremiseOptions, ScanOptions
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.model import Candidate, Finding, Layout, MemoryUse, Result
    from linesmith.analyzer.report.html.page import Emphasis
    from linesmith.analyzer.report.html.run_page import ChangedRecord, RunFiles
    from linesmith.analyzer.sharing.analysis import Explanation
    from linesmith.analyzer.slab.allocation import Kernel
    from linesmith.tuner.run.evidence import RunProfile


_OF_RUNS = frozenset(("format_", "output"))
_OF_BOTH = frozenset(("inputs", "html", "verbose", "quiet"))
# Records that hold the one that was changed may differ as well; so many are drawn.
MOST_RECORDS = 6
_NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """The options for a profile as they were given."""

    basis: PremiseOptions
    type_: str | None
    evidence: options.EvidenceOptions
    trace: Path | None
    sources: ScanOptions


_profile_given = options.gathered(
    "of_profile",
    ProfileOptions,
    options.type_,
    options.evidence_given,
    options.trace,
    premises.premises_given,
    premises.scanning_given,
)


@click.command()
@click.argument(
    "inputs",
    metavar="RUN | ELF PROFILE",
    nargs=-1,
    required=True,
    type=options.ProfilePath(exists=True, allow_dash=True, path_type=Path),
)
@options.html
@options.format_
@options.output
@_profile_given
def command(
    inputs: tuple[Path, ...], html: Path | None, format_: str, output: Path | None, of_profile: ProfileOptions
) -> None:
    """Show the results of a run of tune or bench so far, or write a profile as an HTML page.

    The run in directory RUN may still be active, or have been killed. With ELF, PROFILE and --html, write a page with
    the hot cache lines, who accesses them, and the changes that `suggest` proposes, with layouts, costs and phases. The
    options from --type on apply to that page.
    """
    request = chosen_report(inputs, html)
    if isinstance(request, PageRequest):
        options.write_page(page(request, of_profile), request.html)
        return
    from linesmith.analyzer.cli.runs import show_results
    from linesmith.analyzer.report.html.run_page import render_run
    from linesmith.tuner.run.result import read_result  # imports scipy, which takes half a second

    result = read_result(request)
    if html:
        options.write_page(render_run(result, files_of(request, result)), html)
    else:
        show_results(result, format_, output)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page ``html`` is to be made of a profile by the layouts of an ELF file."""

    elf: Path
    profile: Path
    html: Path


def chosen_report(inputs: tuple[Path, ...], html: Path | None) -> Path | PageRequest:
    """The run directory, or the files of a profile; raises ``click.UsageError`` for anything else."""
    if inputs[0].is_dir():
        if len(inputs) > 1:
            raise click.UsageError(f"{inputs[0]} is a directory, so it must be a RUN; give the RUN alone")
        names = {one.name for one in click.get_current_context().command.params}
        _refuse(names - _OF_RUNS - _OF_BOTH, "applies to a PROFILE, not to a RUN; leave it out")
        return inputs[0]
    if len(inputs) == 1:
        raise click.UsageError(
            f"{inputs[0]} is not a run directory; for a profile, give the program or kernel as well: ELF PROFILE"
        )
    if len(inputs) > 2 or inputs[1].is_dir():
        raise click.UsageError("give one RUN, or one PROFILE with its ELF: ELF PROFILE")
    _refuse(_OF_RUNS, "applies to a RUN, not to a PROFILE; leave it out")
    if html is None:
        raise click.UsageError("a profile needs --html FILE; `linesmith hot` and `suggest` print text")
    return PageRequest(inputs[0], inputs[1], html)


def page(request: PageRequest, of_profile: ProfileOptions) -> str:
    """The page of a profile; raises what ``suggest`` does, but not that there is nothing to suggest."""
    from linesmith.analyzer.cli.suggest import offered, suggested, worthwhile
    from linesmith.analyzer.report.findings import ProfileSection
    from linesmith.analyzer.report.html.profile_page import render_profile

    check_destinations([request.html], ("html",))
    trace = of_profile.trace
    found = analyse(request.elf, request.profile, of_profile.evidence, of_profile.type_, trace=trace)
    of_profile = replace(of_profile, trace=trace_to_replay(found, request.profile, trace))
    known = of_profile.basis.premises_of(found, scan_findings(of_profile.sources, found), of_profile.sources)
    made = offered(worthwhile(found), known, of_profile.trace)
    shown = suggested(found, known, made, of_profile.trace)
    report = ProfileSection(found.profile, of_profile.evidence.section, found.reports, found.left_out)
    return render_profile(shown, report, tuple(_unchecked(of_profile)))


def _unchecked(of_profile: ProfileOptions) -> Iterator[str]:
    """What nobody gave, so that nobody looked at it."""
    yield "run time: nothing was built or run; linesmith bench measures a patch, tune searches"
    if of_profile.trace is None:
        yield "replay of the candidates: there is no trace of this profile (--trace)"
    if of_profile.sources.tree is None:
        yield (
            "the sources: #if blocks, offset assertions, initialisers by position and memset ranges were not scanned"
            " (--tree)"
        )
    if not of_profile.basis.configurations:
        yield "other configurations and architectures: only this build was checked (--configuration)"
    if of_profile.basis.machine.slabinfo is None:
        yield "slab caches of a running kernel: their properties are computed or assumed (--slabinfo)"


def _refuse(names: Collection[str | None], complaint: str) -> None:
    """Raise ``click.UsageError`` where one of the parameters stands on the command line."""
    for one in click.get_current_context().command.params:
        if one.name in names and is_given(one.name or ""):
            raise click.UsageError(f"{one.opts[-1]} {complaint}")


# The page of a run.


def files_of(run: Path, result: Result) -> RunFiles:
    """The recommended patch, or the most promising one, and what it does to the layouts; raises ``JournalError``."""
    from linesmith.analyzer.report.html.run_page import RunFiles
    from linesmith.analyzer.report.run import decisive

    # The variant that was confirmed; without one that of the largest gain among those that were compared.
    deciding = [one for one in decisive(result) if one.decides]
    variant = result.best or (max(deciding, key=lambda one: one.gain).variant if deciding else "")
    found = _of_variant(run, result, variant) if variant else RunFiles()
    return replace(found, folder=str(run.resolve()))


def _of_variant(run: Path, result: Result, variant: str) -> RunFiles:
    from linesmith.analyzer.report.html.run_page import RunFiles
    from linesmith.tuner.run.evidence import run_profile

    patches = dict(result.patches)
    patch = (run / patches[variant]).read_text("utf-8", "surrogateescape") if variant in patches else ""
    before, after = _reading(run, result.baseline), _reading(run, variant)
    if before is None or after is None:
        gone = result.baseline if before is None else variant
        return RunFiles(variant, patch, (), f"The build of {gone} is gone or has no debug information")
    changes, more = record_changes(ChangedVariant(variant, before, after, patch, run_profile(run)))
    left = f"{more} more records differ; `linesmith diff` shows them" if more > 0 else ""
    return RunFiles(variant, patch, changes, left if changes else f"Every record of {variant} is laid out as before")


def _reading(run: Path, variant: str) -> Reading | None:
    """The layouts of the first product of a variant's build that has any."""
    from linesmith.tuner.run.journal import read_build

    built = read_build(run, variant)
    for _, product in sorted(built.products, key=lambda one: one[0] != "vmlinux") if built else ():
        try:
            return load(product)
        except (ElfError, DebugInfoMissing, DebugInfoDamaged):
            continue
    return None


@dataclass(frozen=True, slots=True)
class ChangedVariant:
    """Two builds, the ``patch`` that makes the second of the first, its name, and a profile of the first if any."""

    name: str
    before: Reading
    after: Reading
    patch: str
    profile: RunProfile | None


@dataclass(frozen=True, slots=True)
class _BuiltChange:
    """What the change does to a record's hottest ``line``."""

    line: Finding
    change: Candidate


def record_changes(variant: ChangedVariant) -> tuple[tuple[ChangedRecord, ...], int]:
    """The records that differ, those that the patch is about first, and how many of them are left out."""
    from linesmith.analyzer.layouts.diff import changes
    from linesmith.analyzer.lint.pairs import of_two

    before, after = variant.before.layouts, variant.after.layouts
    pairs = of_two(before, after, ()).pairs
    found = [(one.old, one.new, len(one.members)) for one in changes(before, after, iter(pairs)) if one.old and one.new]
    changed = frozenset(old.id for old, _, _ in found)

    def is_own(old: Layout, new: Layout) -> bool:
        """Whether its own declaration was changed; others differ because they hold a record that did."""
        reordered = [one.name for one in old.members] != [one.name for one in new.members]
        return reordered or not any(one.record in changed for one in old.members)

    def rank(one: tuple[bool, Layout, Layout, int]) -> tuple[bool, int]:
        own, _, _, moved = one
        return not own, -moved

    ranked = sorted(((is_own(old, new), old, new, moved) for old, new, moved in found), key=rank)
    made = (
        _change(variant, (old, new), f"record-{place}", own=own)
        for place, (own, old, new, _) in enumerate(ranked[:MOST_RECORDS])
    )
    return tuple(made), max(0, len(found) - MOST_RECORDS)


def _change(variant: ChangedVariant, sides: tuple[Layout, Layout], anchor: str, *, own: bool) -> ChangedRecord:
    from linesmith.analyzer.line_map.fields import NO_HEAT, heat_of
    from linesmith.analyzer.line_map.record_map import line_map
    from linesmith.analyzer.report.candidate import meetings
    from linesmith.analyzer.report.html.page import layout_pair, memory_rows, touched_cells, why
    from linesmith.analyzer.report.html.run_page import ChangedRecord
    from linesmith.tuner.propose.steps import step_tables

    (old, new), before, after = sides, variant.before, variant.after
    seen = _seen(variant, old)
    heat = heat_of(old, before.layouts, (*seen.findings, *seen.colder), seen.profile) if seen else NO_HEAT
    line_change = _line_change(variant, seen, old, new) if seen and own else None
    pair = layout_pair(
        anchor,
        (old, before.layouts),
        (new, after.layouts),
        _emphasis(variant.patch, new, seen, line_change),
        heat,
        memory_rows(_memory(before, old), _memory(after, new)),
    )
    cells = touched_cells(line_map(old, before.layouts, heat)) if heat.known else ()
    if line_change is None:
        return ChangedRecord(pair, own, cells)
    steps = why(
        step_tables(line_change.line, line_change.change, before.layouts), line_change.line, f"in {variant.name}"
    )
    return ChangedRecord(pair, own, cells, meetings(line_change.change), steps)


def _seen(variant: ChangedVariant, layout: Layout) -> Explanation | None:
    """What the profile shows of the record in the baseline; nothing where there is none, or it has none of it."""
    if variant.profile is None or not layout.name:
        return None
    try:
        evidence = options.EvidenceOptions(variant.profile.section)
        return analyse(Path(variant.before.identity.path), variant.profile.path, evidence, layout.name)
    except LinesmithError:
        return None


def _line_change(variant: ChangedVariant, seen: Explanation, old: Layout, new: Layout) -> _BuiltChange | None:
    """The change as it was built; nothing where no members meet that could be separated, or others are there now."""
    from linesmith.analyzer.attribution.identify import with_found_caches
    from linesmith.analyzer.sharing.analysis import quiet_lines
    from linesmith.tuner.constraints.freedom import Premises
    from linesmith.tuner.propose.tradeoff import as_built
    from linesmith.tuner.space.dimensions import searched_records

    layouts, kernel = variant.before.layouts, _kernel(variant.before)
    kernel = kernel and with_found_caches(kernel, seen.profile, layouts)
    premises = Premises(kernel=kernel, accesses=seen.accesses, beside=quiet_lines(seen))
    try:
        record = next(searched_records((*seen.findings, *seen.colder), layouts, old.name, premises))
    except NothingToSuggest:
        return None
    if record.lines[0].objects[0].layout != old.id:
        return None
    change = as_built(record.subject, old, layouts, new, variant.after.layouts)
    return _BuiltChange(record.lines[0], change) if change else None


def _emphasis(patch: str, new: Layout, seen: Explanation | None, line_change: _BuiltChange | None) -> Emphasis:
    """What was moved is marked; who is hot is reported in the text with it."""
    from linesmith.analyzer.report.candidate import MOST_HOT, concerned_names, member_heat
    from linesmith.analyzer.report.html.page import Emphasis

    # Members on lines which the patch adds: of two that changed places a layout alone cannot tell which.
    added = (line[1:].strip() for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++"))
    code = (line.partition("/*")[0].partition("//")[0] for line in added if not line.startswith("*"))
    words = {word for line in code for word in _NAME.findall(line)}
    moved = frozenset(one.name for one in new.members if one.name in words)
    if seen is None or line_change is None:
        return Emphasis(moved)
    said = member_heat(line_change.line, (*seen.findings, *seen.colder))
    return Emphasis(moved, concerned_names(line_change.change) | frozenset(list(said)[:MOST_HOT]), said)


def _memory(reading: Reading, layout: Layout) -> tuple[MemoryUse, ...]:
    """What objects cost in the slabs of the kernel; nothing of a program."""
    from linesmith.analyzer.layouts.containment import containment_of
    from linesmith.analyzer.slab.starts import slab_places
    from linesmith.tuner.propose.phases import memory_use

    kernel = _kernel(reading)
    if kernel is None:
        return ()
    places = slab_places(layout, containment_of(reading.layouts), kernel)
    return tuple(dict.fromkeys(memory_use(place.cache) for place in places))


def _kernel(reading: Reading) -> Kernel | None:
    known = kernel_of(Path(reading.identity.path), reading.identity, USUAL_MACHINE)
    return known.kernel if known.named else None
