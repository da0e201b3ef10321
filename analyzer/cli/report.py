# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith report``: what a run of ``tune`` or ``bench`` has found, or what a profile shows, also as a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from linesmith.analyzer.base.errors import LinesmithError, NothingToSuggest
from linesmith.analyzer.cli import options, premises
from linesmith.analyzer.cli.analysis import Analysis, analyse, beside
from linesmith.analyzer.cli.output import check_destinations
from linesmith.analyzer.cli.premises import Sources, scan_findings, scanning_given
from linesmith.analyzer.model import Candidate, Finding, Layout, MemoryUse

if TYPE_CHECKING:
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.report.html.candidate import Emphasis
    from linesmith.analyzer.report.html.finding import ChangedRecord
    from linesmith.analyzer.slab.allocation import Kernel
    from linesmith.tuner.run.evidence import RunProfile


# The report of a profile: which files it is of, what it rests on, and the way to its page.

INPUTS = click.argument(
    "inputs",
    metavar="RUN | ELF PROFILE",
    nargs=-1,
    required=True,
    type=options.ProfilePath(exists=True, allow_dash=True, path_type=Path),
)
ELF = click.option(
    "--elf",
    metavar="ELF",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The program or kernel that PROFILE is of: `PROFILE --elf ELF` is `ELF PROFILE`.",
)
_OPTIONS = (options.type_, options.section, options.snapshot, options.other_build, options.trace)
_NAMES = (
    "type_",
    "section",
    "snapshot",
    "trust",
    "trace",
    "tree",
    "build",
    "deadline",
    "growth",
    "constraints",
    "configurations",
)
_OF_RUNS = ("against", "format_", "output")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options for a profile as they were given."""

    known: premises.Given
    type: str | None
    section: int
    snapshot: Path | None
    trust: str | None
    trace: Path | None
    sources: Sources


@dataclass(frozen=True, slots=True)
class OfProfile:
    """A page ``html`` is to be made of a profile by the layouts of an ELF file."""

    elf: Path
    profile: Path
    html: Path


def given(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for a profile to a command, which gets them together as ``asked``."""

    @wraps(command)
    def gathered(
        *,
        given: premises.Given,
        type_: str | None,
        section: int,
        snapshot: Path | None,
        trust: str | None,
        trace: Path | None,
        sources: Sources,
        **others: object,
    ) -> None:
        command(asked=Asked(given, type_, section, snapshot, trust, trace, sources), **others)

    added: Callable[..., None] = premises.premises_given(scanning_given(gathered))
    for option in reversed(_OPTIONS):
        added = option(added)
    return added


def chosen_report(inputs: tuple[Path, ...], elf: Path | None, html: Path | None) -> Path | OfProfile:
    """The run directory, or the files of a profile; raises ``click.UsageError`` for anything else."""
    if inputs[0].is_dir():
        if len(inputs) > 1 or elf:
            raise click.UsageError(f"{inputs[0]} is a directory, so it must be the RUN, and that alone is to be given")
        _refuse(_NAMES, "is about a PROFILE, not about a RUN; leave it away")
        return inputs[0]
    files = (elf, *inputs) if elf else inputs
    if len(files) == 1:
        raise click.UsageError(
            f"{files[0]} is no run directory; for a profile, name the program or kernel it is of as well: ELF PROFILE"
        )
    if len(files) > 2 or files[1].is_dir():
        raise click.UsageError("a report is of one RUN, or of one PROFILE with its ELF: ELF PROFILE")
    _refuse(_OF_RUNS, "is about a RUN, not about a PROFILE; leave it away")
    if html is None:
        raise click.UsageError(
            "the report of a profile is a page, so name it with --html FILE; `linesmith hot` and `suggest` print text"
        )
    return OfProfile(files[0], files[1], html)


def page(files: OfProfile, asked: Asked) -> str:
    """The page of a profile; raises what ``suggest`` does, but not that there is nothing to suggest."""
    from linesmith.analyzer.cli.analysis import analyse, with_offsets
    from linesmith.analyzer.cli.premises import with_blocks
    from linesmith.analyzer.cli.suggest import whatever_is_suggested
    from linesmith.analyzer.report.hot import ProfileSection
    from linesmith.analyzer.report.html.pages import render_profile

    check_destinations([files.html], ("html",))
    found = with_offsets(
        analyse(files.elf, files.profile, asked.section, asked.type, snapshot=asked.snapshot, trust=asked.trust)
    )
    scans = scan_findings(asked.sources, found)
    given = asked.known.on_machine_of(found.profile)
    sources = asked.sources
    known = with_blocks(given.premises(files.elf, found.reading, scans), found, sources.tree, sources.deadline)
    told = ProfileSection(found.profile, found.section, found.sections, found.left_out)
    return render_profile(whatever_is_suggested(found, known, asked.trace), told, tuple(_unchecked(asked)))


def _unchecked(asked: Asked) -> Iterator[str]:
    """What nobody gave, so that nobody looked at it."""
    yield "whether any of this is faster: nothing was built or run; linesmith bench measures a patch, tune searches"
    if asked.trace is None:
        yield "what a replay says of the candidates: no trace was given (--trace)"
    if asked.sources.tree is None:
        yield (
            "the sources: #if blocks, offset assertions, initialisers by position and memset ranges were not looked "
            "for (--tree)"
        )
    if not asked.known.configurations:
        yield "other configurations and machines: only this build was looked at (--configuration)"
    if asked.known.slabinfo is None:
        yield "slab caches of a running kernel: theirs are computed or assumed (--slabinfo)"


def _refuse(names: tuple[str, ...], why: str) -> None:
    """Raise ``click.UsageError`` where one of the parameters stands on the command line."""
    context = click.get_current_context()
    parameters: Mapping[str, Any] = {str(one.name): one for one in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameters[name].opts[-1]} {why}")


@click.command()
@INPUTS
@ELF
@options.html
@click.option(
    "--against",
    metavar="RUN",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Show what another run says of the same variants.",
)
@options.result_format
@options.output
@given
def command(
    inputs: tuple[Path, ...],
    elf: Path | None,
    html: Path | None,
    against: Path | None,
    format_: str,
    output: Path | None,
    asked: Asked,
) -> None:
    """Show what a run of tune or bench has found so far, or write a profile as a page.

    The run in the directory RUN may still be going on, or have been killed. Of a PROFILE of the program or kernel ELF
    it makes a page, given --html: the hot lines, who touches them, the changes that `suggest` proposes, each with its
    layouts, costs and phases. Options from --type on are for that.
    """
    chosen = chosen_report(inputs, elf, html)
    if isinstance(chosen, OfProfile):
        options.write_page(page(chosen, asked), chosen.html)
        return
    from linesmith.analyzer.cli.runs import compare, show_page, show_results
    from linesmith.tuner.run.result import read_result  # imports scipy, which takes half a second

    if html:
        show_page(read_result(chosen), chosen, html)
    elif against:
        compare(read_result(chosen), read_result(against), output)
    else:
        show_results(read_result(chosen), format_, output)


# The records that a variant of a run lays out otherwise than the baseline, with what its profile says of them.

# Records that hold the one that was changed may differ as well; so many are drawn.
MOST_RECORDS = 6
_NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ChangedVariant:
    """Two builds, the ``patch`` that makes the second of the first, its name, and a profile of the first if any."""

    name: str
    before: Reading
    after: Reading
    patch: str
    profile: RunProfile | None


@dataclass(frozen=True, slots=True)
class _Told:
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
    ranked = sorted(((_is_own(old, new, changed), old, new, count) for old, new, count in found), key=_rank)
    made = (
        _change(variant, (old, new), f"record-{place}", own=own)
        for place, (own, old, new, _) in enumerate(ranked[:MOST_RECORDS])
    )
    return tuple(made), max(0, len(found) - MOST_RECORDS)


def _rank(one: tuple[bool, Layout, Layout, int]) -> tuple[bool, int]:
    own, _, _, moved = one
    return not own, -moved


def _is_own(old: Layout, new: Layout, changed: frozenset[int]) -> bool:
    """Whether its own declaration was changed; others differ because they hold a record that did."""
    reordered = [one.name for one in old.members] != [one.name for one in new.members]
    return reordered or not any(one.record in changed for one in old.members)


def _change(variant: ChangedVariant, sides: tuple[Layout, Layout], anchor: str, *, own: bool) -> ChangedRecord:
    from linesmith.analyzer.line_map.heat import NO_HEAT, heat_of
    from linesmith.analyzer.line_map.record_map import line_map
    from linesmith.analyzer.report.html.candidate import layout_pair, meetings, memory_rows, why
    from linesmith.analyzer.report.html.finding import ChangedRecord, touched_cells
    from linesmith.tuner.propose.steps import step_tables

    (old, new), before, after = sides, variant.before, variant.after
    seen = _seen(variant, old)
    heat = heat_of(old, before.layouts, seen.findings, seen.profile) if seen else NO_HEAT
    told = _told(variant, seen, old, new) if seen and own else None
    pair = layout_pair(
        anchor,
        (old, before.layouts),
        (new, after.layouts),
        _emphasis(variant.patch, new, seen, told),
        heat,
        memory_rows(_memory(before, old), _memory(after, new)),
    )
    cells = touched_cells(line_map(old, before.layouts, heat)) if heat.known else ()
    if told is None:
        return ChangedRecord(pair, own, cells)
    steps = why(step_tables(told.line, told.change, before.layouts), told.line, f"in {variant.name}")
    return ChangedRecord(pair, own, cells, meetings(told.change, before.layouts), steps)


def _seen(variant: ChangedVariant, layout: Layout) -> Analysis | None:
    """What the profile shows of the record in the baseline; nothing where there is none, or it has none of it."""
    if variant.profile is None or not layout.name:
        return None
    try:
        return analyse(Path(variant.before.identity.path), variant.profile.path, variant.profile.section, layout.name)
    except LinesmithError:
        return None


def _told(variant: ChangedVariant, seen: Analysis, old: Layout, new: Layout) -> _Told | None:
    """The change as it was built; nothing where no members meet that could be parted, or others are there now."""
    from linesmith.tuner.constraints.facts import Premises
    from linesmith.tuner.propose.notes import as_built
    from linesmith.tuner.space.hot_record import hot_records

    kernel = _kernel(variant.before)
    premises = Premises(kernel=kernel, accesses=seen.accesses, beside=beside(seen))
    layouts = variant.before.layouts
    try:
        record = next(hot_records(seen.findings, layouts, old.name, premises))
    except NothingToSuggest:
        return None
    if record.lines[0].objects[0].layout != old.id:
        return None
    change = as_built(record.subject, old, layouts, new, variant.after.layouts)
    return _Told(record.lines[0], change) if change else None


def _emphasis(patch: str, new: Layout, seen: Analysis | None, told: _Told | None) -> Emphasis:
    """What was moved is marked; who is hot is told in the text with it."""
    from linesmith.analyzer.report.candidate import concerned_names
    from linesmith.analyzer.report.html.candidate import Emphasis
    from linesmith.analyzer.report.layout import MOST_HOT, member_heat

    moved = _moved(patch, new)
    if seen is None or told is None:
        return Emphasis(moved)
    said = member_heat(told.line, seen.findings)
    return Emphasis(moved, concerned_names(told.change) | frozenset(list(said)[:MOST_HOT]), said)


def _moved(patch: str, layout: Layout) -> frozenset[str]:
    """Members that stand on lines which the patch adds: of two that changed places a layout alone cannot tell which."""
    added = (line[1:].strip() for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++"))
    code = (line.partition("/*")[0].partition("//")[0] for line in added if not line.startswith("*"))
    words = {word for line in code for word in _NAME.findall(line)}
    return frozenset(one.name for one in layout.members if one.name in words)


def _memory(reading: Reading, layout: Layout) -> tuple[MemoryUse, ...]:
    """What objects cost in the slabs of the kernel; nothing of a program."""
    from linesmith.analyzer.layouts.containment import Containment
    from linesmith.analyzer.slab.possible import slab_places
    from linesmith.tuner.cost.phases import memory_use

    kernel = _kernel(reading)
    if kernel is None:
        return ()
    places = slab_places(layout, Containment(reading.layouts), kernel)
    return tuple(dict.fromkeys(memory_use(place.cache) for place in places))


def _kernel(reading: Reading) -> Kernel | None:
    from linesmith.analyzer.slab.allocation import Kernel
    from linesmith.analyzer.slab.kernel import machine_of, release_of

    release = release_of(Path(reading.identity.path))
    return Kernel(machine_of(reading.identity.machine, release)) if release else None
