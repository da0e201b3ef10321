# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith inline``: an object that a record points to and allocates by itself becomes a member of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import matrix_options, options, series_output

if TYPE_CHECKING:
    from linesmith.analyzer.cli.matrix_options import Checking
    from linesmith.analyzer.cli.series_output import Mailing


def _named(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, str]:
    record, dot, member = given.removeprefix("struct ").partition(".")
    if not (dot and record.isidentifier() and member.isidentifier()):
        raise click.BadParameter(f"{given!r} is no TYPE.POINTER, as in vm_area_struct.vm_lock")
    return record, member


@click.command()
@click.argument("pointer", metavar="TYPE.POINTER", callback=_named)
@options.tree
@options.build
@options.cflags
@click.option("--never-null", is_flag=True, help="The pointer is always set while it is tested: the tests go.")
@matrix_options.given
@click.option("--rules", metavar="FILE", type=click.Path(path_type=Path), help="Write the semantic patch there.")
@options.format_
@series_output.given
@click.option("--dry-run", is_flag=True, help="Show the places and the semantic patch; make no patch.")
def command(
    pointer: tuple[str, str],
    tree: Path,
    build: Path | None,
    cflags: str,
    never_null: bool,
    checking: Checking,
    rules: Path | None,
    format_: str,
    mailing: Mailing,
    dry_run: bool,
) -> None:
    """Make an object that a record points to a member of the record, on a cache line of its own.

    What can be done by rule is done by a semantic patch; places where a person has to decide are listed. The source
    tree is only read.
    """
    from linesmith.analyzer.cli import inlining
    from linesmith.patches.inline.study import Wanted
    from linesmith.patches.tree import Tree

    request = inlining.Request(
        Wanted(*pointer, tree, never_null), Tree(tree, build, cflags), checking, rules, format_, mailing
    )
    inlining.run(request, dry_run=dry_run)
