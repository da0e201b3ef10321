# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith encapsulate``: users of a member go through an accessor, in all of a tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import matrix_options, options, series_output

if TYPE_CHECKING:
    from linesmith.analyzer.cli.matrix_options import Checking
    from linesmith.analyzer.cli.series_output import Mailing


def _named(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, str]:
    record, dot, member = given.removeprefix("struct ").removeprefix("union ").partition(".")
    if not (dot and record.isidentifier() and member.isidentifier()):
        raise click.BadParameter(f"{given!r} is no TYPE.MEMBER, as in address_space.i_mmap")
    return record, member


def _identifier(_context: click.Context, _option: click.Parameter, given: str) -> str:
    if not (given.isidentifier() and given.isascii()):
        raise click.BadParameter(f"{given!r} is no name that C takes")
    return given


@click.command()
@click.argument("member", metavar="TYPE.MEMBER", callback=_named)
@click.option("--accessor", metavar="NAME", required=True, callback=_identifier, help="What the accessor is called.")
@options.tree
@options.build
@options.cflags
@matrix_options.given
@click.option("--rules", metavar="FILE", type=click.Path(path_type=Path), help="Write the semantic patch there.")
@options.format_
@series_output.given
@click.option("--dry-run", is_flag=True, help="Show the places and the semantic patch; make no patch.")
def command(
    member: tuple[str, str],
    accessor: str,
    tree: Path,
    build: Path | None,
    cflags: str,
    checking: Checking,
    rules: Path | None,
    format_: str,
    mailing: Mailing,
    dry_run: bool,
) -> None:
    """Hide a member behind an accessor: its users on all architectures call it from then on.

    What can be done by rule is done by a semantic patch, and compiled; places that are not touched are listed. The
    source tree is only read.
    """
    from linesmith.analyzer.cli import encapsulating
    from linesmith.patches.encapsulation.encapsulate import Wish
    from linesmith.patches.tree import Tree

    wish = Wish(*member, accessor)
    request = encapsulating.Request(wish, Tree(tree, build, cflags), checking, rules, format_, mailing)
    encapsulating.run(request, dry_run=dry_run)
