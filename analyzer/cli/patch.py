# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith patch``: a candidate as a patch of the source tree, confirmed by compiling it."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options, premises

_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@options.elf
@options.profile
@click.option("--tree", metavar="DIR", type=_DIRECTORY, required=True, help="The source tree; it is only read.")
@click.option("--build", metavar="DIR", type=_DIRECTORY, help="The O= directory of a build of the tree.")
@click.option("--cflags", metavar="OPTIONS", default="", help="Compiler options for a tree that is no kernel.")
@options.type_
@click.option(
    "--candidate", metavar="N", type=click.IntRange(min=1), help="Its number in `suggest`; else the recommended one."
)
@options.section
@premises.given
@options.snapshot
@options.other_build
@options.trace
@options.format_
@options.output
@click.option("--dry-run", is_flag=True, help="Show the edit and the commands that would confirm it; run none.")
def command(
    elf: Path,
    profile: Path,
    tree: Path,
    build: Path | None,
    cflags: str,
    type_: str | None,
    candidate: int | None,
    section: int,
    given: premises.Given,
    snapshot: Path | None,
    trust: str | None,
    trace: Path | None,
    format_: str,
    output: Path | None,
    dry_run: bool,
) -> None:
    """Write a candidate as a patch with its evidence, for `git apply` and `patch -p1`.

    The patch counts only when the patched source compiles, with the tree's own flags, to the layout that was promised.
    """
    from linesmith.analyzer.cli import patching
    from linesmith.analyzer.cli.analysis import analyse, with_offsets
    from linesmith.analyzer.cli.output import deliver
    from linesmith.analyzer.report import patch as report
    from linesmith.patches.patch import Tree

    sources = Tree(tree, build, cflags)
    found = with_offsets(analyse(elf, profile, section, type_, snapshot=snapshot, trust=trust))
    chosen = patching.choose(found, given.premises(elf, found.reading), trace, candidate)
    if dry_run:
        result = report.render_draft(patching.drafted(chosen, sources), format_)
    else:
        result = report.render_patch(patching.written(chosen, sources), format_)
    deliver(result, output)
