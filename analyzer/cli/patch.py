# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith patch``: a candidate as a patch of the source tree, confirmed by compiling it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import deadlines, dressing_options, matrix_options, options, premises, series_output
from linesmith.analyzer.cli.candidate_choice import CandidateChoice

if TYPE_CHECKING:
    from linesmith.patches.deadline import Deadline


@click.command()
@options.elf
@options.profile
@options.tree
@options.build
@options.cflags
@deadlines.given
@options.type_
@click.option(
    "--candidate",
    metavar="NAME",
    type=CandidateChoice(),
    help="What `suggest` calls it; else the recommended.",
)
@options.section
@premises.given
@options.snapshot
@options.other_build
@options.trace
@options.format_
@series_output.given
@matrix_options.given
@dressing_options.given
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
    checking: matrix_options.Checking,
    dressing: dressing_options.Dressing,
    in_steps: bool,
    scan: bool,
    dry_run: bool,
) -> None:
    """Write a candidate as a patch with its evidence, for `patch -p1` and `git apply`.

    Of a tree that is a repository of git it is a mail for `git am`. The patch counts only when the patched source
    compiles, with the tree's own flags, to the layout that was promised.
    """
    from linesmith.analyzer.cli import patching
    from linesmith.analyzer.cli.analysis import analyse, with_offsets
    from linesmith.analyzer.cli.blocks import with_blocks
    from linesmith.analyzer.cli.interruption import interruptible
    from linesmith.analyzer.cli.proposing import tell_choice
    from linesmith.patches.tree import Tree

    sources = Tree(tree, build, cflags)
    asked = patching.Asked(mailing, checking, dressing, in_steps, scan, format_, given.cpus, deadline)
    patching.check_early(sources, asked)
    with interruptible():
        found = with_offsets(analyse(elf, profile, section, type_, snapshot=snapshot, trust=trust))
        given = given.on_machine_of(found.profile)
        asked = replace(asked, cpus=given.cpus)
        with deadline.running():
            scanned = patching.survey(found, sources, asked)
        known = with_blocks(given.premises(elf, found.reading, scanned.scans), found, tree, deadline)
        chosen = patching.choose(found, known, trace, candidate)
        if chosen.facts:
            tell_choice(chosen.candidate)
        if dry_run:
            patching.show_draft(chosen, sources, asked)
        elif patching.deliver(chosen, sources, asked, scanned, found.reading.layouts):
            click.get_current_context().exit(1)
