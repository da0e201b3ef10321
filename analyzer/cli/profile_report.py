# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a profile: which files it is of, what it rests on, and the way to its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from linesmith.analyzer.cli import options, premises, scanning
from linesmith.analyzer.cli.output import check_destinations

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
    sources: scanning.Sources


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
        sources: scanning.Sources,
        **others: object,
    ) -> None:
        command(asked=Asked(given, type_, section, snapshot, trust, trace, sources), **others)

    added: Callable[..., None] = premises.given(scanning.given(gathered))
    for option in reversed(_OPTIONS):
        added = option(added)
    return added


def chosen(inputs: tuple[Path, ...], elf: Path | None, html: Path | None) -> Path | OfProfile:
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
    from linesmith.analyzer.cli.blocks import with_blocks
    from linesmith.analyzer.cli.proposing import whatever_is_suggested
    from linesmith.analyzer.report.chosen import Chosen
    from linesmith.analyzer.report.html.profile_page import render_profile

    check_destinations([files.html], ("html",))
    found = with_offsets(
        analyse(files.elf, files.profile, asked.section, asked.type, snapshot=asked.snapshot, trust=asked.trust)
    )
    scans = scanning.scan_findings(asked.sources, found)
    given = asked.known.on_machine_of(found.profile)
    sources = asked.sources
    known = with_blocks(given.premises(files.elf, found.reading, scans), found, sources.tree, sources.deadline)
    told = Chosen(found.profile, found.section, found.sections, found.left_out)
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
